"""Convolutions with packed kernels: a register tile of output columns times blocks of output channels.

for n, ob, y in parallel:
    for xo:
        conv_local[blocks, columns, lanes] = 0
        for rc, rh, rw: conv_local[b, x, :] += data[rc, y + rh, x + rw] * weight[b, rc, rh, rw, :]
        output[...] = epilogue(conv_local)
"""

from __future__ import annotations

from ...tir import nodes as t
from ..errors import require
from ..schedule import Schedule
from .generic import block_by_itself
from .shapes import Machine, divisors, extent, iterations, site_of
from .tiles import accumulate, output_of


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
    sizes = [extent(item) for item in items]
    loops = schedule.get_loops(output)
    require(
        all(size is not None for size in sizes) and len(loops) == 4,
        "E-RULE-SHAPE",
        f"{anchor} has symbolic extents or another layout",
        found=f"{len(loops)} loops around {output.target}",
        expected="constant extents, NCHW",
        fix="schedule block by block",
    )
    known = [size for size in sizes if size is not None]
    blocks, width, lanes = known[1], known[3], known[4]
    column_tile = int(notes.get("width_tile", 1))
    depthwise = notes.get("anchor") == "depthwise_conv2d"
    block_tile, columns = register_tile(machine, 1 if depthwise else blocks, width // column_tile, column_tile)
    batch, channel, row, column = loops
    channel_outer, channel_inner = schedule.split(channel, factors=[None, block_tile * lanes])
    column_outer, column_inner = schedule.split(column, factors=[None, columns])
    schedule.reorder(batch, channel_outer, row, column_outer, channel_inner, column_inner)
    outer = schedule.fuse(batch, channel_outer, row)
    if iterations(site) >= 65536:
        schedule.parallel(outer)
    taps = 1
    for item in items:
        if item.kind is t.IterKind.REDUCE:
            taps = extent(item) or 1
    accumulate(schedule, schedule.get_block(anchor), column_outer, 4, reduce_unroll=9 if depthwise else min(taps, 3))
    schedule.vectorize(column_inner)
    for other in tuple(schedule.state.tree.leaves):
        if other.name not in (anchor, output.target, f"{anchor}_init"):
            block_by_itself(schedule, other.name, machine)


def register_tile(machine: Machine, blocks: int, tiles: int, column_tile: int) -> tuple[int, int]:
    """(blocks of channels, columns): accumulators within the registers, each weight vector used as often as can be."""
    best: tuple[float, int, int] | None = None
    for block_tile in divisors(blocks):
        for count in divisors(tiles):
            columns = count * column_tile
            if block_tile * columns > machine.accumulators or block_tile > 4:
                continue
            score = (block_tile + columns) / (block_tile * columns)
            if best is None or score < best[0]:
                best = (score, block_tile, columns)
    return (best[1], best[2]) if best is not None else (1, column_tile)
