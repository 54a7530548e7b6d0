"""unsafe_hide_buffer_access: a block no longer declares some of what it touches."""

from __future__ import annotations

from typing import Literal

from ...tir import nodes as t
from ...tir.verify import HIDDEN
from ..arguments import Index
from ..blocks import read_buffer, require_leaf, written_buffer
from ..errors import require
from ..layouts import marked_unsafe
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import replaced


@primitive(category="annotation", suggest={"buf_type": ["read", "write"], "buf_index_array": [[]]})
def unsafe_hide_buffer_access(
    state: ScheduleState, block: BlockRV, buf_type: Literal["read", "write"], buf_index_array: list[Index]
) -> Change[None]:
    """Take buffers out of what a block declares to read or write, so that no later question considers them.

    before:  T.reads(A[vi], B[vi])
    after:   T.reads(A[vi])                                      # unsafe_hide_buffer_access(C, "read", [1])
             T.block_attr({"hidden_buffer_access": (("read", "B"),)})

    Nothing is checked: later steps may now be taken for legal that are not.  The function is marked unsafe, its
    builds run contained, and a note says so.  Steps that rewrite the body declare everything anew.
    Raises `ScheduleError`: no numbers, or numbers of buffers that the block does not touch.
    """
    site = state.block(block)
    require_leaf(state, site, "hide accesses of")
    require(
        bool(buf_index_array),
        "E-SCHEDULE-HIDE",
        "no buffer is named that should be hidden",
        found="an empty list",
        expected="numbers of buffers, counted from 0",
        fix='unsafe_hide_buffer_access(block, "read", [0])',
        nodes=(site.block,),
    )
    choose = read_buffer if buf_type == "read" else written_buffer
    hidden: list[t.Buffer] = []
    for number in buf_index_array:
        buffer = choose(state, block, number)
        if all(buffer is not other for other in hidden):
            hidden.append(buffer)
    regions = site.block.reads if buf_type == "read" else site.block.writes
    kept = tuple(region for region in regions if all(region.buffer is not buffer for buffer in hidden))
    known = site.block.annotations.get(HIDDEN, ())
    annotations = site.block.annotations.set(HIDDEN, (*known, *((buf_type, buffer.name) for buffer in hidden)))
    changed = (
        site.block.replace(reads=kept, annotations=annotations)
        if buf_type == "read"
        else site.block.replace(writes=kept, annotations=annotations)
    )
    func = marked_unsafe(replaced(state.func, {id(site.block): changed}))
    names = ", ".join(buffer.name for buffer in hidden)
    return Change(func, notes=(f"unsafe: that {site.name} {buf_type}s {names} is hidden from all later checks",))
