"""Where a line of a kernel's loops, LLVM or assembly comes from: its loops, the moves that made them, nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ..driver.scheduled_loops import ScheduledLoops, scheduled_loops, told
from ..driver.trips import Nest, nests
from ..schedule.makers import makers
from .schema import SCHEMA_VERSION, View

if TYPE_CHECKING:
    from ..driver.session import Session

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


@dataclass(frozen=True, slots=True)
class PlacesView(View):
    """Where all lines of a text come from; lines of one statement share what is said."""

    layer: str
    kernel: str
    of: tuple[int, ...]
    """By line: which of the places."""
    places: tuple[PlaceView, ...]
    """Each of the first line that belongs there."""
    version: int = SCHEMA_VERSION


def place_of(session: Session, kernel: str, layer: str, line: int) -> PlaceView:
    """What a line (from 1) of "tir", "llvm" or "asm" belongs to.  Raises `WorkbenchError` for one that is not there."""
    return _place(session, kernel, layer, line, _Around.of(session, kernel))


def places_of(session: Session, kernel: str, layer: str) -> PlacesView:
    """The same for all lines, of which few differ."""
    form, around = FORMS[layer], _Around.of(session, kernel)
    total = session.provenance.text(kernel, form).rstrip("\n").count("\n") + 1
    spots = list(session.provenance.native(kernel, form).spots) if layer != "tir" else []
    known: dict[Any, int] = {}
    places: list[PlaceView] = []
    of: list[int] = []
    for line in range(1, total + 1):
        while spots and spots[0].text_line < line:  # a line without an instruction belongs to the next that has one
            spots.pop(0)
        same = spots[0]._replace(text_line=0) if spots else line if layer == "tir" else None
        if same not in known:
            known[same] = len(places)
            places.append(_place(session, kernel, layer, line, around))
        of.append(known[same])
    return PlacesView(layer, kernel, tuple(of), tuple(places))


@dataclass(frozen=True)
class _Around:
    """What is the same for all lines of a kernel."""

    nests: Mapping[int, Nest]
    scheduled: ScheduledLoops
    made: Mapping[str, tuple[int, ...]]
    moves: Sequence[Any]

    @staticmethod
    def of(session: Session, kernel: str) -> _Around:
        schedule = session.schedule(kernel)
        code = nests(session.provenance.function(kernel), kernel)
        return _Around(code, scheduled_loops(session, kernel), makers(schedule), schedule.moves.done)


def _place(session: Session, kernel: str, layer: str, line: int, around: _Around) -> PlaceView:
    found = session.provenance.line(kernel, line, FORMS[layer])
    nest = around.nests.get(found.line)
    made, moves = around.made, around.moves
    loops = tuple(
        LoopPlaceView(*told(loop), loop.kind.value, made.get(loop.var.name, ()))
        for loop in (around.scheduled.of(nest) if nest else ())
    )
    named = sorted({number for loop in loops for number in loop.moves})
    return PlaceView(
        layer, line, found.line, found.how, nest.trips if nest else 0, loops,
        tuple(MoveView(number, moves[number - 1].name, moves[number - 1].code) for number in named),
        tuple(dict.fromkeys(str(getattr(one, "name", one)) for one in found.onnx)),
    )  # fmt: skip
