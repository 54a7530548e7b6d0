"""Refusals of schedule primitives: one `ScheduleError` with code, nodes, found, expected, fix.

The checks of a primitive read

    require(loop.kind is ForKind.SERIAL, "E-SCHEDULE-KIND", "cannot split a parallel loop", nodes=(loop,), ...)

`Schedule` adds the attempt: from it the place (the lines of the printed program with the nodes underlined) and the
nearest legal alternative are made when they are asked for, so that a refusal that nobody reads costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .._lazy import views
from ..core.errors import WorkbenchError


@dataclass(frozen=True, eq=False)
class Attempt:
    """What was refused: a primitive with its arguments by name, on an immutable state."""

    state: Any
    """The `ScheduleState`."""
    primitive: str
    arguments: Mapping[str, Any]
    nodes: tuple[Any, ...]
    """The program nodes concerned."""
    base: Any
    """The state before blocks given by name were asked for."""

    def line(self) -> str:
        """The call as Python, loops and blocks by their names in the program."""
        shown = [_shown(value) for value in self.arguments.values()]
        return f"{self.primitive}({', '.join(shown)})"


def _shown(value: Any) -> str:
    target = getattr(value, "target", None)
    if target is not None:
        return str(getattr(target, "name", target))
    if isinstance(value, (list, tuple)):
        return ", ".join(_shown(item) for item in value)
    return repr(value)


class ScheduleError(WorkbenchError):
    """A schedule primitive was refused; the schedule is unchanged."""

    primitive: str = ""
    witness: Any = None
    """The `Conflict` that stands against it, where one was found."""
    attempt: Attempt | None = None
    """What was tried, once the schedule has refused it."""
    _where: str | None = None
    _underlined: str | None = None
    _fix: str = ""
    _render: Callable[[Attempt], tuple[str, str]] | None = None

    def refused(self, attempt: Attempt, render: Callable[[Attempt], tuple[str, str]]) -> ScheduleError:
        """This error of an attempt; `render` makes place and underlined text of it.  The first attempt stands."""
        if self.attempt is None:
            self.attempt, self.primitive, self._render = attempt, attempt.primitive, render
        return self

    def shortened(self, place: bool) -> ScheduleError:
        """This error without the program's text, and without the place too unless `place`."""
        self._where = (self.where if place else "") or ""
        self._render, self._underlined = None, ""
        return self

    def _rendered(self) -> None:
        if self.attempt is not None and self._render is not None:
            where, underlined = self._render(self.attempt)
            self._render = None
            self._where = self._where or where
            self._underlined = underlined

    @property
    def where(self) -> str:  # type: ignore[override]
        """The lines of the printed program concerned."""
        if not self._where:
            self._rendered()
        return self._where or ""

    @where.setter
    def where(self, value: str) -> None:
        self._where = value

    @property
    def underlined(self) -> str:
        """The lines of the program concerned, underlined."""
        self._rendered()
        return self._underlined or ""

    @property
    def fix(self) -> str:  # type: ignore[override]
        """How to mend it."""
        return self._fix

    @fix.setter
    def fix(self, value: str) -> None:
        self._fix = value

    @property
    def hint(self) -> str:
        """The fix that needs no trying."""
        return self._fix

    def show(self) -> None:
        """The refusal with a picture of the two iterations that collide, if it has a witness; elsewhere its text."""
        views().show_error(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return views().error_bundle(self)

    def _render_traceback_(self) -> list[str]:
        shown = str(self).split("\n")
        return [*shown, "", *self.underlined.split("\n")] if self.underlined else shown


class IllegalError(ScheduleError):
    """Refused because the program would compute something else, or because that it would not cannot be shown.

    With ``unsafe=True`` a primitive does it all the same, and notes this.
    """

    _best: str | None = None

    @property
    def fix(self) -> str:  # type: ignore[override]
        """How to mend it: the nearest legal alternative, found by trying when this is read; else a hint."""
        if self._best is None:
            self._best = ""
            if self.attempt is not None and self.witness is not None:
                from .suggest import best

                self._best = best(self)
        return f"{self._best}; {self._fix}" if self._best and self._fix else self._best or self._fix

    @fix.setter
    def fix(self, value: str) -> None:
        self._fix = value


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


def illegal(
    code: str,
    message: str,
    *,
    found: str = "",
    expected: str = "",
    fix: str = "",
    nodes: Iterable[Any] = (),
) -> IllegalError:
    """The error of a change that is not legal, or not shown to be."""
    return IllegalError(
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
