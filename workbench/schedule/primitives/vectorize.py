"""vectorize: a loop's iterations become lanes."""

from __future__ import annotations

from ...analysis.tree import extent_of
from ...tir import nodes as t
from ..errors import require
from ..kinds import annotated
from ..legality import require_independent
from ..references import LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState


@primitive(category="loop")
def vectorize(state: ScheduleState, loop: LoopRV) -> Change[None]:
    """Run the iterations of a loop as lanes of vectors.

    before:  for j in range(16): C[i, j] = A[i, j]
    after:   for j in T.vectorized(16): C[i, j] = A[i, j]

    A buffer used only inside the loop, and written in each iteration before it is read there, is each lane's own; the
    lanes then run one after the other.
    Raises `ScheduleError`: an extent that is not a constant, other loops inside that are parallel, iterations that
    depend on each other (with a witness).
    """
    old = state.loop(loop)
    extent = extent_of(old)
    require(
        extent is not None,
        "E-SCHEDULE-VECTOR-EXTENT",
        f"cannot vectorize {old.var.name}: its extent is not a constant",
        found="a symbolic extent",
        expected="a constant number of lanes",
        fix="split the loop by a constant and vectorize the inner part",
        nodes=(old,),
    )
    for site in state.tree.under(old):
        at = next(i for i, item in enumerate(site.loops) if item is old)
        for inner in site.loops[at + 1 :]:
            require(
                inner.kind in (t.ForKind.SERIAL, t.ForKind.UNROLLED),
                "E-SCHEDULE-VECTOR-INNER",
                f"cannot vectorize {old.var.name} around the {inner.kind.value} loop {inner.var.name}",
                found=f"a {inner.kind.value} loop inside",
                expected="serial loops inside",
                fix=f"reorder {old.var.name} inwards",
                nodes=(old, inner),
            )
    require_independent(state, old, "vectorize", True, across=False)
    return annotated(state, old, t.ForKind.VECTORIZED)
