"""Convolutions with packed kernels: a register tile of output columns times blocks of output channels.

for n, ob, y in parallel:
    for xo:
        conv_local[blocks, columns, lanes] = 0
        for rc, rh, rw: conv_local[b, x, :] += data[rc, y + rh, x + rw] * weight[b, rc, rh, rw, :]
        output[...] = epilogue(conv_local)

The output lies as NCHW, NHWC, or in blocks of channels as the weight does.
"""

from __future__ import annotations

from typing import Final

from ...analysis.tree import BlockSite
from ...arith.scope import variables_in
from ...tir import nodes as t
from ..errors import require
from ..schedule import Schedule
from .generic import block_by_itself
from .shapes import LINE, Machine, extent, iterations, of_kind, site_of
from .tiles import accumulate, loops_of_pictures, output_of

MEETING: Final = 512
"""Pixels that are multiples of so many bytes apart meet in few sets."""


def packed(
    schedule: Schedule, anchor: str, machine: Machine, blocks: int, columns: int, depthwise: bool, dot: str = ""
) -> None:
    """Schedule conv2d or depthwise conv2d over [n, o/lanes, y, x, lanes], in tiles of blocks of channels times columns.

    `dot`: the tensor intrinsic that computes the last spatial and the last reduction iterator.
    Raises `ScheduleError` where the anchor or its output have other axes.
    """
    output = output_of(schedule, anchor)
    site = site_of(schedule, anchor)
    items = site.block.iter_vars
    known, loops = loops_of_pictures(schedule, anchor, output, blocks=True)
    require(
        of_kind(items, t.IterKind.SPATIAL) == [0, 1, 2, 3, 4],
        "E-RULE-SHAPE",
        f"{anchor} is not in blocks of channels",
        found=f"{len(items)} iterators",
        expected="five spatial iterators, the last one of the channels of a block",
        fix="schedule block by block, or pack the weight",
    )
    lanes, in_blocks = known[4], len(loops) == 5
    last_channel = not in_blocks and channels_last(schedule, output.target, anchor)
    reduced = [extent(item) or 1 for item in items if item.kind is t.IterKind.REDUCE]
    lane = loops[4:]
    batch, row, column, channel = loops if last_channel else (loops[0], *loops[2:4], loops[1])
    channel_outer, channel_inner = schedule.split(channel, factors=[None, blocks if in_blocks else blocks * lanes])
    column_outer, column_inner = schedule.split(column, factors=[None, columns])
    inside = [column_inner, channel_inner] if last_channel else [channel_inner, column_inner, *lane]
    schedule.reorder(batch, channel_outer, row, column_outer, *inside)
    outer = schedule.fuse(batch, channel_outer, row)
    if iterations(site) >= 65536:
        schedule.parallel(outer)
    own = reduced[:-1] if dot else reduced
    last = own[-1] if own else 1
    unroll = 9 if depthwise else min(last, 3)
    accumulate(schedule, schedule.get_block(anchor), column_outer, 4, reduce_unroll=unroll, inside=1, dot=dot)
    if last_channel:
        _, inside[-1] = schedule.split(channel_inner, factors=[None, lanes])
    schedule.vectorize(inside[-1])
    for other in tuple(schedule.state.tree.leaves):
        if other.name not in (anchor, output.target, f"{anchor}_init"):
            block_by_itself(schedule, other.name, machine)
        if other.name == "data_pad" and last_channel:
            _apart(schedule, other)


def apart(pitch: int) -> int:
    """Bytes from one padded pixel NHWC to the next, which has so many itself.

    Where many pixels would meet in few sets of the caches, there is a line more between them.
    """
    return pitch + LINE if pitch % MEETING == 0 else pitch


def _apart(schedule: Schedule, pad: BlockSite) -> None:
    buffer = pad.block.writes[0].buffer
    channels, width = extent(pad.block.iter_vars[-1]), buffer.dtype.bytes
    if channels is not None and apart(channels * width) != channels * width:
        lines = LINE // width
        schedule.storage_align(schedule.get_block(pad.name), 0, -2, 2 * lines, lines)


def channels_last(schedule: Schedule, output: str, anchor: str, axis: int = 1) -> bool:
    """Whether the last iterator of the block that reads the sums is their channel (NHWC); `axis`: of their blocks."""
    block, sums = site_of(schedule, output).block, site_of(schedule, anchor).block.writes[0].buffer
    place = next(region for region in block.reads if region.buffer is sums).region[axis].min
    return any(var is block.iter_vars[-1].var for var in variables_in(place))
