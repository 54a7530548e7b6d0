"""Elements that change places: tiles of the two axes that run through memory, one where it is read, one where written.

for io, jo in parallel:
    for ii: for ji (unrolled): B[io * 16 + ii, jo * 16 + ji] = A[jo * 16 + ji, io * 16 + ii]

Each line of the caches that a tile touches is read, or written, whole before it is gone.
"""

from __future__ import annotations

from typing import Final

from ...analysis.affine import Affine, Ranges
from ...analysis.tree import BlockSite
from ...core.node import pre_order
from ...tir import nodes as t
from ..references import LoopRV
from ..schedule import Schedule
from .shapes import extent, is_choice, largest_divisor, of_kind

SIDE: Final = 16
"""Elements of a tile along an axis: those of four bytes fill a line of the caches."""
LEAST: Final = 4
"""Elements of a side that divides its axis, with which a tile is worth it: a rest would cost more."""


def read_along(site: BlockSite) -> int | None:
    """The iterator along which the one operand lies in memory, where the result does so along another one, its last."""
    items = site.block.iter_vars
    if len(site.block.reads) != 1 or len(site.loops) != len(items) or len(items) < 2:
        return None
    body = site.block.body
    if len(of_kind(items, t.IterKind.SPATIAL)) != len(items) or not isinstance(body, t.BufferStore):
        return None
    if any(map(is_choice, pre_order(body.value))):
        return None  # what is at a border is asked for each element then
    last, written = site.block.reads[0].region[-1].min, site.block.writes[0].region[-1].min
    form = Affine.of(last, Ranges())
    found = [
        number for number, item in enumerate(items[:-1])
        if any(atom.expr is item.var and factor == 1 for atom, factor in form.terms.items())
    ]  # fmt: skip
    if len(found) != 1 or written is not items[-1].var or id(items[-1].var) in form.variables:
        return None
    sizes = [extent(items[number]) for number in (found[0], -1)]
    return found[0] if all(size is not None and largest_divisor(size, SIDE) >= LEAST for size in sizes) else None


def tiles(schedule: Schedule, loops: list[LoopRV], along: int, sizes: tuple[int, int]) -> list[LoopRV]:
    """Tile the last of the loops and the one numbered `along`, of these extents; the loops around the tiles."""
    (row, row_inner), (column, column_inner) = (
        schedule.split(loop, factors=[None, largest_divisor(size, SIDE)])
        for loop, size in zip((loops[along], loops[-1]), sizes, strict=True)
    )
    around = [*loops[:along], row, *loops[along + 1 : -1], column]
    schedule.reorder(*around, row_inner, column_inner)
    schedule.unroll(column_inner)
    return around

