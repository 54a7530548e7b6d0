"""EliminateCommonSubexpr: equal operator calls on the same operands are computed once.

Calls with effects, and calls in blocks of which neither contains the other (two branches of an if), are left alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ...core import origin, rewrite
from ...core.equal import structural_equal
from ...core.module import IRModule
from ...core.node import Node, map_children
from ...core.transform import PassContext, function_pass
from ..ir import expr as e
from ..ir.infer import keep_type
from ..ir.operator import Operator
from ..ir.plan import Plan, Scope, common
from .rules import enters

MERGE = rewrite.step("merge-equal", "An expression equal to an earlier one is the earlier one.")

_SMALL = 4096
"""Constants of at most so many bytes are compared by value; larger ones by identity of their data."""


@function_pass(opt_level=3, name="EliminateCommonSubexpr", required=["InferType"], applies_to=e.Function)
def EliminateCommonSubexpr(
    func: e.Function, mod: IRModule, ctx: PassContext, *, fskip: Callable[[e.Expr], bool] | None = None
) -> e.Function:
    """Share equal subexpressions.  `fskip(expr)` true keeps an expression out."""
    if func.is_primitive:
        return func
    plan = Plan(func)
    done: dict[int, Node] = {}
    seen: dict[Any, list[tuple[e.Expr, Scope]]] = {}
    kept: list[Node] = []

    def replacement(child: Node) -> Node:
        return done.get(id(child)) or _inside(child, done)

    for expr in plan.order:
        started = time.perf_counter_ns()
        new = map_children(expr, replacement) if enters(expr) else expr
        if new is not expr:
            keep_type(new, expr)
        kept.append(new)
        done[id(expr)] = new
        if fskip is not None and fskip(expr):
            continue
        key = _key(new)
        if key is None:
            continue
        place = plan.place[id(expr)]
        earlier = _find(seen.setdefault(key, []), new, place)
        if earlier is None:
            seen[key].append((new, place))
            continue
        done[id(expr)] = earlier
        origin.joined(earlier, expr)
        rewrite.fired(MERGE, expr, earlier, started)
    result = done[id(func)]
    assert isinstance(result, e.Function)
    return result


def _inside(child: Node, done: dict[int, Node]) -> Node:
    """Clauses hold expressions; everything else without a replacement stays."""
    if isinstance(child, e.Clause):
        return map_children(child, lambda part: done.get(id(part), part))
    return child


def _key(expr: e.Expr) -> Any:
    """What equal expressions have in common, or None for what is never merged."""
    if isinstance(expr, e.Call) and isinstance(expr.op, Operator):
        if expr.op.effects:
            return None
        return ("call", expr.op.name, tuple(_leaf(argument) for argument in expr.args))
    if isinstance(expr, e.Tuple):
        return ("tuple", tuple(_leaf(field) for field in expr.fields))
    if isinstance(expr, e.TupleGetItem):
        return ("item", expr.index, _leaf(expr.tuple_value))
    return None


def _leaf(expr: e.Expr) -> Any:
    if isinstance(expr, e.Constant):
        return ("constant", expr.data.fingerprint if expr.data.nbytes <= _SMALL else id(expr.data))
    return id(expr)


def _find(candidates: list[tuple[e.Expr, Scope]], expr: e.Expr, place: Scope) -> e.Expr | None:
    for candidate, scope in candidates:
        if common(scope, place) is scope and _same_operator(candidate, expr):
            return candidate
    return None


def _same_operator(one: e.Expr, other: e.Expr) -> bool:
    if isinstance(one, e.Call) and isinstance(other, e.Call):
        return structural_equal(one.op, other.op) and len(one.type_args) == len(other.type_args) == 0
    return True
