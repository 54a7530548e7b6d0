"""unannotate: take a remark off a loop or a block."""

from __future__ import annotations

from ...core.errors import nearest
from ...tir import nodes as t
from ..errors import require
from ..references import BlockRV, LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import replaced


@primitive(category="annotation", suggest={"ann_key": ["remark"]})
def unannotate(state: ScheduleState, block_or_loop: BlockRV | LoopRV, ann_key: str) -> Change[None]:
    """Remove the data that stand under a key of a loop or a block.

    before:  for i in T.serial(4, annotations={"key": 1}): ...
    after:   for i in T.serial(4): ...

    Raises `ScheduleError`: nothing stands under the key.
    """
    old: t.For | t.Block
    if isinstance(block_or_loop, LoopRV):
        old = state.loop(block_or_loop)
        name = old.var.name
    else:
        old = state.block(block_or_loop).block
        name = old.name
    require(
        ann_key in old.annotations,
        "E-SCHEDULE-NOT-ANNOTATED",
        f"{name} has no annotation {ann_key!r}",
        found=f"annotations: {', '.join(old.annotations) or 'none'}",
        expected="a key that is there",
        fix=nearest(ann_key, old.annotations) or "leave it as it is",
        nodes=(old,),
    )
    return Change(replaced(state.func, {id(old): old.replace(annotations=old.annotations.without(ann_key))}))
