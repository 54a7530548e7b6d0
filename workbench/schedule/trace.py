"""The trace: the steps of a schedule by name, to print, save, and replay on other shapes.

Steps name the results of earlier steps, never positions in a program, so a trace is a schedule for every function of
the same structure.  It prints as Python that runs and saves as JSON (`trace_json`).

    trace = sch.trace
    print(trace)                         # sch.get_block("C") ...
    Trace.from_json(trace.as_json()).apply_to(Schedule(other))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .arguments import ResultName

if TYPE_CHECKING:
    from .schedule import Schedule


@dataclass(frozen=True)
class Step:
    """One primitive carried out: arguments (only those given), names of the results, the sampled decision if any."""

    primitive: str
    arguments: tuple[tuple[str, Any], ...]
    results: tuple[str, ...]
    decision: Any = None
    version: int = 1

    def line(self, handle: str = "sch") -> str:
        """The line of Python that does this step."""
        shown: list[str] = []
        for position, (name, value) in enumerate(self.arguments):
            many = isinstance(value, tuple) and bool(value) and all(isinstance(item, ResultName) for item in value)
            if many and _is_spread(self.primitive, name):
                shown.extend(_python(item) for item in value)
            elif position == 0 or isinstance(value, ResultName):
                shown.append(_python(value))
            else:
                shown.append(f"{name}={_python(value)}")
        call = f"{handle}.{self.primitive}({', '.join(shown)})"
        if not self.results:
            return call
        if not _answers_list(self.primitive):
            return f"{self.results[0]} = {call}"
        return f"{', '.join(self.results)}{',' if len(self.results) == 1 else ''} = {call}"


def _is_spread(primitive: str, argument: str) -> bool:
    """Whether an argument is written item by item: ``*loops``."""
    from .registry import PRIMITIVES

    entry = PRIMITIVES.get(primitive)
    return entry is None or any(item.name == argument and item.kind is item.VAR_POSITIONAL for item in entry.parameters)


def _answers_list(name: str) -> bool:
    import typing

    from .registry import PRIMITIVES

    entry = PRIMITIVES.get(name)
    return entry is None or typing.get_origin(entry.results) is list


def _python(value: Any) -> str:
    if isinstance(value, ResultName):
        return value.name
    if isinstance(value, tuple):
        return f"[{', '.join(_python(item) for item in value)}]"
    return repr(value)


@dataclass(frozen=True)
class Trace:
    """The steps of a schedule, oldest first."""

    steps: tuple[Step, ...] = ()
    function: str = "main"

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        return self.as_python()

    def as_python(self, handle: str = "sch") -> str:
        """Lines of Python; `handle` is what the schedule is called in them."""
        return "".join(step.line(handle) + "\n" for step in self.steps)

    def as_json(self) -> str:
        """The saved form, one step a line."""
        from .trace_json import write

        return write(self)

    @staticmethod
    def from_json(text: str) -> Trace:
        """A saved trace.  All or nothing: raises `ScheduleError` E-TRACE-... with line and column."""
        from .trace_json import read

        return read(text)

    def apply_to(self, schedule: Schedule) -> None:
        """Do these steps on `schedule`, all or none.

        Raises the `ScheduleError` of the first step that is refused, located by its number.
        """
        schedule.replay(self)

    apply_to_schedule = apply_to
