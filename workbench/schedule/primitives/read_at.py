"""read_at: inside a loop, a block reads a copy of the part of a buffer that one iteration needs."""

from __future__ import annotations

from ..arguments import BufferIndex
from ..composing import after, annotated_block
from ..errors import IllegalError
from ..inner_scopes import run_in_loop
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

    It is cache_read and compute_at in one; what is written in the loop is copied between its writer and the block.
    Raises `ScheduleError`: what cache_read (for the buffer) and compute_at (for the loop) refuse.
    """
    state.loop(loop)
    def copied(around: ScheduleState) -> Change[BlockRV]:
        return cache_read(around, block, read_buffer_index, storage_scope, [block])

    try:
        between, copy = after(state, copied(state))
        name, func = copy.target, compute_at(between, copy, loop).func
    except IllegalError as refusal:
        made = run_in_loop(state, block, loop, copied, refusal)
        name, func = str(made.made[0]), made.func
    return Change(annotated_block(func, name, "auto_copy", 1), (name,))
