"""The register tile: a reduction computed into local accumulators inside a tile of what consumes it."""

from __future__ import annotations

from ...tir import nodes as t
from ..errors import require
from ..references import BlockRV, LoopRV
from ..schedule import Schedule
from .generic import inline_elementwise
from .shapes import extent, is_reduction, site_of


def output_of(schedule: Schedule, anchor: str, keep: tuple[str, ...] = ()) -> BlockRV:
    """The one block that consumes the anchor, elementwise stages inlined into it; a copy if the anchor is last.

    `keep`: stages that are not inlined.

    Raises `ScheduleError` if the anchor has several consumers or one that reduces.
    """
    inline_elementwise(schedule, keep=frozenset({anchor, *keep}))
    block = schedule.get_block(anchor)
    consumers = schedule.get_consumers(block)
    if not consumers:
        return schedule.cache_write(block, 0, "local")
    require(
        len(consumers) == 1 and not is_reduction(site_of(schedule, consumers[0].target)),
        "E-RULE-CONSUMERS",
        f"{anchor} is consumed by {len(consumers)} blocks",
        found=", ".join(consumer.target for consumer in consumers),
        expected="one elementwise consumer",
        fix="schedule block by block",
    )
    schedule.set_scope(block, 0, "local")
    return consumers[0]


def loops_of_pictures(
    schedule: Schedule, anchor: str, output: BlockRV, blocks: bool = False
) -> tuple[list[int], list[LoopRV]]:
    """The extents of the anchor's iterators, and the four loops around its output; `blocks`: or five, where the output
    lies as the anchor's sums do.

    Raises `ScheduleError` where an extent is symbolic, or the output has another number of axes.
    """
    sizes = [extent(item) for item in site_of(schedule, anchor).block.iter_vars]
    known = [size for size in sizes if size is not None]
    loops = schedule.get_loops(output)
    require(
        len(known) == len(sizes) and (len(loops) == 4 or (blocks and in_step(schedule, anchor, output, 5))),
        "E-RULE-SHAPE",
        f"{anchor} has symbolic extents or another layout",
        found=f"{len(loops)} loops around {output.target}",
        expected="constant extents, NCHW or NHWC",
        fix="schedule block by block",
    )
    return known, loops


def in_step(schedule: Schedule, anchor: str, output: BlockRV, axes: int) -> bool:
    """Whether the iterators of the output, so many, are those of the sums that it reads."""
    block, sums = site_of(schedule, output.target).block, site_of(schedule, anchor).block.writes[0].buffer
    places = [region.region for region in block.reads if region.buffer is sums]
    variables = [item.var for item in block.iter_vars]
    return len(variables) == axes and all([axis.min for axis in place] == variables for place in places)


def accumulate(
    schedule: Schedule,
    block: BlockRV,
    at: LoopRV,
    vector: int,
    reduce_unroll: int = 1,
    inside: int | None = None,
    dot: str = "",
    lanes: int = 0,
) -> None:
    """Compute the reduction at a loop of its consumer: reduction loops outside, the tile unrolled, vectors inside.

    `vector` is the number of the iterator that becomes vectors, `inside` that of the one whose loop is next to it:
    a number is then broadcast once for all its vectors, which stay in registers, and is not needed any more.
    Reduction loops whose extents multiply to at most `reduce_unroll` are unrolled, innermost first.
    `lanes`: of a vector; all of its loop is one without.  `dot`: a tensor intrinsic computes a vector and the last
    reduction loop, which is inside it then.
    """
    schedule.compute_at(block, at, preserve_unit_loops=True)
    site = site_of(schedule, block.target)
    items = site.block.iter_vars
    own = schedule.get_loops(block)[-len(items) :]
    tile = [own[number] for number, item in enumerate(items) if item.kind is t.IterKind.SPATIAL and number != vector]
    if inside is not None:
        tile.append(tile.pop(tile.index(own[inside])))
    reduced = [own[number] for number, item in enumerate(items) if item.kind is t.IterKind.REDUCE]
    part = [reduced.pop()] if dot else []
    inner = own[vector]
    if lanes:
        outer, inner = schedule.split(inner, factors=[None, lanes])
        tile.append(outer)
    schedule.reorder(*reduced, *tile, inner, *part)
    if not dot:
        schedule.vectorize(inner)
    budget = reduce_unroll
    for loop in tile:
        schedule.unroll(loop)
    for loop in reversed(reduced):
        size = getattr(schedule.get(loop).extent, "value", None)
        if not isinstance(size, int) or size > budget:
            break
        budget //= max(size, 1)
        schedule.unroll(loop)
    init = schedule.decompose_reduction(block, reduced[0])
    if dot:
        schedule.vectorize(schedule.get_loops(init)[-1])
        schedule.tensorize(inner, dot)
