"""reindex_cache_read: a block reads a copy laid out by a map of its iterators."""

from __future__ import annotations

from ...tir.index_map import IndexMap
from ..arguments import BufferIndex
from ..blocks import read_buffer, require_leaf
from ..caching import require_scope
from ..references import BlockRV
from ..registry import primitive
from ..reindexing import by_map, only_access, require_one_way
from ..state import Change, ScheduleState
from .reindex import moved_read

MAPS = (
    "lambda i, j: (j, i)",
    "lambda i, j: (i, j)",
    "lambda i, j, k: (k, i)",
    "lambda i, j, k: (j // 2, k, j % 2)",
    "lambda i, j, k: (j, i)",
    "lambda i: (i // 2, i % 2)",
    "lambda o, y, x, c, ky, kx: (c, y + ky, x + kx)",
    "lambda o, y, x, c, ky, kx: (o, c, ky * 3 + kx)",
)
"""Maps worth trying."""


@primitive(
    category="cache",
    in_loops=True,
    suggest={"read_buffer_index": [0, 1], "storage_scope": ["local", "global"], "index_map": MAPS},
)
def reindex_cache_read(
    state: ScheduleState, block: BlockRV, read_buffer_index: BufferIndex, storage_scope: str, index_map: IndexMap
) -> Change[BlockRV]:
    """Let a block read a copy whose indices are index_map(the block's iterators), made before its loops.

    before:  for i, j, k: C[vi, vj] += A[vi, vk] * B[vk, vj]
    after:   for ax0, ax1: A_local[v1, v0] = A[v0, v1]              # lambda i, j, k: (k, i); the block answered
             for i, j, k: C[vi, vj] += A_local[vk, vi] * B[vk, vj]

    Raises `ScheduleError`: a map that leaves out an iterator of the access or does not tell its points apart,
    accesses at several places, indices that leave the buffer, and what cache_read refuses.
    """
    site = state.block(block)
    require_leaf(state, site, "cache what is read by")
    require_scope(storage_scope)
    old = read_buffer(state, block, read_buffer_index)
    require_one_way(site, old)
    moved = by_map(site, only_access(site, old, "reads"), index_map)
    return moved_read(state, site, old, moved, storage_scope, storage_scope.replace(".", "_"))
