"""bind: a loop runs along an axis of threads."""

from __future__ import annotations

from ...tir import nodes as t
from ..errors import require
from ..kinds import annotated
from ..legality import require_independent
from ..references import LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState

AXES = tuple(f"{group}.{axis}" for group in ("blockIdx", "threadIdx") for axis in "xyz")


@primitive(category="loop", suggest={"thread_axis": ["threadIdx.x"]})
def bind(state: ScheduleState, loop: LoopRV, thread_axis: str) -> Change[None]:
    """Bind a loop to an axis of a GPU's threads.

    before:  for i in range(256): C[i] = A[i]
    after:   for i in T.thread_binding(256, thread="threadIdx.x"): C[i] = A[i]

    Raises `ScheduleError`: an unknown axis, iterations that depend on each other (with a witness).
    """
    old = state.loop(loop)
    require(
        thread_axis in AXES,
        "E-SCHEDULE-THREAD",
        f"{thread_axis!r} is not an axis of threads",
        found=thread_axis,
        expected=", ".join(AXES),
        fix='bind(loop, "threadIdx.x")',
        nodes=(old,),
    )
    return annotated(
        state, old, t.ForKind.THREAD_BINDING, lambda: require_independent(state, old, "bind", False), thread_axis
    )
