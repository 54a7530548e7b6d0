"""reindex: a block touches a buffer in the order of its own iterators."""

from __future__ import annotations

from ...analysis.flow_model import Moved
from ...analysis.tree import BlockSite
from ...core import origin
from ...tir import nodes as t
from ..arguments import BufferChoice
from ..blocks import chosen_buffer, require_leaf, require_overwriting
from ..caching import allocating, available_box, placed_after, placed_before, require_alone_in_loops, require_covering
from ..exact import doubting, settle
from ..kinds import require_still_independent
from ..references import BlockRV
from ..registry import primitive
from ..reindexing import (
    Reindexed,
    by_iterators,
    copying,
    fresh_buffer,
    only_access,
    require_inside,
    require_one_way,
    run_through,
    unused,
    whole,
    with_access,
)
from ..state import Change, ScheduleState
from ..surgery import replaced


@primitive(category="cache", in_loops=True, suggest={"buffer": [("read", 0), ("read", 1), ("write", 0)]})
def reindex(state: ScheduleState, block: BlockRV, buffer: BufferChoice) -> Change[BlockRV]:
    """Let a block read (or write) a copy of a buffer whose axes are the block's iterators.

    before:  for i, j, k: C[vi, vj] += A[vk, vi] * B[vj, vk]
    after:   for ax0, ax1: A_reindex[v0, v1] = A[v1, v0]            # the block answered; reindex(C, ("read", 0))
             for i, j, k: C[vi, vj] += A_reindex[vi, vk] * B[vj, vk]

    What is written is copied back after the block's loops.
    Raises `ScheduleError`: accesses at several places, indices that leave the buffer where a condition guards them,
    and what cache_read or cache_write refuse.
    """
    site = state.block(block)
    require_leaf(state, site, "reindex what is touched by")
    old = chosen_buffer(state, site, buffer)
    writes = require_one_way(site, old)
    moved = by_iterators(site, only_access(site, old, "writes" if writes else "reads"))
    return (
        moved_write(state, site, old, moved, old.scope, "reindex")
        if writes
        else moved_read(state, site, old, moved, old.scope, "reindex")
    )


def moved_read(
    state: ScheduleState, site: BlockSite, old: t.Buffer, moved: Reindexed, scope: str, suffix: str
) -> Change[BlockRV]:
    """A copy before the loops of `site`, which reads it at the new indices."""
    working = doubting(state)
    points = run_through(state, site, moved, False) or whole(moved)
    require_inside(state, site, moved, points, available_box(working, old, [site]), old)
    names = unused(state)
    new = fresh_buffer(old, names.fresh(f"{old.name}_{suffix}"), scope, moved.shape)
    name = names.fresh(f"{new.name}_copy")
    placed = origin.derived(copying(name, old, new, moved, points, names, True), site.block)
    func = replaced(state.func, {id(site.block): with_access(site.block, old, new, moved)})
    func = allocating(placed_before(func, site.name, placed), new)
    held = Moved(old, moved.iter_vars, moved.old_indices, moved.new_indices)
    settle(state, working, func, copies=(name,), aliases={id(new): held})
    return Change(func, (name,))


def moved_write(
    state: ScheduleState, site: BlockSite, old: t.Buffer, moved: Reindexed, scope: str, suffix: str
) -> Change[BlockRV]:
    """`site` writes at the new indices; a copy after its loops puts the elements where they were."""
    working = doubting(state)
    require_overwriting(working, site, "reindex what is written by", once=True)
    require_alone_in_loops(working, site, old)
    points = run_through(state, site, moved, True)
    if points is None:
        require_covering(working, site)
        points = whole(moved)
    names = unused(state)
    new = fresh_buffer(old, names.fresh(f"{old.name}_{suffix}"), scope, moved.shape)
    name = names.fresh(f"{new.name}_copy")
    placed = origin.derived(copying(name, new, old, moved, points, names, False), site.block)
    func = replaced(state.func, {id(site.block): with_access(site.block, old, new, moved)})
    func = allocating(placed_after(func, site.name, placed), new)
    settle(state, working, func, copies=(name,))
    require_still_independent(state, func, [new])
    return Change(func, (name,))
