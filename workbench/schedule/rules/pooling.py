"""Pooling over windows: a row of windows at a time, what surrounds the data made for several rows.

for n, c in parallel:
    for yo:
        pool_pad[...] = what windows of these rows reach, the neutral value outside of the data
        for yi:
            pool_rows[:] = the greatest of each column     # or nothing: then all taps of a window are taken below
            for xo:
                pool_local[lanes] = neutral
                for rw (unrolled): pool_local[:] = max(pool_local[:], pool_rows[(xo, :) * s + rw])
                output[...] = epilogue(pool_local)
"""

from __future__ import annotations

from typing import Final

from ...tir import nodes as t
from ..errors import require
from ..references import BlockRV, LoopRV
from ..schedule import Schedule
from .generic import block_by_itself
from .loops import UNROLLED_TAPS, extent_of_loop, parallel, vectors
from .shapes import Machine, extent, is_reduction, iterations, lanes_in_step, of_kind, site_of
from .tiles import output_of

MASKED: Final = 8
"""Lanes of processors whose vectors have masks (AVX2, AVX-512); NEON and SSE have four."""
SHORT: Final = 3
"""Vectors of a row that is short."""
FEW: Final = 4
"""Vectors of a row of results that are written out, where the last one is not whole."""


def windows(schedule: Schedule, block: str, machine: Machine, row: int, together: int, lanes: int) -> None:
    """Schedule pooling in vectors of `lanes` along the last axis.

    `row`: the first axis that is pooled; `together` of its places share what surrounds the data, where it is not the
    last axis of all.  Raises `ScheduleError` where the output has other axes than the windows.
    """
    anchor = _reduction(schedule, block)
    output = output_of(schedule, anchor)
    site = site_of(schedule, anchor)
    spatial = of_kind(site.block.iter_vars, t.IterKind.SPATIAL)
    loops = schedule.get_loops(output)
    require(
        len(loops) == len(spatial) > 1 and is_reduction(site),
        "E-RULE-SHAPE",
        f"{anchor} is not pooling over windows",
        found=f"{len(loops)} loops around {output.target}, {len(spatial)} spatial iterators of {anchor}",
        expected="one loop for each axis",
        fix="schedule block by block",
    )
    *around, last = loops
    width = extent_of_loop(schedule, last) or 0
    column, vector = schedule.split(last, factors=[None, lanes])
    outside, within = around, around[-1]
    if row < len(around):
        rows, within = schedule.split(around[row], factors=[None, together])
        outside, around = [*around[:row], rows], [*around[:row], rows, within, *around[row + 1 :]]
    schedule.reorder(*around, column, vector)
    every = parallel(schedule, outside, iterations(site)) or outside[-1]
    if within is outside[-1]:
        within = every
    _reduce_at(schedule, schedule.get_block(anchor), column, 0)
    schedule.vectorize(vector)
    rest = [one for one in schedule.state.tree.leaves if one.name not in (anchor, output.target, f"{anchor}_init")]
    for other in sorted(rest, key=is_reduction, reverse=True):  # padding is made where it is read
        if is_reduction(other):
            _reduce_at(schedule, schedule.get_block(other.name), within, lanes)
        elif "pad" in str(other.block.annotations.get("tag", "")):
            _padded_at(schedule, schedule.get_block(other.name), every, machine)
        else:
            block_by_itself(schedule, other.name, machine)
    if width % lanes and width <= FEW * lanes:
        schedule.unroll(column)  # each vector knows whether it is whole


def _reduction(schedule: Schedule, block: str) -> str:
    """The reduction that a block is, or that it reads."""
    if is_reduction(site_of(schedule, block)):
        return block
    sources = schedule.get_producers(schedule.get_block(block))
    return next((one.target for one in sources if is_reduction(site_of(schedule, one.target))), block)


def _reduce_at(schedule: Schedule, block: BlockRV, loop: LoopRV, lanes: int) -> None:
    """Reduce inside a loop: vectors innermost, taps around them written out; `lanes`: the row is cut into vectors."""
    schedule.compute_at(block, loop, preserve_unit_loops=True)
    items = site_of(schedule, block.target).block.iter_vars
    own = schedule.get_loops(block)[-len(items) :]
    reduced = of_kind(items, t.IterKind.REDUCE)
    taps = [own[number] for number in reduced]
    *rows, vector = [own[number] for number in of_kind(items, t.IterKind.SPATIAL)]
    if lanes:
        part, vector = schedule.split(vector, factors=[None, lanes])
        rows.append(part)
        schedule.reorder(*rows, *taps, vector)
    else:
        schedule.reorder(*taps, *rows, vector)
    schedule.vectorize(vector)
    count = 1
    for number, tap in reversed(list(zip(reduced, taps, strict=True))):
        count *= extent(items[number]) or UNROLLED_TAPS + 1
        if count > UNROLLED_TAPS:
            break
        schedule.unroll(tap)
    schedule.decompose_reduction(block, taps[0])


def _padded_at(schedule: Schedule, block: BlockRV, loop: LoopRV, machine: Machine) -> None:
    """Padding inside a loop, in vectors where all lanes of one lie inside of the data or none does.  Other short rows
    go in vectors whose lanes outside are left away, where there are such; LLVM makes vectors of long ones, and writes
    out short ones number by number."""
    site = site_of(schedule, block.target)
    lanes = machine.lanes_for(site.block.writes[0].buffer)
    shared = lanes_in_step(site, lanes)
    schedule.compute_at(block, loop, preserve_unit_loops=True)
    row = schedule.get_loops(block)[-1]
    size = extent_of_loop(schedule, row) or 0
    if shared is not None and size % shared == 0:
        vectors(schedule, row, shared)
    elif machine.lanes >= MASKED and 0 < size <= SHORT * machine.lanes:
        _, vector = schedule.split(row, factors=[None, lanes])
        schedule.vectorize(vector)
