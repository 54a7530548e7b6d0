"""Simplify: expressions are put in simplest form under the ranges of the loops around them.

    before:  for j in 16: A[(i * 16 + j) - i * 16]; if j < 20: S
    after:   for j in 16: A[j]; S
"""

from __future__ import annotations

from typing import Any

from ...arith import nodes as n
from ...arith.simplify import Simplifier
from ...core.node import Node, children, map_children
from ...core.trampoline import Task, run
from ...core.transform import function_pass
from .. import nodes as t
from .constant_fold import fold


@function_pass(name="Simplify", applies_to=t.PrimFunc)
def Simplify(func: t.PrimFunc, mod: Any, ctx: Any) -> t.PrimFunc:
    """Simplify expressions under the ranges of the loops around them."""
    return simplify(func)


def simplify(func: t.PrimFunc) -> t.PrimFunc:
    simplifier = Simplifier({})
    _bind_loops(func.body, simplifier)
    return func.replace(body=fold(run(_visit(func.body, simplifier))))


def _bind_loops(body: t.Stmt, simplifier: Simplifier) -> None:
    """Tell the range of every loop variable, outer loops first; a variable of two loops ranges over both."""
    known: dict[int, tuple[float, float]] = {}
    stack: list[Node] = [body]
    while stack:
        current = stack.pop()
        if isinstance(current, t.For):
            low = simplifier.bounds(current.min)
            high = simplifier.bounds(current.extent)[1] + low[1] - 1
            before = known.get(id(current.var), (low[0], high))
            interval = (min(before[0], low[0]), max(before[1], high, low[0]))
            known[id(current.var)] = interval
            simplifier.bind(current.var, interval)
        stack.extend(reversed([child for child in children(current) if isinstance(child, t.Stmt)]))


def _visit(stmt: t.Stmt, simplifier: Simplifier) -> Task:
    """The statement with its expressions simplified."""
    inner: dict[int, t.Stmt] = {}
    for child in children(stmt):
        if isinstance(child, t.Stmt):
            inner[id(child)] = yield _visit(child, simplifier)

    def mapped(child: Node) -> Any:
        if isinstance(child, t.Stmt):
            return inner[id(child)]
        return simplifier(child) if isinstance(child, n.PrimExpr) and not isinstance(child, n.Var) else child

    return map_children(stmt, mapped)
