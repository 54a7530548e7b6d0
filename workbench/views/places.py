"""Where a line of a kernel's loops, LLVM or assembly comes from: its loops, the moves that made them, nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..driver.trips import nests
from ..schedule.makers import makers
from .schema import SCHEMA_VERSION, View

if TYPE_CHECKING:
    from ..driver.session import Session
    from ..schedule.schedule import Schedule
    from ..tir.nodes import For

FORMS: Final = {"tir": "tir", "llvm": "ll", "asm": "asm"}
"""The form of a kernel's text that a layer shows."""


@dataclass(frozen=True, slots=True)
class MoveView(View):
    """A move of the kernel's schedule, from 1."""

    number: int
    name: str
    code: str


@dataclass(frozen=True, slots=True)
class LoopPlaceView(View):
    """A loop around the line."""

    name: str
    extent: str
    kind: str
    moves: tuple[int, ...]
    """The moves that made it what it is."""


@dataclass(frozen=True, slots=True)
class PlaceView(View):
    layer: str
    line: int
    """Of the text, from 1."""
    tir_line: int
    how: str
    """How that is known: "line", "flow", "loop" or "function" (`codegen.llvm.lines`)."""
    trips: int
    """How often the statement is run in one call; 0 where that is not known."""
    loops: tuple[LoopPlaceView, ...]
    """Outermost first."""
    moves: tuple[MoveView, ...]
    """Those that the loops name."""
    sources: tuple[str, ...]
    """Nodes of the imported file, or imported expressions."""
    version: int = SCHEMA_VERSION


def _scheduled(schedule: Schedule, kernel: str, loops: tuple[For, ...]) -> tuple[For, ...]:
    """The nest of the schedule's program that became `loops`: with the vectorised ones, which code has no more."""
    wanted = [loop.var.name for loop in loops]
    found = loops
    for nest in nests(schedule.func, kernel).values():
        names = iter(loop.var.name for loop in nest.loops)
        if all(name in names for name in wanted) and len(nest.loops) > len(found):
            found = nest.loops
    return found


def place_of(session: Session, kernel: str, layer: str, line: int) -> PlaceView:
    """What a line (from 1) of "tir", "llvm" or "asm" belongs to.  Raises `WorkbenchError` for one that is not there."""
    provenance = session.provenance
    found = provenance.line(kernel, line, FORMS[layer])
    nest = nests(provenance.function(kernel), kernel).get(found.line)
    schedule = session.schedule(kernel)
    made, moves = makers(schedule), schedule.moves.done
    around = _scheduled(schedule, kernel, nest.loops) if nest else ()
    loops = tuple(
        LoopPlaceView(
            loop.var.name, str(getattr(loop.extent, "value", "…")), loop.kind.value, made.get(loop.var.name, ())
        )
        for loop in around
    )
    named = sorted({number for loop in loops for number in loop.moves})
    return PlaceView(
        layer, line, found.line, found.how, nest.trips if nest else 0, loops,
        tuple(MoveView(number, moves[number - 1].name, moves[number - 1].code) for number in named),
        tuple(dict.fromkeys(str(getattr(one, "name", one)) for one in found.onnx)),
    )  # fmt: skip
