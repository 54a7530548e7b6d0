"""annotate: a remark on a loop or a block, for later stages."""

from __future__ import annotations

from ...tir import nodes as t
from ..arguments import Plain
from ..errors import require
from ..references import BlockRV, LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import replaced


@primitive(category="annotation", suggest={"ann_key": ["remark"], "ann_val": [1]})
def annotate(state: ScheduleState, block_or_loop: BlockRV | LoopRV, ann_key: str, ann_val: Plain) -> Change[None]:
    """Attach data to a loop or a block, under a key.

    before:  for i in range(4): ...
    after:   for i in T.serial(4, annotations={"key": 1}): ...

    It has no meaning of its own, except "buffer_dim_align" (see `storage_align`).  "double_buffer_scope" asks backends
    with asynchronous copies for two buffers in turn; builds for CPUs ignore it.
    Raises `ScheduleError`: an empty key.
    """
    require(
        bool(ann_key),
        "E-SCHEDULE-ANNOTATION",
        "an annotation needs a key",
        found="an empty text",
        expected="a name",
        fix='annotate(loop, "key", value)',
    )
    if isinstance(block_or_loop, LoopRV):
        loop = state.loop(block_or_loop)
        made = loop.replace(annotations=loop.annotations.set(ann_key, ann_val))
        return Change(replaced(state.func, {id(loop): made}))
    block: t.Block = state.block(block_or_loop).block
    changed = block.replace(annotations=block.annotations.set(ann_key, ann_val))
    return Change(replaced(state.func, {id(block): changed}))
