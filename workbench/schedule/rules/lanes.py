"""Reductions along what is contiguous: partial results in the lanes of a few vectors, put together at the end.

for row:
    C_rf[0:64] = 0                       four vectors of sixteen lanes: none waits for another
    for ko: C_rf[:] += A[row, ko * 64 + (0:64)]
    C_rf_1[0:16] = 0
    for u: C_rf_1[:] += C_rf[u * 16 + (0:16)]
    C[row] = 0
    for l: C[row] += C_rf_1[l]
"""

from __future__ import annotations

from ...analysis.tree import BlockSite
from ...tir import nodes as t
from ..references import BlockRV, LoopRV
from ..schedule import Schedule
from .loops import attempted
from .shapes import Machine, extent, of_kind, site_of, unit_stride

VECTORS = (4, 2, 1)
"""Vectors of partial results, the first that divides the reduction."""
FEW = 4
"""Lanes that are put together one after the other."""
SHORTEST, UNEVEN = 2, 4
"""Vectors that a reduction fills at least, and one that leaves a rest, which is asked for in each turn."""


def in_lanes(schedule: Schedule, name: str, machine: Machine) -> list[LoopRV] | None:
    """Let the lanes of vectors reduce for themselves; the loops around.  None, and nothing done, where it is not so.

    The innermost loop is over what is contiguous in all that it reads, and there is one result.
    """
    site = site_of(schedule, name)
    lanes = _lanes(site, machine)
    if lanes is None:
        return None
    return attempted(schedule, lambda: _reduced(schedule, name, lanes))


def _lanes(site: BlockSite, machine: Machine) -> int | None:
    """Lanes of a vector of partial results; None where the reduction has none, or is too short."""
    items = site.block.iter_vars
    reduced = of_kind(items, t.IterKind.REDUCE)
    if not reduced or len(site.block.writes) != 1 or not site.loops:
        return None
    item, lanes = items[reduced[-1]], machine.lanes_for(site.block.writes[0].buffer)
    size, loop = extent(item), site.loops[-1]
    along = site.realize.iter_values[reduced[-1]] is loop.var and loop.kind is t.ForKind.SERIAL
    if size is None or not along or size < (SHORTEST if size % lanes == 0 else UNEVEN) * lanes:
        return None
    return lanes if unit_stride(site, item) else None


def _reduced(schedule: Schedule, name: str, lanes: int) -> list[LoopRV]:
    outside = len(of_kind(site_of(schedule, name).block.iter_vars, t.IterKind.REDUCE))
    loop = schedule.get_loops(schedule.get_block(name))[-1]
    size = getattr(schedule.get(loop).extent, "value", 0)
    vectors = next((count for count in VECTORS if size % (count * lanes) == 0), 1)
    _, part = schedule.split(loop, factors=[None, vectors * lanes])
    first, left = schedule.rfactor(part, -1), vectors * lanes
    made = [(first, outside)]
    for width in (lanes, FEW):
        if left > width and left % width == 0:
            last = schedule.get_loops(schedule.get_block(name))[-1]
            _, part = schedule.split(last, factors=[left // width, width])
            made.append((schedule.rfactor(part, -1), 1))
            left = width
    *rows, last = schedule.get_loops(schedule.get_block(name))
    schedule.unroll(last)
    for block, reducing in reversed(made):
        _vectors_of(schedule, block, rows, reducing)
        if block is not first:
            schedule.unroll(_update_loop(schedule, block))
    return rows


def _vectors_of(schedule: Schedule, block: BlockRV, rows: list[LoopRV], reducing: int) -> None:
    """Partial results in registers, in the row that they are of; their start before the loops that add to them."""
    if rows and schedule.get(rows[-1]) not in map(schedule.get, schedule.get_loops(block)):
        schedule.compute_at(block, rows[-1], preserve_unit_loops=True)
    schedule.set_scope(block, 0, "local")
    *around, lane = schedule.get_loops(block)
    schedule.vectorize(lane)
    schedule.decompose_reduction(block, around[-reducing])


def _update_loop(schedule: Schedule, block: BlockRV) -> LoopRV:
    return schedule.get_loops(block)[-2]
