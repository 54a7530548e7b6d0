"""write_at: inside a loop, a block writes a buffer of its own, copied out at the end of each iteration."""

from __future__ import annotations

from ..arguments import BufferIndex
from ..composing import after, annotated_block
from ..errors import IllegalError
from ..inner_scopes import run_in_loop
from ..references import BlockRV, LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState
from .cache_write import cache_write
from .reverse_compute_at import reverse_compute_at


@primitive(category="cache", suggest={"write_buffer_index": [0], "storage_scope": ["local", "shared"]})
def write_at(
    state: ScheduleState, loop: LoopRV, block: BlockRV, write_buffer_index: BufferIndex, storage_scope: str
) -> Change[BlockRV]:
    """Let a block write a buffer of its own, and copy what each iteration of a loop has made at its end.

    before:  for i, j, k: C[i, j] += A[i, k] * B[k, j]
    after:   for i:                                                  # write_at(i, C, 0, "local")
                 for j, k: C_local[i, j] += A[i, k] * B[k, j]
                 for ax1: C[i, ax1] = C_local[i, ax1]                # the block answered, annotated "auto_copy"

    It is cache_write and reverse_compute_at in one; what is read in the loop is copied out before its readers there.
    Raises `ScheduleError`: what cache_write (for the buffer) and reverse_compute_at (for the loop) refuse.
    """
    state.loop(loop)
    def copied(around: ScheduleState) -> Change[BlockRV]:
        return cache_write(around, block, write_buffer_index, storage_scope)

    try:
        between, copy = after(state, copied(state))
        name, func = copy.target, reverse_compute_at(between, copy, loop).func
    except IllegalError as refusal:
        made = run_in_loop(state, block, loop, copied, refusal)
        name, func = str(made.made[0]), made.func
    return Change(annotated_block(func, name, "auto_copy", 1), (name,))
