"""Dense layers and matrix products: a register tile of rows times vectors of columns.

for jo, io in parallel:
    C_local[rows, vectors, lanes] = 0
    for k: C_local[i, v, :] += A[io + i, k] * B[k, v, :]
    C[...] = epilogue(C_local)
"""

from __future__ import annotations

from ...analysis.tree import BlockSite
from ...tir import nodes as t
from ..errors import require
from ..references import LoopRV
from ..schedule import Schedule
from .generic import block_by_itself
from .shapes import Machine, extent, iterations, of_kind, site_of, unit_stride
from .tiles import accumulate, output_of


def product(
    schedule: Schedule, anchor: str, machine: Machine, vectors: int, height: int, lanes: int, dot: str = ""
) -> None:
    """Schedule a product whose columns are contiguous in its second operand, or packed in blocks of `lanes`: in tiles
    of `height` rows times vectors of `lanes` columns.

    `dot`: the tensor intrinsic that computes a vector of columns times the last reduction iterator.
    """
    output = output_of(schedule, anchor)
    site = site_of(schedule, anchor)
    spatial = of_kind(site.block.iter_vars, t.IterKind.SPATIAL)
    sizes = [extent(site.block.iter_vars[number]) for number in spatial]
    out_site = site_of(schedule, output.target)
    packed = len(spatial) == len(out_site.block.iter_vars) + 1
    column = site.block.iter_vars[spatial[-1]]
    in_order = bool(dot) or unit_stride(site, column)
    require(
        all(size is not None for size in sizes) and in_order and len(out_site.loops) >= 1,
        "E-RULE-SHAPE",
        f"{anchor} has no contiguous columns of known extent",
        found="symbolic extents, or columns that are apart in memory",
        expected="constant extents, columns side by side",
        fix="schedule block by block, or pack the weight",
    )
    loops = schedule.get_loops(output)
    tiled(schedule, site, loops, height, vectors * lanes, lanes, packed, dot)
    for other in tuple(schedule.state.tree.leaves):
        if other.name not in (anchor, output.target, f"{anchor}_init"):
            block_by_itself(schedule, other.name, machine)


def tiled(
    schedule: Schedule,
    site: BlockSite,
    loops: list[LoopRV],
    height: int,
    width: int,
    lanes: int,
    packed: bool,
    dot: str = "",
) -> None:
    """Tile the consumer's last two loops, parallel tiles, accumulate the product in each."""
    column_outer, column_inner = schedule.split(loops[-1], factors=[None, width])
    outside = list(loops[:-2])
    inside: list[LoopRV] = []
    if len(loops) > 1:
        row_outer, row_inner = schedule.split(loops[-2], factors=[None, height])
        outside.append(row_outer)
        inside.append(row_inner)
    rows_outer = outside[len(loops) - 2 :]
    batch = outside[: len(loops) - 2]
    order = [*batch, column_outer, *rows_outer]
    schedule.reorder(*order, *inside, column_inner)
    tile = schedule.fuse(*order)
    if iterations(site) >= 65536:
        schedule.parallel(tile)
    _, vector = schedule.split(column_inner, factors=[None, lanes])
    block = schedule.get_block(site.name)
    if packed:
        accumulate(schedule, block, tile, of_kind(site.block.iter_vars, t.IterKind.SPATIAL)[-1], dot=dot)
    else:
        _accumulate_plain(schedule, site, tile, lanes)
    schedule.vectorize(vector)


def _accumulate_plain(schedule: Schedule, site: BlockSite, tile: LoopRV, lanes: int) -> None:
    block = schedule.get_block(site.name)
    schedule.compute_at(block, tile, preserve_unit_loops=True)
    items = site_of(schedule, site.name).block.iter_vars
    own = schedule.get_loops(block)[-len(items) :]
    spatial = [own[number] for number in of_kind(items, t.IterKind.SPATIAL)]
    reduced = [own[number] for number in of_kind(items, t.IterKind.REDUCE)]
    outer, vector = schedule.split(spatial[-1], factors=[None, lanes])
    schedule.reorder(*reduced, *spatial[:-1], outer, vector)
    schedule.vectorize(vector)
    for loop in (*spatial[:-1], outer):
        schedule.unroll(loop)
    schedule.decompose_reduction(block, reduced[0])
