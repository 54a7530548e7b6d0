"""Winograd convolutions: all stages of some rows of tiles inside one parallel loop, so that they meet in the caches.

for n, rows of tiles in parallel:
    data_pad[...] = data                                                # only where there is padding
    for ty, tx, vector of c: data_rows[a, a, :] = B^T d; data_tile[a, a, ty, tx, c] = data_rows B
    for e, u, blocks of o, ty, columns of tiles:
        sums[columns, blocks, lanes] = 0
        for c: sums[x, b, :] += data_tile[e, u, ty, x, c] * weight[e, u, b, c, :]
        conv2d_winograd[e, u, ty, columns, blocks, :] = sums
    for ty, tx, block of o: output_rows[m, a, :] = A^T M; output[...] = epilogue(output_rows A)
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import require
from ..references import BlockRV, LoopRV
from ..schedule import Schedule
from .conv import channels_last
from .generic import block_by_itself, inline_elementwise
from .shapes import Machine, extent, is_reduction, site_of, whole_lanes
from .tiles import accumulate


@dataclass(frozen=True)
class _Stages:
    """The blocks around the anchor, by what they hold."""

    pad: str | None
    data_rows: str
    data_tile: str
    output_rows: str
    output: str


def tiles(schedule: Schedule, anchor: str, machine: Machine, rows: int, vectors: int, columns: int) -> None:
    """Schedule a convolution of tiles [n, e, u, ty, tx, o/lanes, lanes]; the output lies as NCHW or NHWC.

    `rows` of tiles share a loop (0: each stage of the whole picture has its own); products are computed in register
    tiles of `vectors` blocks of channels times `columns`.
    """
    stages = _stages(schedule, anchor)
    sizes = [extent(item) for item in site_of(schedule, anchor).block.iter_vars]
    loops = schedule.get_loops(schedule.get_block(stages.output))
    require(
        all(size is not None for size in sizes) and len(loops) == 4 and (sizes[6] or 0) > 1,
        "E-RULE-SHAPE",
        f"{anchor} has symbolic extents, or its weight is not in blocks",
        found=f"{sizes}, {len(loops)} loops around {stages.output}",
        expected="constant extents, a weight as HWOI16o",
        fix="schedule block by block, or pack the weight",
    )
    lanes, channels = (known or 0 for known in sizes[6:])
    vector = whole_lanes(channels, machine.lanes)
    require(
        vector is not None,
        "E-RULE-SHAPE",
        f"{anchor} sums over channels that are no whole vectors",
        found=f"{channels} channels",
        expected="a multiple of four",
        fix="schedule block by block",
    )
    copy = schedule.cache_write(schedule.get_block(anchor), 0, "local")
    outer, at = _output(schedule, stages, loops, rows or 1, lanes)
    _into(schedule, stages.output_rows, at, unrolled=(4,), order=(5, 4), vector=6)
    together = outer if rows else None
    _products(schedule, anchor, copy, together, vectors, columns)
    _data(schedule, stages, together, vector or 1)
    for other in tuple(schedule.state.tree.leaves):
        block_by_itself(schedule, other.name, machine)


def _stages(schedule: Schedule, anchor: str) -> _Stages:
    """The stages of `topi.compute_winograd`, what is elementwise inlined."""
    block = schedule.get_block(anchor)
    tile = _only(schedule.get_producers(block), anchor)
    rows = _only(schedule.get_producers(schedule.get_block(tile)), tile)
    half = _only(schedule.get_consumers(block), anchor)
    pads = [one.target for one in schedule.get_producers(schedule.get_block(rows))]
    inline_elementwise(schedule, keep=frozenset({anchor, tile, rows, half, *pads}))
    output = _only(schedule.get_consumers(schedule.get_block(half)), half)
    require(
        not is_reduction(site_of(schedule, output)),
        "E-RULE-CONSUMERS",
        f"{anchor} is consumed by a reduction",
        found=output,
        expected="one elementwise consumer",
        fix="schedule block by block",
    )
    return _Stages(pads[0] if pads else None, rows, tile, half, output)


def _only(found: list[BlockRV], of: str) -> str:
    require(
        len(found) == 1,
        "E-RULE-CONSUMERS",
        f"{of} has {len(found)} neighbours where the stages of a Winograd convolution have one",
        found=", ".join(one.target for one in found) or "none",
        expected="data_rows, data_tile, conv2d_winograd, output_rows, output",
        fix="schedule block by block",
    )
    return found[0].target


def _output(
    schedule: Schedule, stages: _Stages, loops: list[LoopRV], rows: int, lanes: int
) -> tuple[LoopRV, LoopRV]:
    """Tile the output; the loop over rows of tiles, and the one of a tile and block of channels."""
    items = site_of(schedule, stages.output_rows).block.iter_vars
    m = extent(items[4]) or 1
    last = channels_last(schedule, stages.output, stages.output_rows, axis=3)
    batch, row, column, channel = loops if last else (loops[0], *loops[2:], loops[1])
    row_tile, row_inner = schedule.split(row, factors=[None, m])
    column_tile, column_inner = schedule.split(column, factors=[None, m])
    tile_outer, tile_inner = schedule.split(row_tile, factors=[None, rows])
    block, lane = schedule.split(channel, factors=[None, lanes])
    schedule.reorder(batch, tile_outer, tile_inner, column_tile, block, row_inner, column_inner, lane)
    outer = schedule.fuse(batch, tile_outer)
    schedule.parallel(outer)
    schedule.unroll(column_inner)
    schedule.vectorize(lane)
    return outer, block


def _into(
    schedule: Schedule, name: str, at: LoopRV, unrolled: tuple[int, ...], order: tuple[int, ...], vector: int
) -> None:
    """Compute a block at a loop, its own loops in this order, some of them written out."""
    block = schedule.get_block(name)
    schedule.set_scope(block, 0, "local")
    schedule.compute_at(block, at, preserve_unit_loops=True)
    own = schedule.get_loops(block)[-len(site_of(schedule, name).block.iter_vars) :]
    schedule.reorder(*(own[number] for number in order), own[vector])
    schedule.vectorize(own[vector])
    for number in unrolled:
        schedule.unroll(own[number])


def _products(
    schedule: Schedule, anchor: str, copy: BlockRV, together: LoopRV | None, vectors: int, columns: int
) -> None:
    """A matrix product for each element of a tile, in register tiles: inside the loop, or all of the picture's."""
    if together is not None:
        schedule.compute_at(copy, together, preserve_unit_loops=True)
    *_, batch, e, u, row, column, block, lane = schedule.get_loops(copy)
    column_outer, column_inner = schedule.split(column, factors=[None, columns])
    block_outer, block_inner = schedule.split(block, factors=[None, vectors])
    schedule.reorder(e, u, block_outer, batch, row, column_outer, column_inner, block_inner, lane)
    if together is None:
        schedule.parallel(schedule.fuse(e, u, block_outer))
    accumulate(schedule, schedule.get_block(anchor), column_outer, 6)
    schedule.vectorize(lane)
    schedule.unroll(block_inner)
    schedule.unroll(column_inner)


def _data(schedule: Schedule, stages: _Stages, together: LoopRV | None, vector: int) -> None:
    """The data's transform: a vector of channels of a tile at a time; before it the rows that it reads, padded."""
    block = schedule.get_block(stages.data_tile)
    if together is not None:
        schedule.compute_at(block, together, preserve_unit_loops=True)
    *_, batch, e, u, row, column, channel = schedule.get_loops(block)
    chunk, lane = schedule.split(channel, factors=[None, vector])
    schedule.reorder(batch, row, column, chunk, e, u, lane)
    outer = together
    if outer is None:
        outer = schedule.fuse(batch, row)
        schedule.parallel(outer)
    schedule.vectorize(lane)
    schedule.unroll(u)
    _into(schedule, stages.data_rows, chunk, unrolled=(1,), order=(2, 1), vector=5)
    if stages.pad is not None:
        schedule.compute_at(schedule.get_block(stages.pad), outer, preserve_unit_loops=True)
        *_, last = schedule.get_loops(schedule.get_block(stages.pad))
        _, inner = schedule.split(last, factors=[None, vector])
        schedule.vectorize(inner)
