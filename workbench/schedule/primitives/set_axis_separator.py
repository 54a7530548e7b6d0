"""set_axis_separator: where a buffer's axes part into separately addressed groups."""

from __future__ import annotations

import itertools
from typing import Any

from ...core.node import rewrite
from ...tir import nodes as t
from ..arguments import BufferChoice, Index
from ..blocks import chosen_buffer
from ..errors import require
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState


@primitive(category="cache", suggest={"buffer": [("own", 0), ("write", 0)], "axis_separators": [[1], [], [2]]})
def set_axis_separator(
    state: ScheduleState, block: BlockRV, buffer: BufferChoice, axis_separators: list[Index]
) -> Change[None]:
    """Say before which axes of a buffer a new group begins, for targets whose memory has several dimensions.

    before:  C = T.alloc_buffer((4, 6, 8))
    after:   C = T.alloc_buffer((4, 6, 8), axis_separators=(1,))        # set_axis_separator(C, ("write", 0), [1])

    The program means the same.  LLVM's memory has one dimension: its builds flatten all groups into one.
    Raises `ScheduleError`: positions that are not increasing, or not between two axes.
    """
    site = state.block(block)
    old = chosen_buffer(state, site, buffer)
    rank = len(old.shape)
    increasing = all(one < other for one, other in itertools.pairwise(axis_separators))
    require(
        increasing and all(0 < position < rank for position in axis_separators),
        "E-SCHEDULE-SEPARATOR",
        f"axis separators stand between two axes of {old.name}, in increasing order",
        found=str(list(axis_separators)),
        expected=f"positions from 1 to {rank - 1}" if rank > 1 else f"none: {old.name} has {rank} axes",
        fix="[1] separates the first axis from the others" if rank > 1 else "leave the list empty",
        nodes=(site.block,),
    )
    new = old.replace(axis_separators=tuple(axis_separators))

    def exchanged(node: Any) -> Any:
        return (new if node is old else node) if isinstance(node, t.Buffer) else None

    return Change(state.func if new is old else rewrite(state.func, lambda node: None, exchanged))
