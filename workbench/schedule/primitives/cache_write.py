"""cache_write: a block writes a buffer of its own, which is copied to where it wrote before."""

from __future__ import annotations

from ...analysis.bindings import binding_facts
from ...analysis.tree import Tree
from ...core import origin
from ...core.node import substitute
from ...tir import nodes as t
from ..arguments import Index
from ..blocks import require_regular, written_buffer
from ..caching import copy_block, top_statement, written_box
from ..legality import require_legal
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import Names, Replacement, replaced


@primitive(category="cache", suggest={"write_buffer_index": [0], "storage_scope": ["local", "global"]})
def cache_write(state: ScheduleState, block: BlockRV, write_buffer_index: Index, storage_scope: str) -> Change[BlockRV]:
    """Let a block write a new buffer, and copy that to the old one after the block's loops.

    before:  for i, j: C[i, j] = ...
    after:   for i, j: C_local[i, j] = ...
             for ax0, ax1: C[ax0, ax1] = C_local[ax0, ax1]          # the block answered

    Raises `ScheduleError`: other writers of the buffer, readers in the same loops, a block that does not run through
    its domain.
    """
    site = state.block(block)
    require_regular(state, site, "cache what is written by")
    old = written_buffer(state, block, write_buffer_index)
    top = top_statement(state, site)
    for other in state.tree.accessing(old):
        require_legal(
            state,
            other is site or all(part is not top for part in (*other.path, other.realize)),
            "E-SCHEDULE-CACHE-SHARED",
            f"{other.name} uses {old.name} inside the same loops as {site.name}",
            found=f"a reader that would come before the copy into {old.name}",
            expected="readers after the loops",
            fix="cache before moving blocks together",
            nodes=(other.block, site.block),
        )
    require_legal(
        state,
        binding_facts(site).covers,
        "E-SCHEDULE-PARTIAL",
        f"cannot show that {site.name} runs through all of its domain",
        found="loops that may leave elements out",
        expected="a block that writes everything it is declared to",
        fix="cache before splitting or moving",
        nodes=(site.block,),
    )
    names = Names(state.tree.names())
    new = old.replace(
        name=names.fresh(f"{old.name}_{storage_scope.replace('.', '_')}"), scope=storage_scope, strides=()
    )
    region = next(region for region in site.block.writes if region.buffer is old)
    copied = copy_block(
        names.fresh(f"{old.name}_{storage_scope.replace('.', '_')}_copy"), new, old, written_box(site.block, region)
    )
    origin.derived(copied[0], site.block)
    changed = substitute(site.block, {old: new})
    func = replaced(state.func, {id(site.block): changed})
    after = Tree.of(func)
    now = after.blocks[site.name]
    position = next(part for part in (*now.path[2:], now.realize) if not isinstance(part, t.SeqStmt))
    func = replaced(func, {id(position): (position, copied[0])})
    root = Tree.of(func).root
    changes: dict[int, Replacement] = {id(root): root.replace(alloc_buffers=(*root.alloc_buffers, new))}
    return Change(replaced(func, changes), (copied[1],))
