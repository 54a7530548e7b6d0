"""cache_write: a block writes a buffer of its own, which is copied to where it wrote before."""

from __future__ import annotations

from ...analysis.tree import BlockSite
from ...arith.scope import are_equal, number_of
from ...core import origin
from ...core.node import substitute
from ...tir import nodes as t
from ..arguments import BufferIndex
from ..blocks import require_overwriting, require_regular, written_buffer
from ..caching import Box, allocating, cache_buffer, copy_block, filled_box, placed_after, require_alone_in_loops
from ..exact import doubting, settle
from ..kinds import require_still_independent
from ..legality import require_legal
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import Names, replaced
from .cache_read import chosen_readers


@primitive(category="cache", in_loops=True, suggest={"write_buffer_index": [0], "storage_scope": ["local", "global"]})
def cache_write(
    state: ScheduleState,
    block: BlockRV,
    write_buffer_index: BufferIndex,
    storage_scope: str,
    consumer_blocks: list[BlockRV] | None = None,
) -> Change[BlockRV]:
    """Let a block write a new buffer, and copy that to the old one after the block's loops.

    before:  for i, j: C[i, j] = ...
    after:   for i, j: C_local[i, j] = ...
             for ax0, ax1: C[ax0, ax1] = C_local[ax0, ax1]          # the block answered

    `consumer_blocks` read the new buffer; all others read the old one.
    Raises `ScheduleError`: other writers of the buffer, readers in the same loops, a block that does not run through
    its domain, a consumer that does not read the buffer.
    """
    site = state.block(block)
    working = doubting(state)
    old = written_buffer(state, block, write_buffer_index)
    consumers = chosen_readers(state, old, site, consumer_blocks) if consumer_blocks else []
    if consumers:
        require_regular(working, site, "cache what is written by")
    else:
        require_overwriting(working, site, "cache what is written by", once=False)
    parameter = any(old is item for item in state.func.params)
    require_alone_in_loops(working, site, old, () if parameter else consumers)
    names = Names(state.tree.names())
    new = cache_buffer(old, storage_scope, names)
    region = next(region for region in site.block.writes if region.buffer is old)
    box = filled_box(state, site, region)
    _require_after(working, site, consumers)
    if parameter and consumers:
        _require_whole(working, site, old, box)
    placed, name = copy_block(names.fresh(f"{new.name}_copy"), new, old, box)
    origin.derived(placed, site.block)
    func = replaced(state.func, {id(item.block): substitute(item.block, {old: new}) for item in (site, *consumers)})
    func = allocating(placed_after(func, site.name, placed), new)
    settle(state, working, func, copies=(name,), aliases={id(new): old})
    require_still_independent(state, func, [new])
    return Change(func, (name,))


def _require_after(state: ScheduleState, site: BlockSite, consumers: list[BlockSite]) -> None:
    for other in consumers:
        require_legal(
            state,
            other.order > site.order,
            "E-SCHEDULE-READ-BEFORE",
            f"{other.name} reads {site.block.writes[0].buffer.name} before {site.name} writes it",
            found="a read of older values",
            expected="consumers after the block",
            fix=f"leave {other.name} out of consumer_blocks",
            nodes=(other.block, site.block),
        )


def _require_whole(state: ScheduleState, site: BlockSite, old: t.Buffer, box: Box) -> None:
    """A parameter's elements that the block does not write are the caller's: the cache would not have them."""
    whole = all(
        number_of(low) == 0 and are_equal(count, extent)
        for (low, count), extent in zip(box, old.shape, strict=True)
    )
    require_legal(
        state,
        whole,
        "E-SCHEDULE-PARTIAL",
        f"{site.name} does not write all of {old.name}, so its consumers may read what the caller passed",
        found="a part of a parameter",
        expected="a block that writes the whole buffer",
        fix="leave consumer_blocks out",
        nodes=(site.block,),
    )
