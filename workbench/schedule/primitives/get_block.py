"""get_block: a block by its name."""

from __future__ import annotations

from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState


@primitive(category="get", suggest={"name": []})
def get_block(state: ScheduleState, name: str) -> Change[BlockRV]:
    """The block of this name in the function worked on.

    Raises `ScheduleError` E-SCHEDULE-BLOCK if there is none.
    """
    return Change(state.func, (state.find_block(name).name,))
