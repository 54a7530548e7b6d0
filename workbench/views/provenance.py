"""Provenance as data for screens: a listing with the origin of each line, one place, one trail.

Each view is versioned JSON.  A listing holds all that linked highlighting needs: lines of native code with the same
`line` belong to that line of the kernel's tir, and lines that name a node of the file belong to it.

    listing(s.provenance, "fused_nn_dense", "asm").to_json()
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..core.origin import ImportedFrom
from ..relay.ir.brief import brief
from ..relay.ir.expr import Expr
from .schema import SCHEMA_VERSION, View
from .strings.tables import say

if TYPE_CHECKING:
    from ..driver.trails import Place, Provenance, Trail


@dataclass(frozen=True, slots=True)
class ListedLine(View):
    """A line of a native text: its place in the kernel's tir (0: no instruction) and the nodes of the file by
    number."""

    text: str
    line: int = 0
    how: str = ""
    onnx: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ListingView(View):
    """A kernel's native text beside its tir; `names` are the nodes of the file that the lines number."""

    kernel: str
    form: str
    tir: tuple[str, ...]
    lines: tuple[ListedLine, ...]
    names: tuple[str, ...]
    version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class PlaceView(View):
    """Where one line comes from: the line of tir, the relay expressions, the nodes of the file."""

    kernel: str
    form: str
    text_line: int
    line: int
    how: str
    source: str
    loops: tuple[str, ...]
    calls: tuple[str, ...]
    onnx: tuple[str, ...]
    version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class KernelTrailView(View):
    """The lines of a kernel's texts that come from a thing, by form; `sites` number the calls of the kernel."""

    kernel: str
    sites: tuple[int, ...]
    lines: dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class TrailView(View):
    """What a thing became: (step, its expressions or kinds of statement with counts), and lines by kernel."""

    onnx: tuple[str, ...]
    steps: tuple[tuple[str, tuple[str, ...]], ...]
    kernels: tuple[KernelTrailView, ...]
    version: int = SCHEMA_VERSION


def listing(provenance: Provenance, kernel: str, form: str = "asm") -> ListingView:
    """A kernel's native text with the origin of each line."""
    native = provenance.native(kernel, form)
    numbers: dict[str, int] = {}
    by_line: dict[int, tuple[int, ...]] = {}
    listed = [ListedLine(text.replace("\t", "    ")) for text in native.text.rstrip("\n").split("\n")]
    for spot in native.spots:
        if spot.line not in by_line:
            names = _names(provenance.sources(kernel, spot))
            by_line[spot.line] = tuple(sorted(numbers.setdefault(name, len(numbers)) for name in names))
        text = listed[spot.text_line - 1].text
        listed[spot.text_line - 1] = ListedLine(text, spot.line, spot.how, by_line[spot.line])
    tir = tuple(provenance.text(kernel, "tir").rstrip("\n").split("\n"))
    return ListingView(kernel, form, tir, tuple(listed), tuple(numbers))


def place_view(provenance: Provenance, place: Place) -> PlaceView:
    """One line's place as data."""
    tir = provenance.text(place.kernel, "tir").split("\n")
    source = tir[place.line - 1].strip() if 0 < place.line <= len(tir) else ""
    loops = tuple(tir[line - 1].strip() for line, _ in dict.fromkeys(place.loops))
    calls = tuple(sorted({_shown(call) for call in place.calls}))
    return PlaceView(
        place.kernel, place.form, place.text_line, place.line, place.how, source, loops, calls, _names(place.onnx)
    )


def trail_view(trail: Trail) -> TrailView:
    """A trail as data."""
    steps = steps_shown(trail.steps)
    kernels = tuple(
        KernelTrailView(found.kernel, found.sites, {"tir": found.tir, **dict(found.native)}) for found in trail.kernels
    )
    return TrailView(_names(trail.onnx), steps, kernels)


def steps_shown(steps: Mapping[str, tuple[Any, ...]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The nodes at each step as brief texts, those alike counted."""
    return tuple((label, _counted(nodes)) for label, nodes in steps.items())


def listing_text(view: ListingView) -> str:
    """A listing for reading: the line of tir, how it is known, the nodes of the file, then the code."""
    rows = [say.session.listing(view.kernel, view.form)]
    signs = {"line": " ", "flow": "~", "loop": "o", "function": "f", "": " "}
    for line in view.lines:
        names = ", ".join(view.names[number] for number in line.onnx)
        names = names if len(names) <= 40 else f"{names[:37]}..."
        rows.append(f"{line.line or '':>5}{signs[line.how]} {names:40} {line.text}")
    rows.append(say.session.listing_legend)
    return "\n".join(rows)


def _names(sources: Any) -> tuple[str, ...]:
    return tuple(sorted(item.name if isinstance(item, ImportedFrom) else _shown(item) for item in sources))


def _shown(node: Any) -> str:
    return brief(node) if isinstance(node, Expr) else type(node).__name__


def _counted(nodes: tuple[Any, ...]) -> tuple[str, ...]:
    """Relay expressions as text, statements by class and number."""
    counts: dict[str, int] = {}
    for node in nodes:
        shown = _shown(node)
        counts[shown] = counts.get(shown, 0) + 1
    return tuple(name if count == 1 else f"{name} x {count}" for name, count in counts.items())
