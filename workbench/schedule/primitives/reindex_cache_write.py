"""reindex_cache_write: a block writes a buffer laid out by a map of its iterators, which is copied back."""

from __future__ import annotations

from ...arith.scope import variables_in
from ...tir import nodes as t
from ...tir.index_map import IndexMap
from ..arguments import BufferIndex
from ..blocks import require_leaf, written_buffer
from ..caching import require_scope
from ..errors import require
from ..references import BlockRV
from ..registry import primitive
from ..reindexing import by_map, only_access, require_one_way
from ..state import Change, ScheduleState
from .reindex import moved_write
from .reindex_cache_read import MAPS


@primitive(
    category="cache",
    in_loops=True,
    suggest={"write_buffer_index": [0], "storage_scope": ["local", "global"], "index_map": MAPS},
)
def reindex_cache_write(
    state: ScheduleState, block: BlockRV, write_buffer_index: BufferIndex, storage_scope: str, index_map: IndexMap
) -> Change[BlockRV]:
    """Let a block write a buffer whose indices are index_map(the block's iterators), and copy it back afterwards.

    before:  for i, j, k: C[vi, vj] += A[vi, vk] * B[vk, vj]
    after:   for i, j, k: C_local[vj, vi] += A[vi, vk] * B[vk, vj]
             for ax0, ax1: C[v0, v1] = C_local[v1, v0]              # lambda i, j, k: (j, i); the block answered

    Raises `ScheduleError`: a map that uses reduction iterators, leaves out an iterator of the access or does not tell
    its points apart, and what cache_write refuses.
    """
    site = state.block(block)
    require_leaf(state, site, "cache what is written by")
    require_scope(storage_scope)
    old = written_buffer(state, block, write_buffer_index)
    require_one_way(site, old)
    moved = by_map(site, only_access(site, old, "writes"), index_map)
    reduced = {id(item.var): item.var.name for item in site.block.iter_vars if item.kind is not t.IterKind.SPATIAL}
    wrong = {reduced[id(var)] for output in moved.new_indices for var in variables_in(output) if id(var) in reduced}
    require(
        not wrong,
        "E-SCHEDULE-MAP-REDUCES",
        f"the index map uses reduction iterators of {site.name}: {', '.join(sorted(wrong))}",
        found=index_map.text,
        expected="outputs of spatial iterators",
        fix="leave them out: a sum has one place",
        nodes=(site.block,),
    )
    return moved_write(state, site, old, moved, storage_scope, storage_scope.replace(".", "_"))
