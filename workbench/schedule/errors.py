"""Refusals of schedule primitives: one `ScheduleError` with code, nodes, found, expected, fix.

The checks of a primitive read

    require(loop.kind is ForKind.SERIAL, "E-SCHEDULE-KIND", "cannot split a parallel loop", nodes=(loop,), ...)

`Schedule` adds the place: the lines of the printed program with the nodes underlined.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..core.errors import WorkbenchError


class ScheduleError(WorkbenchError):
    """A schedule primitive was refused; the schedule is unchanged."""

    primitive: str = ""
    witness: Any = None
    """The `Conflict` that stands against it, where one was found."""
    underlined: str = ""
    """The lines of the program concerned, underlined; filled in by the schedule."""

    def _render_traceback_(self) -> list[str]:
        shown = str(self).split("\n")
        return [*shown, "", *self.underlined.split("\n")] if self.underlined else shown


def refuse(
    code: str,
    message: str,
    *,
    found: str = "",
    expected: str = "",
    fix: str = "",
    nodes: Iterable[Any] = (),
) -> ScheduleError:
    """The error to raise."""
    return ScheduleError(
        code, message, found=found, expected=expected, fix=fix, nodes=nodes, kept="the schedule is unchanged"
    )


def require(
    condition: bool,
    code: str,
    message: str,
    *,
    found: str = "",
    expected: str = "",
    fix: str = "",
    nodes: Iterable[Any] = (),
) -> None:
    """Raise a `ScheduleError` unless `condition` holds."""
    if not condition:
        raise refuse(code, message, found=found, expected=expected, fix=fix, nodes=nodes)
