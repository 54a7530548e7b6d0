"""Simplify: index arithmetic in simpler words, decided conditions dropped, loops of one iteration dissolved.

    before:  for x in T.serial(1):                         after:  A[y] = B[y]
                 if y * 8 + x < 64:
                     A[(y * 8 + x) // 8] = B[...]

Conditions that a loop does not change are asked before it (loop unswitching; classic HoistIfThenElse):

    before:  for j in T.serial(4):                         after:  if i * 7 + x < 27:
                 if i * 7 + x < 27:                                    for j in T.serial(4):
                     A[i * 7 + x, j] = ...                                 A[i * 7 + x, j] = ...

Runs with the ranges of the loops and block iterators around an expression, which hold for the whole function because
every variable is bound once.
"""

from __future__ import annotations

from typing import Any, Final

from ...arith import nodes as n
from ...arith.build import all_of, conjuncts, const
from ...arith.simplify import Simplifier
from ...core.node import Node, post_order, pre_order, rewrite, substitute
from ...core.transform import function_pass
from .. import nodes as t
from ..build import seq
from .pragmas import has_pragmas

_IN_ORDER: Final = (t.ForKind.SERIAL, t.ForKind.UNROLLED, t.ForKind.VECTORIZED)
"""Loops of one thread: parallel ones and those bound to threads stay the outermost statement of what they share out."""


@function_pass(name="Simplify", applies_to=t.PrimFunc)
def Simplify(func: t.PrimFunc, mod: Any, ctx: Any) -> t.PrimFunc:
    """Simplify expressions, drop what cannot run, and ask loop-invariant conditions before their loop."""
    func = _without_unit_loops(func)
    simplifier = Simplifier()
    for node in pre_order(func.body, t.Stmt):
        if isinstance(node, t.For):
            simplifier.bind_range(node.var, node.min, node.extent)
        elif isinstance(node, t.Block):
            for item in node.iter_vars:
                simplifier.bind_range(item.var, item.dom.min, item.dom.extent)

    def pre(node: Node) -> Node | None:
        if isinstance(node, n.PrimExpr):
            return simplifier.simplify(node)
        return node if isinstance(node, t.Buffer) else None

    return rewrite(func, _simplified_statement, pre)


def _simplified_statement(node: Node) -> Node | None:
    """A statement without what cannot run; a loop behind its invariant conditions."""
    if isinstance(node, t.IfThenElse) and isinstance(node.condition, n.IntImm):
        return node.then_case if node.condition.value else (node.else_case or t.Evaluate(const(0)))
    if isinstance(node, t.For):
        return _unswitched(node)
    if isinstance(node, t.SeqStmt):
        kept = [stmt for stmt in node.stmts if not _is_nothing(stmt)]
        nested = any(isinstance(stmt, t.SeqStmt) for stmt in kept)
        return seq(kept) if nested or len(kept) != len(node.stmts) else None
    return None


def _unswitched(loop: t.For) -> t.Stmt | None:
    """A loop under the invariant conditions of its body; None where there are none."""
    body = loop.body
    if not isinstance(body, t.IfThenElse) or body.else_case is not None or loop.kind not in _IN_ORDER:
        return None
    same: list[n.PrimExpr] = []
    rest: list[n.PrimExpr] = []
    for part in conjuncts(body.condition):
        (same if _is_loop_invariant(part, loop.var) else rest).append(part)
    if not same:
        return None
    inner = body.replace(condition=all_of(*rest)) if rest else body.then_case
    return body.replace(condition=all_of(*same), then_case=loop.replace(body=inner))


def _is_loop_invariant(condition: n.PrimExpr, var: n.Var) -> bool:
    """Whether a condition is the same in all iterations, and may be evaluated where there are none.

    It reads no memory, calls nothing, and divides by numbers only (`tir.verify` refuses zero).
    """
    return all(
        node is not var
        and not isinstance(node, (t.BufferLoad, n.Call))
        and (not isinstance(node, (n.Div, n.Mod, n.FloorDiv, n.FloorMod)) or isinstance(node.b, n.IntImm))
        for node in pre_order(condition)
    )


def _is_nothing(stmt: t.Stmt) -> bool:
    return isinstance(stmt, t.Evaluate) and isinstance(stmt.value, n.IntImm)


def _without_unit_loops(func: t.PrimFunc) -> t.PrimFunc:
    """Loops that run exactly once become their body, unless they are bound to threads or have a pragma."""
    values: dict[Any, n.PrimExpr] = {}
    for node in pre_order(func.body, t.Stmt):
        if isinstance(node, t.For) and _runs_once(node):
            values[node.var] = substitute(node.min, values)
    if not values:
        return func

    def post(node: Node) -> Node | None:
        return node.body if isinstance(node, t.For) and node.var in values else None

    gone = rewrite(func, post)
    return substitute(gone, values)


def _runs_once(loop: t.For) -> bool:
    unit = isinstance(loop.extent, n.IntImm) and loop.extent.value == 1
    return unit and loop.kind is not t.ForKind.THREAD_BINDING and not has_pragmas(loop.annotations)


def simplified(expr: n.PrimExpr) -> n.PrimExpr:
    """A vector of integers as one ramp or broadcast, where it is one; else the expression itself.

    >>> i = n.Var("i")
    >>> wide = n.Add(n.Broadcast(i, 4), n.Ramp(const(0), const(1), 4))
    >>> type(simplified(wide)).__name__
    'Ramp'
    """
    if not expr.dtype.is_vector or not expr.dtype.is_integer:
        return expr
    known: dict[int, tuple[n.PrimExpr, n.PrimExpr] | None] = {}
    for node in post_order(expr):
        if isinstance(node, n.PrimExpr):
            known[id(node)] = _base_and_stride(node, known)
    found = known[id(expr)]
    if found is None:
        return expr
    base, stride = found
    if isinstance(stride, n.IntImm) and stride.value == 0:
        return n.Broadcast(base, expr.dtype.lanes)
    return n.Ramp(base, stride, expr.dtype.lanes)


def _base_and_stride(
    node: n.PrimExpr, known: dict[int, tuple[n.PrimExpr, n.PrimExpr] | None]
) -> tuple[n.PrimExpr, n.PrimExpr] | None:
    """(first lane, difference of lanes) of an arithmetic progression."""
    if not node.dtype.is_vector:
        return (node, const(0, node.dtype)) if node.dtype.is_integer else None
    if isinstance(node, n.Ramp):
        return node.base, node.stride
    if isinstance(node, n.Broadcast):
        return node.value, const(0, node.value.dtype)
    if not isinstance(node, (n.Add, n.Sub, n.Mul)):
        return None
    a, b = known[id(node.a)], known[id(node.b)]
    if a is None or b is None:
        return None
    if isinstance(node, n.Add):
        return a[0] + b[0], a[1] + b[1]
    if isinstance(node, n.Sub):
        return a[0] - b[0], a[1] - b[1]
    for one, other in ((a, b), (b, a)):
        if isinstance(other[1], n.IntImm) and other[1].value == 0:
            return one[0] * other[0], one[1] * other[0]
    return None
