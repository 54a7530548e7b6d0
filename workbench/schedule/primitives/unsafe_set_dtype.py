"""unsafe_set_dtype: an intermediate buffer keeps its elements in another dtype."""

from __future__ import annotations

from typing import Any

from ...arith import build
from ...core.dtype import DataType
from ...core.errors import WorkbenchError
from ...core.node import rewrite
from ...tir import nodes as t
from ..arguments import BufferIndex
from ..blocks import require_not_addressed, written_buffer
from ..errors import refuse, require
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState


@primitive(category="cache", suggest={"buffer_index": [0], "dtype": ["float64"]})
def unsafe_set_dtype(state: ScheduleState, block: BlockRV, buffer_index: BufferIndex, dtype: str) -> Change[None]:
    """Keep the buffer that a block writes in another dtype: values are cast when stored and cast back when loaded.

    before:  B[i] = A[i] * 2;  C[i] = B[i] + 1                                  # B is float32
    after:   B[i] = T.Cast("float16", A[i] * 2);  C[i] = T.Cast("float32", B[i]) + 1    # dtype="float16"

    The values may change by what the dtype cannot hold, which a note of the schedule says.
    Raises `ScheduleError`: no such buffer or dtype, a parameter of the function, vectors or addresses of elements.
    """
    site = state.block(block)
    old = written_buffer(state, block, buffer_index)
    made = _dtype(dtype)
    require(
        all(old is not parameter for parameter in state.func.params),
        "E-SCHEDULE-DTYPE-PARAMETER",
        f"{old.name} is a parameter: its dtype is the caller's",
        found="a buffer that comes from outside",
        expected="a buffer that the function allocates",
        fix='cache_write(block, 0, "global") gives the block a buffer of its own',
        nodes=(site.block,),
    )
    require(
        not (old.dtype.is_handle or old.dtype.is_bool) and old.dtype.lanes == 1,
        "E-SCHEDULE-DTYPE",
        f"elements of {old.name} are no numbers",
        found=str(old.dtype),
        expected="integers or floats",
        fix="choose a buffer of numbers",
        nodes=(site.block,),
    )
    new = old.replace(dtype=made)

    def post(node: Any) -> Any:
        if isinstance(node, t.BufferLoad) and node.buffer is old:
            load = t.BufferLoad(new, node.indices)
            return build.cast(old.dtype.with_lanes(load.dtype.lanes), load)
        if isinstance(node, t.BufferStore) and node.buffer is old:
            value = build.cast(made.with_lanes(node.value.dtype.lanes), node.value)
            return node.replace(buffer=new, value=value)
        if isinstance(node, t.BufferRegion) and node.buffer is old:
            return node.replace(buffer=new)
        if isinstance(node, t.Block) and any(item is old for item in node.alloc_buffers):
            return node.replace(alloc_buffers=tuple(new if item is old else item for item in node.alloc_buffers))
        return None

    require_not_addressed(state, old)
    func = rewrite(state.func, post, lambda node: node if isinstance(node, t.Buffer) else None)
    note = f"{old.name} is kept as {made} instead of {old.dtype}: its values are rounded to what that holds"
    return Change(func, notes=(note,))


def _dtype(text: str) -> DataType:
    try:
        made = DataType(text)
        usable = (made.is_float or made.is_integer) and not made.is_vector
    except (WorkbenchError, ValueError):
        usable = False
    if not usable:
        raise refuse(
            "E-SCHEDULE-DTYPE",
            "a buffer's elements are numbers",
            found=repr(text)[:40],
            expected='the dtype of a number: "float16", "float32", "int8", ...',
            fix='unsafe_set_dtype(block, 0, "float16")',
        )
    return DataType(text)
