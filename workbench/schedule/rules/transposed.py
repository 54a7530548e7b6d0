"""Elements that change places: tiles of the two axes that run through memory, one where it is read, one where written.

for io, jo in parallel:
    B[io * 16 : + 16, jo * 16 : + 16] = transpose_16x16(A[jo * 16 : + 16, io * 16 : + 16])

Each line of the caches that a tile touches is read, or written, whole before it is gone.  A tile is shuffled in
registers (`tir.tensor_intrin.transposes`); where something is computed on the way, element by element:

    for ii: for ji (unrolled): B[io * 16 + ii, jo * 16 + ji] = f(A[jo * 16 + ji, io * 16 + ii])

A move into blocks (a weight that is packed in each run) reads several runs of a row before it goes to the next row:

for bo in parallel:
    for k: for bi in 8: B[bo * 8 + bi, k, 0:16] = A[k, (bo * 8 + bi) * 16 : + 16]
"""

from __future__ import annotations

from typing import Final

from ...analysis.tree import BlockSite
from ...arith.forms import Form
from ...core.node import pre_order
from ...tir import nodes as t
from ...tir.tensor_intrin.transposes import name_of
from ..references import LoopRV
from ..schedule import Schedule
from .loops import extent_of_loop
from .shapes import Machine, extent, is_choice, largest_divisor, of_kind

SIDE: Final = 16
"""Elements of a tile along an axis: those of four bytes fill a line of the caches."""
RUNS: Final = 8
"""Runs that are read one after the other."""
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
    form = site.forms.linear(last)
    found = [
        number for number, item in enumerate(items[:-1])
        if form.terms.get(site.forms.number_of(item.var)) == 1
    ]  # fmt: skip
    if len(found) != 1 or written is not items[-1].var or _moves(site, form, items[-1]):
        return None
    sizes = [extent(items[number]) for number in (found[0], -1)]
    return found[0] if all(size is not None and largest_divisor(size, SIDE) >= LEAST for size in sizes) else None


def _moves(site: BlockSite, form: Form, item: t.IterVar) -> bool:
    return site.forms.moves(form, {site.forms.number_of(item.var)})


def read_on(site: BlockSite) -> int | None:
    """The iterator that goes on in memory where a run of the last one ends, though others turn between the two."""
    items = site.block.iter_vars
    if len(site.block.reads) != 1 or len(site.loops) != len(items) or len(items) < 3:
        return None
    run, form = extent(items[-1]), site.forms.linear(site.block.reads[0].region[-1].min)
    if run is None or _moves(site, form, items[-2]):
        return None
    found = [
        number for number, item in enumerate(items[:-2])
        if form.terms.get(site.forms.number_of(item.var)) == run
    ]  # fmt: skip
    return found[0] if len(found) == 1 else None


def several_runs(schedule: Schedule, loops: list[LoopRV], on: int) -> list[LoopRV]:
    """Read several runs of the last loop one after the other, for which loop `on` turns innermost; the loops around.

    Each line of the caches was read by itself, a row of the operand away from the last one.
    """
    count = extent_of_loop(schedule, loops[on])
    outer, inner = schedule.split(loops[on], factors=[None, largest_divisor(count or 1, RUNS)])
    around = [*loops[:on], outer, *loops[on + 1 : -1]]
    schedule.reorder(*around, inner, loops[-1])
    return around


def tiles(schedule: Schedule, site: BlockSite, loops: list[LoopRV], along: int, machine: Machine) -> list[LoopRV]:
    """Tile the last of the loops and the one numbered `along`, of constant extents; the loops around the tiles."""
    side = _side(site, machine)
    (row, row_inner), (column, column_inner) = (
        schedule.split(loop, factors=[None, largest_divisor(extent(item) or 1, side)])
        for loop, item in ((loops[number], site.block.iter_vars[number]) for number in (along, -1))
    )
    around = [*loops[:along], row, *loops[along + 1 : -1], column]
    schedule.reorder(*around, row_inner, column_inner)
    intrinsic = _shuffles(schedule, site, (row_inner, column_inner))
    if intrinsic is None:
        schedule.unroll(column_inner)
    else:
        schedule.tensorize(row_inner, intrinsic)
    return around


def _side(site: BlockSite, machine: Machine) -> int:
    """Elements of a tile's side, so that a tile that is shuffled and what becomes of it fit the registers."""
    room = machine.registers * machine.lanes * 4
    fits = 2 * SIDE * SIDE * site.block.writes[0].buffer.dtype.bytes <= room
    return SIDE if fits or not only_moves(site) else SIDE // 2


def only_moves(site: BlockSite) -> bool:
    """Whether elements are stored as they were read."""
    body = site.block.body
    return isinstance(body, t.BufferStore) and isinstance(body.value, t.BufferLoad)


def _shuffles(schedule: Schedule, site: BlockSite, tile: tuple[LoopRV, LoopRV]) -> str | None:
    """The tensor intrinsic that moves a tile; None where something is computed on the way, or for other numbers."""
    rows, columns = (extent_of_loop(schedule, loop) or 1 for loop in tile)
    return name_of(rows, columns, site.block.writes[0].buffer.dtype) if only_moves(site) else None
