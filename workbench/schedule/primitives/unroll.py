"""unroll: a loop's iterations are written out."""

from __future__ import annotations

from ...analysis.tree import extent_of
from ...tir import nodes as t
from ..errors import require
from ..kinds import annotated
from ..references import LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState


@primitive(category="loop", keeps_order=True)
def unroll(state: ScheduleState, loop: LoopRV) -> Change[None]:
    """Write the iterations of a loop out, one after another.

    before:  for k in range(3): S(k)
    after:   for k in T.unroll(3): S(k)          # S(0); S(1); S(2)

    Order is kept, so this is legal for every loop of constant extent (at most 4096).
    """
    old = state.loop(loop)
    extent = extent_of(old)
    require(
        extent is not None and extent <= 4096,
        "E-SCHEDULE-UNROLL-EXTENT",
        f"cannot unroll {old.var.name}",
        found="a symbolic extent" if extent is None else f"{extent} iterations",
        expected="a constant extent of at most 4096",
        fix="split the loop and unroll the inner part",
        nodes=(old,),
    )
    return annotated(state, old, t.ForKind.UNROLLED)
