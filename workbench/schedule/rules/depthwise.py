"""Depthwise convolutions as they are (NCHW): vectors along the columns, several rows at once, all taps unrolled.

for n, c in parallel:
    for yo, xo:
        conv_local[rows, lanes] = 0
        for rh, rw (unrolled): conv_local[y, :] += data[c, y + rh, x + rw] * weight[c, rh, rw]
        output[...] = epilogue(conv_local)
"""

from __future__ import annotations

from ...tir import nodes as t
from ..errors import require
from ..schedule import Schedule
from .generic import block_by_itself
from .shapes import Machine, extent, iterations, of_kind, site_of
from .tiles import output_of

TAPS = 25
"""Kernels with more taps are not written out."""


def rows(schedule: Schedule, anchor: str, machine: Machine, together: int, lanes: int) -> None:
    """Schedule a depthwise convolution over four axes that reduces over its taps only: vectors along the last axis,
    `together` of the one before it at once."""
    output = output_of(schedule, anchor)
    site = site_of(schedule, anchor)
    items = site.block.iter_vars
    sizes = [extent(item) for item in items]
    loops = schedule.get_loops(output)
    require(
        all(size is not None for size in sizes)
        and len(loops) == 4
        and of_kind(items, t.IterKind.SPATIAL) == [0, 1, 2, 3]
        and len(items) == 6,
        "E-RULE-SHAPE",
        f"{anchor} is not a depthwise convolution in NCHW",
        found=f"{len(items)} iterators",
        expected="four spatial iterators, two taps",
        fix="schedule block by block",
    )
    taps_high, taps_wide = (size or 1 for size in sizes[4:])
    batch, channel, row, column = loops
    column_outer, column_inner = schedule.split(column, factors=[None, lanes])
    row_outer, row_inner = schedule.split(row, factors=[None, together])
    schedule.reorder(batch, channel, row_outer, column_outer, row_inner, column_inner)
    outer = schedule.fuse(batch, channel)
    if iterations(site) >= 65536:
        schedule.parallel(outer)
    block = schedule.get_block(anchor)
    schedule.compute_at(block, column_outer, preserve_unit_loops=True)
    *_, first, second, third, vector, high, wide = schedule.get_loops(block)
    schedule.reorder(high, wide, first, second, third, vector)
    schedule.vectorize(vector)
    unrolled = [first, second, third]
    if taps_high * taps_wide <= TAPS:
        unrolled += [wide, high]
    for loop in unrolled:
        schedule.unroll(loop)
    schedule.decompose_reduction(block, high)
    schedule.vectorize(column_inner)
    for other in tuple(schedule.state.tree.leaves):
        if other.name not in (anchor, output.target, f"{anchor}_init"):
            block_by_itself(schedule, other.name, machine)
