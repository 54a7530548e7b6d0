"""reorder: nested loops change places."""

from __future__ import annotations

from ...arith.scope import variables_in
from ...tir import nodes as t
from ..chains import distinct, spanned
from ..errors import require
from ..legality import require_reorderable
from ..references import LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import replaced


@primitive(category="loop")
def reorder(state: ScheduleState, *ordered_loops: LoopRV) -> Change[None]:
    """Put loops of one nest into the order given; loops between them stay where they are.

    before:  for i, j, k in grid(4, 5, 6): S(i, j, k)
    after:   for k, j, i in grid(6, 5, 4): S(i, j, k)        # reorder(k, i)

    Sums may be accumulated in another order; the schedule's notes say so.
    Raises `ScheduleError`: loops not on one chain, loops that are neither serial nor unrolled, bounds that depend on a
    loop moved inwards, dependences that would be turned round (with a witness).
    """
    given = distinct(state, ordered_loops, "reorder")
    chain = spanned(state, given, "reorder")
    chosen = {id(loop) for loop in given}
    for loop in chain:
        require(
            loop.kind in (t.ForKind.SERIAL, t.ForKind.UNROLLED),
            "E-SCHEDULE-REORDER-KIND",
            f"cannot reorder across {loop.var.name}: it is {loop.kind.value}",
            found=f"a loop of kind {loop.kind.value}",
            expected="serial and unrolled loops",
            fix="reorder first, annotate afterwards",
            nodes=(loop,),
        )
    moved = iter(given)
    after = [next(moved) if id(loop) in chosen else loop for loop in chain]
    if all(one is other for one, other in zip(chain, after, strict=True)):
        return Change(state.func)
    variables = {id(loop.var) for loop in chain}
    for loop in chain:
        require(
            all(id(var) not in variables for bound in (loop.min, loop.extent) for var in variables_in(bound)),
            "E-SCHEDULE-REORDER-BOUNDS",
            f"the bounds of {loop.var.name} depend on a loop around it",
            found="a domain that is not rectangular",
            expected="bounds that do not change while the loops run",
            fix="reorder other loops",
            nodes=(loop,),
        )
    notes = require_reorderable(state, chain, after)
    body = chain[-1].body
    for loop in reversed(after):
        body = loop.replace(body=body)
    return Change(replaced(state.func, {id(chain[0]): body}), (), notes)
