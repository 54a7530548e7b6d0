"""get_child_blocks: the blocks inside a loop or a block."""

from __future__ import annotations

from ...tir import nodes as t
from ..references import BlockRV, LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState


@primitive(category="get")
def get_child_blocks(state: ScheduleState, block_or_loop: BlockRV | LoopRV) -> Change[list[BlockRV]]:
    """The blocks directly inside a block or a loop (not those inside other blocks), in the order of the text."""
    if isinstance(block_or_loop, LoopRV):
        around: t.Stmt = state.loop(block_or_loop)
    else:
        around = state.block(block_or_loop).block
    names: list[str] = []
    for site in state.tree.blocks.values():
        if any(part is around for part in site.path):
            below = site.path[next(i for i, part in enumerate(site.path) if part is around) + 1 :]
            if not any(isinstance(part, t.Block) for part in below):
                names.append(site.name)
    return Change(state.func, tuple(names))
