"""Loops that stand in one another: what fuse and reorder ask of their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..tir import nodes as t
from .errors import refuse, require
from .references import LoopRV
from .state import ScheduleState


def distinct(state: ScheduleState, loops: Sequence[LoopRV], verb: str) -> list[t.For]:
    """The loops of the references, each once.  Raises `ScheduleError` if there is none or one stands twice."""
    require(
        len(loops) > 0,
        "E-SCHEDULE-NO-LOOPS",
        f"{verb} needs at least one loop",
        found="no arguments",
        expected="loops, outermost first",
        fix="take them from get_loops(block)",
    )
    found = [state.loop(loop) for loop in loops]
    for position, loop in enumerate(found):
        require(
            all(loop is not other for other in found[:position]),
            "E-SCHEDULE-LOOP-TWICE",
            f"loop {loop.var.name} is given twice",
            found=", ".join(item.var.name for item in found),
            expected="different loops",
            fix="name every loop once",
            nodes=(loop,),
        )
    return found


def consecutive(state: ScheduleState, loops: Sequence[LoopRV], verb: str) -> list[t.For]:
    """The loops, each the whole body of the one before."""
    found = distinct(state, loops, verb)
    for outer, inner in pairwise(found):
        require(
            outer.body is inner,
            "E-SCHEDULE-NESTING",
            f"cannot {verb}: {inner.var.name} is not directly inside {outer.var.name}",
            found=f"{outer.var.name} contains {_contents(outer.body)}",
            expected="loops with nothing between them, outermost first",
            fix="reorder the loops first, or give them in the order of the program",
            nodes=(outer, inner),
        )
    return found


def _contents(body: t.Stmt) -> str:
    if isinstance(body, t.For):
        return f"the loop {body.var.name}"
    return f"{len(body.stmts)} statements" if isinstance(body, t.SeqStmt) else "no loop"


def spanned(state: ScheduleState, loops: Sequence[t.For], verb: str) -> list[t.For]:
    """All loops from the outermost to the innermost of `loops`, which must form one chain without branches."""
    ordered = sorted(loops, key=lambda loop: len(state.tree.loops[id(loop.var)].path))
    first, last = ordered[0], ordered[-1]
    chain: list[t.For] = [first]
    while chain[-1] is not last:
        body = chain[-1].body
        if not isinstance(body, t.For):
            raise refuse(
                "E-SCHEDULE-BRANCH",
                f"cannot {verb}: {first.var.name} and {last.var.name} are not on one chain of loops",
                found=f"{chain[-1].var.name} contains {_contents(body)}",
                expected="loops nested directly in one another",
                fix="choose loops around one block with nothing between them",
                nodes=(chain[-1], last),
            )
        chain.append(body)
    on_chain = {id(loop) for loop in chain}
    for loop in ordered:
        require(
            id(loop) in on_chain,
            "E-SCHEDULE-BRANCH",
            f"cannot {verb}: {loop.var.name} is not on the chain from {first.var.name} to {last.var.name}",
            found="loops of different nests",
            expected="loops around one block",
            fix="take them from one get_loops(block)",
            nodes=(loop,),
        )
    return chain
