"""get_loops: the loops around a block."""

from __future__ import annotations

from ..references import BlockRV, LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState


@primitive(category="get")
def get_loops(state: ScheduleState, block: BlockRV) -> Change[list[LoopRV]]:
    """The loops around a block, outermost first, up to the block around it."""
    return Change(state.func, tuple(loop.var for loop in state.block(block).loops))
