"""set_scope: where an intermediate buffer lives."""

from __future__ import annotations

from ...core.node import substitute
from ...tir import nodes as t
from ..arguments import BufferIndex
from ..blocks import written_buffer
from ..errors import require
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState


@primitive(category="cache", suggest={"buffer_index": [0], "storage_scope": ["local"]})
def set_scope(state: ScheduleState, block: BlockRV, buffer_index: BufferIndex, storage_scope: str) -> Change[None]:
    """Move the buffer that a block writes to another scope ("local": registers or the stack).

    before:  B = T.alloc_buffer((16,))
    after:   B = T.alloc_buffer((16,), scope="local")

    Raises `ScheduleError`: no such buffer, a parameter of the function.
    """
    old = written_buffer(state, block, buffer_index)
    require(
        all(old is not parameter for parameter in state.func.params),
        "E-SCHEDULE-SCOPE-PARAMETER",
        f"{old.name} is a parameter: its storage is the caller's",
        found="a buffer that comes from outside",
        expected="a buffer that the function allocates",
        fix='cache_write(block, 0, "local") gives the block a buffer of its own',
        nodes=(state.block(block).block,),
    )
    require(
        storage_scope.replace(".", "").replace("_", "").isalnum(),
        "E-SCHEDULE-SCOPE",
        "a scope is a name",
        found=repr(storage_scope)[:40],
        expected='"global", "local", "shared" or another of the target',
        fix='set_scope(block, 0, "local")',
    )
    made = old.replace(scope=storage_scope)
    func: t.PrimFunc = substitute(state.func, {old: made})
    return Change(func)
