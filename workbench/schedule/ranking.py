"""Suggestions in the order of what a model of the machine promises: the fewest cycles first.

    for one in ranked(sch, sch.why_not("vectorize", k)):
        one.suggestion.text, one.rank, one.gains

The cycles are an estimate for comparing (`analysis.quick_cycles`): good for an order, not for a factor.  What cannot be
modelled comes after what can, nearest first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..analysis.quick_cycles import quick_cycles
from ..core.errors import WorkbenchError
from ..tir import nodes as t
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
_TRIED = 8
"""Suggestions that are ranked; the best of them are answered."""


def ranked(schedule: Schedule, error: ScheduleError, limit: int = 4) -> list[Ranked]:
    """At most `limit` suggestions for what `error` refused on `schedule`.

    Of equal ones those that leave no loop inside of lanes, where nothing can be moved any more; then nearest first.
    """
    now = cycles_of(schedule)
    found: list[tuple[int | None, int, Suggestion]] = []
    for suggestion in suggest(error, max(limit, _TRIED)):
        after = schedule.copy()
        suggestion.apply(after)
        stuck = _loops_in_lanes(after)
        found.append((cycles_of(after), stuck, suggestion))
    found.sort(key=lambda one: (float("inf") if one[0] is None else one[0], one[1]))
    levels = sorted({cycles for cycles, _, _ in found if cycles is not None})
    return [
        Ranked(
            suggestion,
            levels.index(cycles) + 1 if cycles is not None else 0,
            cycles is not None and now is not None and cycles < now + (error.primitive in _ON_THREADS),
        )
        for cycles, _, suggestion in found[:limit]
    ]


def _loops_in_lanes(schedule: Schedule) -> int:
    """How many loops stand inside of a loop whose iterations are lanes."""
    sites = schedule.state.tree.loops.values()
    lanes = {id(site.loop) for site in sites if site.loop.kind is t.ForKind.VECTORIZED}
    return sum(any(id(outer) in lanes for outer in site.path) for site in sites)


def cycles_of(schedule: Schedule) -> int | None:
    """The modelled cycles; None for symbolic shapes, and where what runs depends on data."""
    try:
        return quick_cycles(schedule).total
    except WorkbenchError:
        return None
