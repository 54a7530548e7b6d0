"""cache_read: blocks read a copy of a buffer."""

from __future__ import annotations

from typing import Any

from ...analysis.tree import BlockSite
from ...core import origin
from ...core.node import substitute
from ...tir import nodes as t
from ..arguments import BufferIndex
from ..blocks import read_buffer, require_leaf
from ..caching import allocating, available_box, cache_buffer, copy_block, placed_before
from ..errors import require
from ..exact import doubting, settle
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import Names, replaced


def _since_consumers(arguments: dict[str, Any]) -> dict[str, Any]:
    """Version 1 let only `block` read the copy."""
    return {**arguments, "consumer_blocks": (arguments["block"],)} if "block" in arguments else arguments


@primitive(
    category="cache",
    in_loops=True,
    version=2,
    suggest={"read_buffer_index": [0, 1], "storage_scope": ["local", "global"]},
    migrations={1: _since_consumers},
)
def cache_read(
    state: ScheduleState,
    block: BlockRV,
    read_buffer_index: BufferIndex,
    storage_scope: str,
    consumer_blocks: list[BlockRV] | None = None,
) -> Change[BlockRV]:
    """Let blocks read a copy of a buffer that `block` reads, made before their loops.

    before:  for i, j: C[i, j] = A[i, j] * 2
    after:   for ax0, ax1: A_local[ax0, ax1] = A[ax0, ax1]          # the block answered
             for i, j: C[i, j] = A_local[i, j] * 2

    `consumer_blocks` are those that read the copy; without them, all that read the buffer.
    Raises `ScheduleError`: a buffer that is written in or after these loops, or not written as a whole, a consumer
    that does not read it.
    """
    site = state.block(block)
    require_leaf(state, site, "cache what is read by", around=True)
    old = read_buffer(state, block, read_buffer_index)
    consumers = chosen_readers(state, old, site, consumer_blocks)
    writing = any(region.buffer is old for other in consumers for region in other.block.writes)
    working = state if writing else doubting(state)
    box = available_box(working, old, consumers)
    names = Names(state.tree.names())
    new = cache_buffer(old, storage_scope, names)
    placed, name = copy_block(names.fresh(f"{new.name}_copy"), old, new, box)
    origin.derived(placed, site.block)
    func = replaced(state.func, {id(item.block): substitute(item.block, {old: new}) for item in consumers})
    earliest = min(consumers, key=lambda item: item.order)
    func = allocating(placed_before(func, earliest.name, placed), new)
    settle(state, working, func, copies=(name,), aliases={id(new): old})
    return Change(func, (name,))


def chosen_readers(
    state: ScheduleState, old: t.Buffer, site: BlockSite, given: list[BlockRV] | None
) -> list[BlockSite]:
    """The sites of consumer blocks, or of all blocks that read a buffer and do not write it."""
    if not given:
        written = {other.name for other in state.tree.writers(old)}
        readers = [other for other in state.tree.readers(old) if other is not site and other.name not in written]
        found = [site, *(other for other in readers if _reads(other, old))]
    else:
        found = list({id(state.block(item).block): state.block(item) for item in given}.values())
    for other in found:
        require(
            _reads(other, old),
            "E-SCHEDULE-CACHE-CONSUMER",
            f"{other.name} does not read {old.name}",
            found=f"it reads {', '.join(region.buffer.name for region in other.reads) or 'nothing'}",
            expected=f"consumers of {old.name}: {', '.join(item.name for item in state.tree.readers(old)) or 'none'}",
            fix="leave consumer_blocks out for all of them",
            nodes=(other.block,),
        )
        require_leaf(state, other, "cache what is read by", around=True)
    return found


def _reads(site: BlockSite, buffer: t.Buffer) -> bool:
    """Whether a block itself reads a buffer, and not only what decides whether it runs, or a sum its own result."""
    declared = {id(region) for region in site.block.reads}
    return any(region.buffer is buffer and id(region) in declared for region in site.reads)
