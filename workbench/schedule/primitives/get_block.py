"""get_block: a block by its name."""

from __future__ import annotations

from dataclasses import replace

from ...core.errors import nearest
from ...tir import nodes as t
from ..errors import require
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState


@primitive(category="get", suggest={"name": []})
def get_block(state: ScheduleState, name: str, func_name: str | None = None) -> Change[BlockRV]:
    """The block of this name in the function worked on, or in the one named.

    Primitives on what is answered change that function, whatever function is worked on.
    Raises `ScheduleError` if there is no such block or function.
    """
    if func_name is None or func_name == state.working:
        return Change(state.func, (state.find_block(name).name,))
    require(
        isinstance(state.functions.get(func_name), t.PrimFunc),
        "E-SCHEDULE-FUNCTION",
        f"the module has no loop function {func_name!r}",
        found=f"functions: {', '.join(state.functions)}",
        expected="the name of a loop function",
        fix=nearest(func_name, state.functions) or "leave func_name out",
    )
    found = replace(state, working=func_name).find_block(name)
    return Change(state.func, (found.name,), home=func_name)
