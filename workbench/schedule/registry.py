"""The table of schedule primitives.  A primitive is one decorated function; the table is all that knows of it.

    @primitive(category="loop", suggest={"factors": [[None, 4]]})
    def split(state: ScheduleState, loop: LoopRV, factors: list[Factor | None]) -> Change[list[LoopRV]]:
        ...

It becomes a method of `Schedule`, a step of traces and an entry of `applicable()`, from wherever it is defined.
`suggest` gives, for parameters without a default, values worth trying; screens and random tests use them.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from ..core.errors import WorkbenchError
from ..core.table import Table
from .arguments import NameIn
from .references import BlockRV, ExprRV, LoopRV

Category = Literal["get", "loop", "place", "inline", "cache", "reduction", "tile", "annotation", "sample", "other"]
STILL: Final[frozenset[str]] = frozenset({"get", "annotation", "sample"})
"""Categories whose primitives move nothing."""
DECISION = "decision"
"""The parameter of a sampler that takes an earlier decision; a trace keeps it beside the arguments."""
Migration = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Primitive:
    """An entry of the table."""

    name: str
    function: Callable[..., Any]
    category: str
    version: int
    parameters: tuple[inspect.Parameter, ...]
    """Without the state."""
    annotations: Mapping[str, Any]
    results: Any
    """What users get: `LoopRV`, `BlockRV`, `ExprRV`, a list of one of these, or None."""
    suggest: Mapping[str, Sequence[Any]]
    migrations: Mapping[int, Migration]
    """For arguments in a trace of version v: how they read in version v + 1."""
    keeps_order: bool
    """Everything runs after it in the order in which it ran, whatever memory it touches."""
    in_loops: bool = False
    """Where what it copies is written in a loop around the block, it copies within an iteration of that."""

    @property
    def doc(self) -> str:
        return inspect.getdoc(self.function) or ""

    @property
    def signature(self) -> inspect.Signature:
        return inspect.Signature(
            list(self.parameters), return_annotation=None if self.results is type(None) else self.results
        )

    def values_for(self, parameter: str) -> tuple[Any, ...]:
        """Values worth trying for a parameter: the names that there are where it takes one, else those suggested."""
        return names_for(self.annotations[parameter]) or tuple(self.suggest.get(parameter, ()))

    def selects(self, kind: type) -> bool:
        """True if the first parameter takes a reference of this kind."""
        return bool(self.parameters) and kind in accepted(self.annotations[self.parameters[0].name])


def names_for(annotation: Any) -> tuple[str, ...]:
    """The names that an argument of this annotation may have now; none where it takes no name of a table."""
    marks = [mark for mark in typing.get_args(annotation)[1:] if isinstance(mark, NameIn)]
    return tuple(name for mark in marks for name in mark.names())


def accepted(annotation: Any) -> tuple[type, ...]:
    """The kinds of references that an annotation takes."""
    if annotation in (LoopRV, BlockRV, ExprRV):
        return (annotation,)
    return tuple(kind for part in typing.get_args(annotation) for kind in accepted(part))


PRIMITIVES: Table[Primitive] = Table("schedule primitive", filled_by=("workbench.schedule.primitives.all_primitives",))


def primitive(
    *,
    category: str = "other",
    version: int = 1,
    suggest: Mapping[str, Sequence[Any]] | None = None,
    migrations: Mapping[int, Migration] | None = None,
    override: bool = False,
    keeps_order: bool | None = None,
    in_loops: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function into the table of primitives; see the module's header.

    `keeps_order` says that it changes the order of no two accesses; without it that holds of `STILL` categories.
    `in_loops`: see `Primitive`.
    Raises `WorkbenchError` if the name is taken (unless `override`), or the signature cannot be understood.
    """

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        still = category in STILL if keeps_order is None else keeps_order
        PRIMITIVES.register(
            function.__name__,
            replace(_entry(function, category, version, suggest or {}, migrations or {}, still), in_loops=in_loops),
            module=function.__module__,
            override=override,
        )
        return function

    return enter


def _entry(
    function: Callable[..., Any],
    category: str,
    version: int,
    suggest: Mapping[str, Sequence[Any]],
    migrations: Mapping[int, Migration],
    keeps_order: bool,
) -> Primitive:
    hints = typing.get_type_hints(function, include_extras=True)
    own = list(inspect.signature(function).parameters.values())
    parameters = tuple(item.replace(annotation=hints.get(item.name, Any)) for item in own[1:])
    returned = typing.get_args(hints.get("return"))
    keywords = any(item.kind is inspect.Parameter.VAR_KEYWORD for item in own)
    if not own or not returned or keywords or not inspect.getdoc(function):
        raise WorkbenchError(
            "E-SCHEDULE-PRIMITIVE",
            f"{function.__name__} cannot be a schedule primitive",
            found=f"signature {inspect.signature(function)}",
            expected="(state: ScheduleState, ...) -> Change[results], typed, with a docstring, without **kwargs",
            fix="follow an example in workbench/schedule/primitives/",
        )
    return Primitive(
        function.__name__,
        function,
        category,
        version,
        parameters,
        {item.name: hints.get(item.name, Any) for item in parameters},
        returned[0],
        suggest,
        migrations,
        keeps_order,
    )
