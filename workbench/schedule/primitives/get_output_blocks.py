"""get_output_blocks: the blocks that write what leaves a block."""

from __future__ import annotations

from ...tir import nodes as t
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState


@primitive(category="get")
def get_output_blocks(state: ScheduleState, scope_block: BlockRV) -> Change[list[BlockRV]]:
    """The blocks inside a block that write a buffer which is not allocated inside it, in the order of the text."""
    scope = state.block(scope_block).block
    inside = [
        site
        for site in state.tree.blocks.values()
        if any(part is scope for part in site.path) and site.block is not scope
    ]
    own: set[int] = {id(buffer) for buffer in scope.alloc_buffers}
    for site in inside:
        own |= {id(buffer) for buffer in site.block.alloc_buffers}
    names = [site.name for site in inside if any(id(buffer) not in own for buffer in _written(site.block))]
    return Change(state.func, tuple(names))


def _written(block: t.Block) -> list[t.Buffer]:
    return [region.buffer for region in block.writes]
