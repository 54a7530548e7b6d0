"""Lines of a hint that the schedule refuses as it stands: how many moves have to be taken back before they can be done.

    possible(("sch.reorder(k, j)",), schedule)      # (("sch.moves.back()", "sch.reorder(k, j)"), ("vectorize",))

Invariant: nothing is told that was not tried, on a copy; what cannot be done even from the beginning stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.errors import WorkbenchError
from ..schedule.schedule import Schedule
from ..views.editor_extras import carry_out


def possible(lines: Sequence[str], schedule: Schedule) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The lines, after the fewest moves taken back with which they are accepted; the primitives of those moves."""
    moves = schedule.moves.done
    for count in range(len(moves) + 1):
        tried = schedule.copy()
        for _ in range(count):
            tried.moves.back()
        if _accepts(tried, lines):
            back = tuple(move.name for move in reversed(moves[len(moves) - count :]))
            return (*["sch.moves.back()"] * count, *lines), back
    return tuple(lines), ()


def _accepts(schedule: Schedule, lines: Sequence[str]) -> bool:
    """Whether the lines can be done; those that name what other lines gave, or are no calls, cannot by themselves."""
    try:
        carry_out(schedule, "\n".join(lines))
    except WorkbenchError:
        return False
    return True
