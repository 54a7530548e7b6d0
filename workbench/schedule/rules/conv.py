"""Convolutions with packed kernels: a register tile of output columns times blocks of output channels.

for n, ob, y in parallel:
    for xo:
        conv_local[blocks, columns, lanes] = 0
        for rc, rh, rw: conv_local[b, x, :] += data[rc, y + rh, x + rw] * weight[b, rc, rh, rw, :]
        output[...] = epilogue(conv_local)
"""

from __future__ import annotations

from ...analysis.affine import variables_of
from ...tir import nodes as t
from ..errors import require
from ..schedule import Schedule
from .generic import block_by_itself, taps
from .shapes import Machine, divisors, extent, iterations, site_of
from .tiles import accumulate, in_registers, loops_of_pictures, output_of, tile_time


def packed(schedule: Schedule, anchor: str, machine: Machine) -> None:
    """Schedule conv2d or depthwise conv2d over [n, o/lanes, y, x, lanes]."""
    notes = site_of(schedule, anchor).block.annotations
    require(
        "channel_block" in notes,
        "E-RULE-SHAPE",
        f"{anchor} is not in blocks of channels",
        found="a kernel that is not packed",
        expected="a kernel in the layout OIHW16o",
        fix="schedule block by block, or pack the weight",
    )
    output = output_of(schedule, anchor)
    site = site_of(schedule, anchor)
    items = site.block.iter_vars
    known, loops = loops_of_pictures(schedule, anchor, output)
    blocks, width, lanes = known[1], known[3], known[4]
    depthwise = notes.get("anchor") == "depthwise_conv2d"
    last_channel = channels_last(schedule, output.target, anchor)
    reduced = [extent(item) or 1 for item in items if item.kind is t.IterKind.REDUCE]
    pointwise = not last_channel and reduced[-2:] == [1, 1]
    panel = 4 * lanes * taps(items)
    block_tile, columns = register_tile(machine, 1 if depthwise else blocks, width, panel, pointwise)
    batch, row, column, channel = loops if last_channel else (loops[0], *loops[2:], loops[1])
    channel_outer, channel_inner = schedule.split(channel, factors=[None, block_tile * lanes])
    column_outer, column_inner = schedule.split(column, factors=[None, columns])
    inside = [column_inner, channel_inner] if last_channel else [channel_inner, column_inner]
    schedule.reorder(batch, channel_outer, row, column_outer, *inside)
    outer = schedule.fuse(batch, channel_outer, row)
    if iterations(site) >= 65536:
        schedule.parallel(outer)
    last = reduced[-1] if reduced else 1
    unroll = 9 if depthwise else min(last, 3)
    accumulate(schedule, schedule.get_block(anchor), column_outer, 4, reduce_unroll=unroll, inside=1)
    if last_channel:
        _, inside[-1] = schedule.split(channel_inner, factors=[None, lanes])
    schedule.vectorize(inside[-1])
    for other in tuple(schedule.state.tree.leaves):
        if other.name not in (anchor, output.target, f"{anchor}_init"):
            block_by_itself(schedule, other.name, machine)


def channels_last(schedule: Schedule, output: str, anchor: str, axis: int = 1) -> bool:
    """Whether the last iterator of the block that reads the sums is their channel (NHWC); `axis`: of their blocks."""
    block, sums = site_of(schedule, output).block, site_of(schedule, anchor).block.writes[0].buffer
    place = next(region for region in block.reads if region.buffer is sums).region[axis].min
    return any(var is block.iter_vars[-1].var for var in variables_of(place))


def register_tile(
    machine: Machine, blocks: int, width: int, panel: int = 0, pointwise: bool = False
) -> tuple[int, int]:
    """(blocks of channels, columns): accumulators within the registers, the least time by `tile_time`.

    `panel`: bytes of the weights of one block of channels, read once in each tile.  `pointwise`: one tap a channel,
    so that each step reads of another picture.
    """
    best: tuple[float, int, int] | None = None
    for block_tile in divisors(blocks):
        for columns in divisors(width):
            if block_tile > 4 or not in_registers(machine, block_tile, columns, ahead=not pointwise):
                continue
            streamed = 2 * block_tile * panel > machine.nearest
            score = tile_time(machine, block_tile, columns, streamed, scattered=pointwise)
            if best is None or score < best[0]:
                best = (score, block_tile, columns)
    return (best[1], best[2]) if best is not None else (1, 1)
