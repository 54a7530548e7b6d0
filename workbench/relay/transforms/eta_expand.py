"""EtaExpand: constructors and functions of the module that stand as values become functions that call them.

    map(Cons, xs)   ->   map(fn (a, b) { Cons(a, b) }, xs)         (expand_constructor)
    apply(@f, x)    ->   apply(fn (a) { @f(a) }, x)                (expand_global_var)

Afterwards they are called only, which is what executors without first-class names need.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ...core import rewrite
from ...core.module import IRModule
from ...core.node import Node, map_children
from ...core.transform import PassContext, function_pass
from ..ir import expr as e
from ..ir.types import FuncType
from .rules import rebuild

EXPAND = rewrite.step("eta-expand", "A constructor or function that stands as a value becomes a function calling it.")


@function_pass(opt_level=1, name="EtaExpand", required=["InferType"], applies_to=e.Function)
def EtaExpand(
    func: e.Function,
    mod: IRModule,
    ctx: PassContext,
    *,
    expand_constructor: bool = False,
    expand_global_var: bool = False,
) -> e.Function:
    """Expand constructors and functions of the module, as asked for, where they are not called."""
    classes = (e.Constructor,) * expand_constructor + (e.GlobalVar,) * expand_global_var
    if func.is_primitive or not classes:
        return func

    def expanded(expr: e.Expr) -> e.Expr:
        if not isinstance(expr, classes):
            return expr
        started = time.perf_counter_ns()
        found = expr.checked_type
        if not isinstance(found, FuncType):
            return expr
        params = tuple(e.Var(f"a{at}", kind) for at, kind in enumerate(found.arg_types))
        made = e.Function(params, e.Call(expr, params), found.ret_type, found.type_params)
        rewrite.fired(EXPAND, expr, made, started)
        return made

    def visit(old: e.Expr, new: e.Expr) -> e.Expr | None:
        if isinstance(new, (e.Var, e.Constant, e.GlobalVar, e.Constructor)):
            return None
        if isinstance(new, e.Call):
            args = tuple(expanded(argument) for argument in new.args)
            return None if all(a is b for a, b in zip(args, new.args, strict=True)) else new.replace(args=args)
        made = map_children(new, _on_expressions(expanded))
        return None if made is new else made

    return rebuild(func, visit)


def _on_expressions(function: Callable[[e.Expr], e.Expr]) -> Callable[[Node], Node]:
    """`function` on the expressions directly below a node, also those in clauses; not on patterns and types."""

    def apply(child: Node) -> Node:
        if isinstance(child, e.Clause):
            return child.replace(rhs=function(child.rhs))
        return function(child) if isinstance(child, e.Expr) else child

    return apply
