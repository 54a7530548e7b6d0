"""storage_align: the distance between rows of a buffer, as a multiple and an offset."""

from __future__ import annotations

from typing import Any

from ...tir import nodes as t
from ..arguments import BufferIndex, Factor, Index, Offset
from ..blocks import distinct_buffers, written_buffer
from ..errors import require
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import replaced

KEY = "buffer_dim_align"
"""The annotation: rows of (number of the buffer among the block's writes, axis, factor, offset)."""


@primitive(category="annotation", suggest={"buffer_index": [0], "axis": [0, -2], "factor": [8, 16], "offset": [0, 1]})
def storage_align(
    state: ScheduleState, block: BlockRV, buffer_index: BufferIndex, axis: Index, factor: Factor, offset: Offset
) -> Change[None]:
    """Pad the rows of a buffer that a block writes: the stride of `axis` becomes `factor` * n + `offset` elements.

    before:  with T.block("C"): C[vi, vj] = ...                      # C is (4, 6), allocated by the function
    after:   with T.block("C"): T.block_attr({"buffer_dim_align": [[0, 0, 8, 1]]}); C[vi, vj] = ...
             # storage_align(C, 0, 0, 8, 1): when lowered, C has strides (9, 1)

    The program means the same; only the storage that FlattenBuffer lays out changes.
    Raises `ScheduleError`: no such buffer or axis, a parameter (its storage is the caller's), an offset that is not
    below the factor.
    """
    site = state.block(block)
    buffer = written_buffer(state, block, buffer_index)
    require(
        any(buffer is item for item in state.tree.root.alloc_buffers),
        "E-SCHEDULE-ALIGN-PARAMETER",
        f"the storage of {buffer.name} is not the function's to lay out",
        found="a parameter of the function",
        expected="a buffer that the function allocates",
        fix=f'cache_write("{site.name}", 0, "global") gives the block a buffer of its own',
        nodes=(site.block,),
    )
    rank = len(buffer.shape)
    require(
        -rank <= axis < rank,
        "E-SCHEDULE-ALIGN-AXIS",
        f"{buffer.name} has no axis {axis}",
        found=f"{rank} axes",
        expected=f"{-rank} to {rank - 1}" if rank else "a buffer with axes",
        fix="count axes from 0",
        nodes=(site.block,),
    )
    require(
        0 <= offset < factor,
        "E-SCHEDULE-ALIGN-OFFSET",
        "an offset lies below its factor",
        found=f"factor {factor}, offset {offset}",
        expected=f"0 to {factor - 1}",
        fix=f"use offset {offset % factor}",
        nodes=(site.block,),
    )
    number = next(number for number, other in enumerate(distinct_buffers(site.block.writes)) if other is buffer)
    row = (number, axis % rank, factor, offset)
    return Change(replaced(state.func, {id(site.block): with_row(site.block, row)}))


def with_row(block: t.Block, row: tuple[int, int, int, int]) -> t.Block:
    """`block` with one row of the annotation added, in place of one on the same axis."""
    rows: tuple[Any, ...] = block.annotations.get(KEY, ())
    kept = tuple(other for other in rows if tuple(other[:2]) != row[:2])
    return block.replace(annotations=block.annotations.set(KEY, (*kept, row)))
