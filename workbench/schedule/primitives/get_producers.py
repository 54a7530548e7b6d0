"""get_producers: the blocks that make what a block reads."""

from __future__ import annotations

from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState


@primitive(category="get")
def get_producers(state: ScheduleState, block: BlockRV) -> Change[list[BlockRV]]:
    """The blocks that write a buffer which `block` reads, without `block` itself, in the order of the text."""
    own = state.block(block)
    read = {id(region.buffer) for region in own.reads}
    return Change(
        state.func,
        tuple(
            site.name
            for site in state.tree.leaves
            if site.name != own.name and any(id(region.buffer) in read for region in site.block.writes)
        ),
    )
