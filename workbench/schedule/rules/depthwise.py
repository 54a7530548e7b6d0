"""Depthwise convolutions as they are: all taps unrolled, what is padded copied a part at a time.

NCHW, `rows`: vectors along the columns, several rows at once.

for n, c in parallel:
    data_pad = a channel of the data, zeros around it
    for yo, xo:
        conv_local[rows, lanes] = 0
        for rh, rw (unrolled): conv_local[y, :] += data_pad[y + rh, x + rw] * weight[c, rh, rw]
        output[...] = epilogue(conv_local)

NHWC, `channels`: vectors of channels, several columns at once.  The weights of a vector stay near, and so does what is
padded, which lies in the order in which it is read.

for n, yo, co in parallel:
    data_pad = the rows that `strip` rows of the result read, of a vector of channels
    for yi, xo:
        conv_local[columns, lanes] = 0
        for rh, rw (unrolled): conv_local[x, :] += data_pad[y + rh, x + rw, :] * weight[rh, rw, :]
        output[...] = epilogue(conv_local)
"""

from __future__ import annotations

from ...analysis.tree import BlockSite
from ...tir import nodes as t
from ..errors import require
from ..references import BlockRV, LoopRV
from ..schedule import Schedule
from .generic import block_by_itself
from .loops import taps_of, vectors
from .shapes import LINE, Machine, extent, iterations, of_kind, site_of
from .tiles import output_of

TAPS = 25
"""Kernels with more taps are not written out."""


def rows(schedule: Schedule, anchor: str, machine: Machine, together: int, lanes: int) -> None:
    """Schedule a depthwise convolution NCHW: vectors along the last axis, `together` of the one before it at once."""
    output = _output(schedule, anchor, "NCHW")
    batch, channel, row, column = schedule.get_loops(output)
    column_outer, column_inner = schedule.split(column, factors=[None, lanes])
    row_outer, row_inner = schedule.split(row, factors=[None, together])
    schedule.reorder(batch, channel, row_outer, column_outer, row_inner, column_inner)
    outer = schedule.fuse(batch, channel)
    _taps_inside(schedule, anchor, outer, column_outer)
    schedule.vectorize(column_inner)
    _the_rest(schedule, anchor, output, outer, machine)
    pad = next((other for other in schedule.state.tree.leaves if _is_padding(other)), None)
    if pad is not None:  # each row begins a line of the caches: few of the vectors that are read cross two
        per_line = LINE // pad.block.writes[0].buffer.dtype.bytes
        schedule.storage_align(schedule.get_block(pad.name), 0, -2, per_line, 0)


def channels(schedule: Schedule, anchor: str, machine: Machine, strip: int, columns: int, lanes: int) -> None:
    """Schedule a depthwise convolution NHWC: vectors along the last axis, `columns` of the one before it at once, over
    `strip` rows of the result."""
    output = _output(schedule, anchor, "NHWC")
    batch, row, column, channel = schedule.get_loops(output)
    row_outer, row_inner = schedule.split(row, factors=[None, strip])
    column_outer, column_inner = schedule.split(column, factors=[None, columns])
    channel_outer, channel_inner = schedule.split(channel, factors=[None, lanes])
    schedule.reorder(batch, row_outer, channel_outer, row_inner, column_outer, column_inner, channel_inner)
    outer = schedule.fuse(batch, row_outer, channel_outer)
    _taps_inside(schedule, anchor, outer, column_outer)
    schedule.vectorize(channel_inner)
    _the_rest(schedule, anchor, output, outer, machine)


def _output(schedule: Schedule, anchor: str, layout: str) -> BlockRV:
    """What consumes a depthwise convolution over four axes that reduces over its taps only."""
    output = output_of(schedule, anchor)
    items = site_of(schedule, anchor).block.iter_vars
    require(
        all(extent(item) is not None for item in items)
        and len(schedule.get_loops(output)) == 4
        and of_kind(items, t.IterKind.SPATIAL) == [0, 1, 2, 3]
        and len(items) == 6,
        "E-RULE-SHAPE",
        f"{anchor} is not a depthwise convolution in {layout}",
        found=f"{len(items)} iterators",
        expected="four spatial iterators, two taps",
        fix="schedule block by block",
    )
    return output


def _taps_inside(schedule: Schedule, anchor: str, outer: LoopRV, at: LoopRV) -> None:
    """Compute the sums of a tile at a loop of their consumer: taps outside, the tile written out, vectors inside."""
    site = site_of(schedule, anchor)
    if iterations(site) >= 65536:
        schedule.parallel(outer)
    block = schedule.get_block(anchor)
    schedule.compute_at(block, at, preserve_unit_loops=True)
    *_, first, second, third, vector, high, wide = schedule.get_loops(block)
    schedule.reorder(high, wide, first, second, third, vector)
    schedule.vectorize(vector)
    written = [first, second, third]
    if taps_of(site.block.iter_vars) <= TAPS:
        written += [wide, high]
    for loop in written:
        schedule.unroll(loop)
    schedule.decompose_reduction(block, high)


def _the_rest(schedule: Schedule, anchor: str, output: BlockRV, outer: LoopRV, machine: Machine) -> None:
    """The padding a part at a time, other stages block by block."""
    for other in tuple(schedule.state.tree.leaves):
        if other.name in (anchor, output.target, f"{anchor}_init"):
            continue
        block = schedule.get_block(other.name)
        if _is_padding(other):
            schedule.compute_at(block, outer, preserve_unit_loops=True)
            vectors(schedule, schedule.get_loops(block)[-1], machine.lanes_for(other.block.writes[0].buffer))
        else:
            block_by_itself(schedule, other.name, machine)


def _is_padding(site: BlockSite) -> bool:
    return "pad" in str(site.block.annotations.get("tag", ""))
