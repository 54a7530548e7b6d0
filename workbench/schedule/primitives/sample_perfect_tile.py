"""sample_perfect_tile: factors of a loop's extent, drawn."""

from __future__ import annotations

from math import prod

from ...analysis.tree import extent_of
from ..arguments import Factor
from ..errors import refuse, require
from ..references import ExprRV, LoopRV
from ..registry import primitive
from ..sampling import Draws, draw_factors
from ..state import Change, ScheduleState


@primitive(category="sample", suggest={"n": [2, 3]})
def sample_perfect_tile(
    state: ScheduleState,
    loop: LoopRV,
    n: Factor,
    max_innermost_factor: Factor = 16,
    decision: list[Factor] | None = None,
) -> Change[list[ExprRV]]:
    """Draw `n` factors whose product is a loop's extent, the last at most `max_innermost_factor`.

    before:  for i in range(24): S(i)
    after:   the same program; v0, v1 = sch.sample_perfect_tile(i, n=2, decision=[6, 4]) are 6 and 4

    Every choice is equally likely.  Hand the numbers to split.
    Raises `ScheduleError`: an extent that is not a positive constant, a decision that is not of such factors.
    """
    extent = sampled_extent(state, loop, n)
    draws = Draws(state.random)
    if decision is None:
        chosen = draw_factors(draws, extent, n, max_innermost_factor if n > 1 else None)
    else:
        chosen = tuple(decision)
        require_product(state, loop, chosen, extent, n)
    return Change(state.func, chosen, decision=chosen, random=draws.state)


def sampled_extent(state: ScheduleState, loop: LoopRV, n: int) -> int:
    """A loop's extent, to be divided into `n` factors."""
    old = state.loop(loop)
    extent = extent_of(old)
    if extent is None or extent < 1:
        raise refuse(
            "E-SCHEDULE-SAMPLE-EXTENT",
            f"cannot draw factors of {old.var.name}: its extent is not a positive constant",
            found="a symbolic extent" if extent is None else "a loop that never runs",
            expected="a constant extent",
            fix="draw a factor with sample_categorical and split with a guard",
            nodes=(old,),
        )
    require(
        n <= 64,
        "E-SCHEDULE-SAMPLE-PARTS",
        f"cannot draw {n} factors of {old.var.name}",
        found=f"n = {n}",
        expected="1 to 64",
        fix="draw fewer factors",
        nodes=(old,),
    )
    return extent


def require_product(state: ScheduleState, loop: LoopRV, decision: tuple[int, ...], extent: int, n: int) -> None:
    """Refuse a decision that is not `n` factors of the extent, as when a trace is replayed on another shape."""
    old = state.loop(loop)
    require(
        len(decision) == n and prod(decision) == extent,
        "E-SCHEDULE-DECISION",
        f"the decision does not fit the loop {old.var.name}",
        found=f"factors {list(decision)} for {extent} iterations",
        expected=f"{n} factors whose product is {extent}",
        fix="leave the decision out to draw again (a trace: apply_to(sch, resample=True))",
        nodes=(old,),
    )
