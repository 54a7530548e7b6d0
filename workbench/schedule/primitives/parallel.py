"""parallel: a loop's iterations run on several threads."""

from __future__ import annotations

from ...tir import nodes as t
from ..errors import require
from ..kinds import annotated
from ..legality import require_independent
from ..references import LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState


@primitive(category="loop")
def parallel(state: ScheduleState, loop: LoopRV) -> Change[None]:
    """Run the iterations of a loop on the threads of the pool.

    before:  for i in range(64): C[i] = A[i]
    after:   for i in T.parallel(64): C[i] = A[i]

    Buffers used only inside the loop, written in each iteration before they are read, count as private to it.
    Raises `ScheduleError`: a loop inside a vectorized one, iterations that depend on each other (with a witness).
    """
    old = state.loop(loop)
    for around in state.tree.loops[id(old.var)].path:
        require(
            not (isinstance(around, t.For) and around.kind is t.ForKind.VECTORIZED),
            "E-SCHEDULE-PARALLEL-INSIDE",
            f"cannot make {old.var.name} parallel inside a vectorized loop",
            found="a vectorized loop around",
            expected="serial or parallel loops around",
            fix="choose an outer loop",
            nodes=(old, around),
        )
    require_independent(state, old, "parallelize", True, across=False)
    return annotated(state, old, t.ForKind.PARALLEL)
