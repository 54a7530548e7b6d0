"""The register tile: a reduction computed into local accumulators inside a tile of what consumes it."""

from __future__ import annotations

from ...tir import nodes as t
from ..errors import require
from ..references import BlockRV, LoopRV
from ..schedule import Schedule
from .generic import inline_elementwise
from .shapes import is_reduction, site_of


def output_of(schedule: Schedule, anchor: str) -> BlockRV:
    """The one block that consumes the anchor, elementwise stages inlined into it; a copy if the anchor is last.

    Raises `ScheduleError` if the anchor has several consumers or one that reduces.
    """
    inline_elementwise(schedule, keep=frozenset({anchor}))
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


def accumulate(schedule: Schedule, block: BlockRV, at: LoopRV, vector: int, reduce_unroll: int = 1) -> None:
    """Compute the reduction at a loop of its consumer: reduction loops outside, the tile unrolled, vectors inside.

    `vector` is the number of the iterator that becomes vectors; reduction loops whose extents multiply to at most
    `reduce_unroll` are unrolled, innermost first.
    """
    schedule.compute_at(block, at, preserve_unit_loops=True)
    site = site_of(schedule, block.target)
    items = site.block.iter_vars
    own = schedule.get_loops(block)[-len(items) :]
    tile = [own[number] for number, item in enumerate(items) if item.kind is t.IterKind.SPATIAL and number != vector]
    reduced = [own[number] for number, item in enumerate(items) if item.kind is t.IterKind.REDUCE]
    schedule.reorder(*reduced, *tile, own[vector])
    schedule.vectorize(own[vector])
    budget = reduce_unroll
    for loop in tile:
        schedule.unroll(loop)
    for loop in reversed(reduced):
        size = getattr(schedule.get(loop).extent, "value", None)
        if not isinstance(size, int) or size > budget:
            break
        budget //= max(size, 1)
        schedule.unroll(loop)
    schedule.decompose_reduction(block, reduced[0])
