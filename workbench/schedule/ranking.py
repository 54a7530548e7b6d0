"""Suggestions in the order of what a model of the machine promises: the fewest cycles first.

    for one in ranked(sch, sch.why_not("vectorize", k)):
        one.suggestion.text, one.rank, one.gains

The cycles are an estimate for comparing (`analysis.quick_cycles`): good for an order, not for a factor.  What cannot be
modelled comes after what can, nearest first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..analysis.quick_cycles import quick_cycles
from ..core.errors import WorkbenchError
from .errors import ScheduleError
from .suggest import Suggestion, suggest

if TYPE_CHECKING:
    from .schedule import Schedule


@dataclass(frozen=True)
class Ranked:
    """A suggestion with its place; `rank` counts from 1, and is 0 for what cannot be modelled."""

    suggestion: Suggestion
    rank: int
    gains: bool
    """Whether the model expects less time than the schedule takes as it is: fewer cycles, or as many on threads."""


_ON_THREADS = frozenset({"parallel", "bind"})
"""Their cycles are shared by threads, of which the model knows nothing."""
_TRIED = 6
"""Suggestions that are ranked; the best of them are answered."""


def ranked(schedule: Schedule, error: ScheduleError, limit: int = 4) -> list[Ranked]:
    """At most `limit` suggestions for what `error` refused on `schedule`; equal ones in their order, nearest first."""
    target = schedule.func.attrs.get("target")
    now = _cycles(schedule, target)
    found: list[tuple[int | None, Suggestion]] = []
    for suggestion in suggest(error, max(limit, _TRIED)):
        after = schedule.copy()
        suggestion.apply(after)
        found.append((_cycles(after, target), suggestion))
    found.sort(key=lambda pair: float("inf") if pair[0] is None else pair[0])
    levels = sorted({cycles for cycles, _ in found if cycles is not None})
    return [
        Ranked(
            suggestion,
            levels.index(cycles) + 1 if cycles is not None else 0,
            cycles is not None and now is not None and cycles < now + (error.primitive in _ON_THREADS),
        )
        for cycles, suggestion in found[:limit]
    ]


def _cycles(schedule: Schedule, target: Any) -> int | None:
    """The modelled cycles; None for symbolic shapes, and where what runs depends on data."""
    try:
        return quick_cycles(schedule, target).total
    except WorkbenchError:
        return None
