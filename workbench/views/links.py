"""The link table of one kernel as data: with it a page lights one selection in all layers without asking again.

    table = link_table(s.provenance.links, "fused_nn_dense").to_json()
    table["layers"]["asm"]                   # [3, 0, 12, 1, ...]: three lines of set 0, then twelve of set 1
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from ..relay.ir.expr import Call
from ..tir.nodes import BufferStore
from .link_boxes import Box, LinkedBoxes
from .schema import SCHEMA_VERSION, View
from .strings.tables import say

if TYPE_CHECKING:
    from ..driver.links import Layer, Links

Runs = tuple[int, ...]
Boxed = Callable[[str, Collection[str]], LinkedBoxes]
_Kind = tuple[frozenset[int], int, int]
"""Classes, their grade, and a box."""


@dataclass(frozen=True, slots=True)
class LinkView(View):
    """The classes of every line of every layer, as sets that are written once.

    `layers` holds runs by layer: a count of lines, and the number of their set.  Set 0 is the empty one.
    Sets of the same classes differ where their lines differ otherwise: by grade, or by the box that they stand in.
    """

    kernel: str
    sets: tuple[tuple[int, ...], ...]
    layers: Mapping[str, Runs]
    names: Mapping[int, str]
    """What each class of this kernel stands for, by its number."""
    calls: tuple[tuple[int, ...], ...]
    """The classes of each call of the kernel: a shared kernel carries out one part of a model for each."""
    grades: tuple[int, ...] = ()
    """By set, how its lines have these classes (`driver.links`): 0 does it, 1 is around it, 2 is the whole function."""
    within: tuple[int, ...] = ()
    """By set, the number of the box that its lines stand in, from 1; 0 for none."""
    boxes: tuple[Box, ...] = ()
    """The loops and blocks of the schedule: how the editor calls each, its name, the number of the box around it."""
    schedule: str = ""
    """The schedule that has these boxes, after its last move (`ScheduleView.moved`)."""
    version: int = SCHEMA_VERSION


def link_table(links: Links, kernel: str, native: bool = True, boxed: Boxed | None = None) -> LinkView:
    """The table of a kernel; without `native` nothing is compiled for it, and LLVM and assembly are not in it.

    `boxed` tells the boxes that the lines of these layers stand in.  Raises `WorkbenchError` for a kernel that is not
    there.
    """
    layers = links.layers(kernel, native)
    found = boxed(kernel, layers) if boxed is not None else LinkedBoxes()
    numbers: dict[_Kind, int] = {(frozenset(), 0, 0): 0}
    linked = {
        name: runs(numbers.setdefault(kind, len(numbers)) for kind in _kinds(layer, found.within.get(name, ())))
        for name, layer in layers.items()
    }
    own = next(layers[name] for name in ("tir", "schedule", "te") if name in layers).every
    named = zip(sorted(own), links.things(own), strict=True)
    names = {number: _named(thing) for number, thing in named}
    calls = tuple(tuple(sorted(links.at(site.number))) for site in links.sites if site.kernel == kernel)
    return LinkView(
        kernel, tuple(tuple(sorted(held)) for held, _, _ in numbers), linked, names, calls,
        tuple(grade for _, grade, _ in numbers), tuple(box for _, _, box in numbers), found.boxes, found.state,
    )  # fmt: skip


def _kinds(layer: Layer, within: tuple[int, ...]) -> Iterator[_Kind]:
    """What is told of each line."""
    for at, held in enumerate(layer.lines):
        box = within[at] if at < len(within) else 0
        yield held, layer.grade(at + 1) if held else 0, box if held else 0


def parts_key(links: Links) -> str:
    """The same for programs whose classes of one number stand for the same: as many of the same names, in order."""
    return hashlib.sha256("\n".join(map(_named, links.parts)).encode(errors="surrogatepass")).hexdigest()[:16]


def runs(values: Iterable[int]) -> Runs:
    """Numbers as stretches of equal ones: a count, then the number."""
    return tuple(item for value, equal in groupby(values) for item in (sum(1 for _ in equal), value))


def _named(thing: object) -> str:
    """An operator, a stage of tensor expressions, the buffer that a statement writes, or a kind of statement."""
    if isinstance(thing, Call):
        return str(getattr(thing.op, "name", "") or getattr(thing.op, "name_hint", "") or say.graph.call)
    if isinstance(thing, BufferStore):
        return thing.buffer.name
    return str(getattr(thing, "name", "") or type(thing).__name__)
