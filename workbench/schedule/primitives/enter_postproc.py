"""enter_postproc: what follows in the trace is post-processing."""

from __future__ import annotations

from ..registry import primitive
from ..state import Change, ScheduleState


@primitive(category="other", keeps_order=True)
def enter_postproc(state: ScheduleState) -> Change[None]:
    """Mark the steps after this one as post-processing, which `Trace` can leave out (`remove_postproc=True`).

    before:  the program
    after:   the same program

    Raises `ScheduleError`: never.
    """
    return Change(state.func)
