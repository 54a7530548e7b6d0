"""sample_categorical: one of several numbers, drawn by probabilities."""

from __future__ import annotations

from ..errors import require
from ..references import ExprRV
from ..registry import primitive
from ..sampling import Draws
from ..state import Change, ScheduleState


@primitive(category="sample", suggest={"candidates": [[1, 2, 4]], "probs": [[0.5, 0.25, 0.25]]})
def sample_categorical(
    state: ScheduleState, candidates: list[int], probs: list[float], decision: int | None = None
) -> Change[ExprRV]:
    """Draw one of `candidates`, with probabilities in proportion to `probs`; the decision is its position.

    before:  the program
    after:   the same program; v0 = sch.sample_categorical([1, 2, 4], probs=[0.5, 0.25, 0.25], decision=1) is 2

    The number serves as a factor of split, or as a value of annotate.
    Raises `ScheduleError`: lists of different lengths, probabilities that are negative or all zero, a decision that
    is not a position.
    """
    require(
        0 < len(candidates) == len(probs) and min(probs) >= 0 and sum(probs) > 0,
        "E-SCHEDULE-PROBABILITIES",
        "sample_categorical needs one probability for each candidate",
        found=f"{len(candidates)} candidates, probabilities {list(probs)}",
        expected="as many probabilities as candidates, none negative, not all zero",
        fix="for example candidates=[1, 2, 4], probs=[0.5, 0.25, 0.25]",
    )
    draws = Draws(state.random)
    if decision is None:
        decision = draws.weighted(probs)
    require(
        0 <= decision < len(candidates),
        "E-SCHEDULE-DECISION",
        "the decision is not the position of a candidate",
        found=str(decision),
        expected=f"0 to {len(candidates) - 1}",
        fix="leave the decision out to draw again",
    )
    return Change(state.func, (candidates[decision],), decision=decision, random=draws.state)
