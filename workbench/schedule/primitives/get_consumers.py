"""get_consumers: the blocks that read what a block makes."""

from __future__ import annotations

from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState


@primitive(category="get")
def get_consumers(state: ScheduleState, block: BlockRV) -> Change[list[BlockRV]]:
    """The blocks that read a buffer which `block` writes, without `block` itself, in the order of the text."""
    own = state.block(block)
    written = {id(region.buffer) for region in own.block.writes}
    return Change(
        state.func,
        tuple(
            site.name
            for site in state.tree.leaves
            if site.name != own.name and any(id(region.buffer) in written for region in site.reads)
        ),
    )
