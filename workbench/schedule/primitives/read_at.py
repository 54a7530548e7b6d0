"""read_at: inside a loop, a block reads a copy of the part of a buffer that one iteration needs."""

from __future__ import annotations

from ..arguments import BufferIndex
from ..composing import after, annotated_block
from ..references import BlockRV, LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState
from .cache_read import cache_read
from .compute_at import compute_at


@primitive(category="cache", suggest={"read_buffer_index": [0, 1], "storage_scope": ["local", "shared"]})
def read_at(
    state: ScheduleState, loop: LoopRV, block: BlockRV, read_buffer_index: BufferIndex, storage_scope: str
) -> Change[BlockRV]:
    """Copy what each iteration of a loop reads of a buffer, at the beginning of the iteration.

    before:  for i, j, k: C[i, j] += A[i, k] * B[k, j]
    after:   for i:                                                  # read_at(i, C, 0, "local")
                 for ax1: A_local[i, ax1] = A[i, ax1]                # the block answered, annotated "auto_copy"
                 for j, k: C[i, j] += A_local[i, k] * B[k, j]

    It is cache_read and compute_at in one.
    Raises `ScheduleError`: what cache_read (for the buffer) and compute_at (for the loop) refuse.
    """
    state.loop(loop)
    between, copy = after(state, cache_read(state, block, read_buffer_index, storage_scope, [block]))
    moved = compute_at(between, copy, loop)
    return Change(annotated_block(moved.func, copy.target, "auto_copy", 1), (copy.target,))
