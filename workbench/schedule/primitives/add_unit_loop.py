"""add_unit_loop: a loop of one iteration around a loop or a block."""

from __future__ import annotations

from ...arith import build
from ...arith.nodes import Var
from ...tir import nodes as t
from ...tir.build import loop as make_loop
from ..errors import require
from ..references import BlockRV, LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import Names, replaced


@primitive(category="loop", keeps_order=True)
def add_unit_loop(state: ScheduleState, block_or_loop: BlockRV | LoopRV) -> Change[LoopRV]:
    """Put a loop of one iteration around a loop or a block, to be bound or annotated.

    before:  for i in range(4): S(i)
    after:   for u in range(1):                 # the loop answered
                 for i in range(4): S(i)

    Raises `ScheduleError`: the root block.
    """
    old: t.Stmt
    if isinstance(block_or_loop, LoopRV):
        old = state.loop(block_or_loop)
    else:
        site = state.block(block_or_loop)
        require(
            site.scope is not None,
            "E-SCHEDULE-ROOT",
            f"no loop can stand around {site.name}",
            found="the root block",
            expected="a block inside the root, or a loop",
            fix="choose one of " + ", ".join(leaf.name for leaf in state.tree.leaves),
            nodes=(site.block,),
        )
        old = site.realize
    var = Var(Names(state.tree.names()).fresh("u"))
    made = make_loop(var, build.const(1), old)
    return Change(replaced(state.func, {id(old): made}), (var,))
