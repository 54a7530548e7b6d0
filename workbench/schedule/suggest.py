"""What to do instead of a refused step: the nearest legal alternatives, each found by doing it on the immutable state.

    error = sch.why_not("vectorize", k)
    for suggestion in sch.suggest(error):
        print(suggestion.text, suggestion.steps)     # legal on loop j instead ('sch.vectorize(l1)',)
    sch.suggest(error)[0].apply(sch)

Rules propose (`alternatives`); a proposal becomes a suggestion only if every step
of it is accepted.  Invariant: the schedule that the error came from is not touched; tries are counted, never timed, so
that the same error gives the same suggestions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from .alternatives import proposals
from .errors import ScheduleError, require
from .registry import PRIMITIVES
from .state import ScheduleState
from .trace import Step
from .trial import Case, Trial

if TYPE_CHECKING:
    from .schedule import Schedule

_TRIES = 40
"""How many proposals `suggest` tries for one error."""
_QUICK_TRIES = 8
"""How many are tried for the one that stands in the error's own text."""


@dataclass(frozen=True)
class Suggestion:
    """A legal way on from the state on which a step was refused."""

    text: str
    """What it does: "legal on loop j instead"."""
    steps: tuple[str, ...]
    """The lines of Python that do it."""
    _steps: tuple[Step, ...] = field(repr=False, compare=False)
    _named: Mapping[str, Any] = field(repr=False, compare=False)

    def apply(self, schedule: Schedule) -> None:
        """Do the steps.  Raises `ScheduleError` if `schedule` is no longer where the refusal happened."""
        live = schedule.state.named
        require(
            all(_stands_for(live.get(name), target) for name, target in self._named.items()),
            "E-SCHEDULE-REFERENCE",
            "this suggestion belongs to another state of the schedule",
            found="references that are gone or stand for something else",
            expected="the schedule as it was when the step was refused",
            fix="undo to that state, or ask again: schedule.suggest(error)",
        )
        schedule.do(self._steps)


def _stands_for(held: Any, target: Any) -> bool:
    return held == target if isinstance(held, str) and isinstance(target, str) else held is target


def suggest(error: ScheduleError, limit: int = 3) -> list[Suggestion]:
    """At most `limit` legal alternatives to what was refused, nearest first; empty where none was found."""
    return list(islice(_verified(error, _TRIES), limit))


def best(error: ScheduleError) -> str:
    """The nearest alternative as one line for the error's text; empty where none was found quickly."""
    found = next(_verified(error, _QUICK_TRIES), None)
    if found is None:
        return ""
    lines = [line for line in found.steps if ".get_" not in line]
    return f"{found.text}: {'; '.join(lines)}"


def _verified(error: ScheduleError, tries: int) -> Iterator[Suggestion]:
    attempt = error.attempt
    if attempt is None:
        return
    state: ScheduleState = attempt.state
    case = Case(error, attempt, state)
    seen: set[tuple[str, ...]] = set()
    for text, plan in islice(proposals(case), tries):
        trial = Trial(state)
        try:
            plan(trial)
        except ScheduleError:
            continue
        steps = trial.state.steps[len(attempt.base.steps) :]
        lines = tuple(step.line() for step in steps)
        if lines and lines not in seen and (trial.state.func is not state.func or _only_asks(attempt.primitive)):
            seen.add(lines)
            yield Suggestion(text, lines, steps, _used(attempt.base, steps))


def _only_asks(primitive: str) -> bool:
    return PRIMITIVES[primitive].category == "get"


def _used(state: ScheduleState, steps: Sequence[Step]) -> dict[str, Any]:
    """What the steps' references to earlier results stand for."""
    names = {getattr(value, "name", "") for step in steps for _, value in step.arguments}
    names |= {
        getattr(item, "name", "")
        for step in steps
        for _, value in step.arguments
        if isinstance(value, tuple)
        for item in value
    }
    return {name: state.named[name] for name in names if name in state.named}
