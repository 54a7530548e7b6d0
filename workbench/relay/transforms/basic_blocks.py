"""ToBasicBlockNormalForm: what several blocks share is bound by let where all of them see it.

    e = exp(x); if (c) { tanh(e) } else { neg(e) }   ->   let v0 = exp(x); if (c) { tanh(v0) } else { neg(v0) }

Inside one block (a function's body, a branch of an if, a clause of a match) sharing stays sharing.  Afterwards no
expression is used in a block other than its own, except through a variable.
"""

from __future__ import annotations

from ...core import origin
from ...core.module import IRModule
from ...core.trampoline import Task, run
from ...core.transform import PassContext, function_pass
from ..ir import expr as e
from ..ir.plan import LEAVES, Plan, Scope, plain_operands
from .canonical_form import Normalizer


@function_pass(opt_level=1, name="ToBasicBlockNormalForm", required=["InferType"], applies_to=e.Function)
def ToBasicBlockNormalForm(func: e.Function, mod: IRModule, ctx: PassContext) -> e.Function:
    """Bind what several blocks share."""
    return func if func.is_primitive else basic_blocks(func)


def basic_blocks(func: e.Function) -> e.Function:
    """The function in basic block normal form; itself if it is in it already."""
    plan = Plan(func)
    shared = crossing(plan)
    if not shared:
        return func
    return origin.derived(run(_Blocks(plan, shared).function(func)), func)


def crossing(plan: Plan) -> set[int]:
    """Expressions that are used in a block other than the one they stand in."""
    roots: dict[int, Scope] = {}

    def block(scope: Scope) -> Scope:
        chain: list[Scope] = []
        while id(scope) not in roots and scope.parent is not None and scope.parent.rest is scope:
            chain.append(scope)
            scope = scope.parent
        root = roots.get(id(scope), scope)
        for passed in chain:
            roots[id(passed)] = root
        return root

    found: set[int] = set()

    def used(expr: e.Expr, scope: Scope) -> None:
        if not isinstance(expr, LEAVES) and block(plan.place[id(expr)]) is not block(scope):
            found.add(id(expr))

    for expr in plan.order:
        here = plan.place[id(expr)]
        if isinstance(expr, e.Let):
            inner = here if id(expr) in plan.tails else plan.inner[id(expr)][0]
            used(expr.value, inner)
            used(expr.body, inner.rest or inner)
            continue
        for scope in plan.inner.get(id(expr), ()):
            used(scope.result, scope)
        for operand in plain_operands(expr):
            used(operand, here)
    return found


class _Blocks(Normalizer):
    """Names only what crosses a block's border; the rest stays a graph."""

    def __init__(self, plan: Plan, shared: set[int]) -> None:
        super().__init__(plan)
        self.shared = shared

    def bind(self, statement: e.Expr) -> Task:
        if id(statement) in self.shared:
            return (yield super().bind(statement))
        before: list[tuple[e.Var, e.Expr]] = []
        self.names[id(statement)] = yield self.value(statement, before)
        return before

    def operand(self, expr: e.Expr, bound: list[tuple[e.Var, e.Expr]]) -> Task:
        if isinstance(expr, LEAVES) or id(expr) in self.names:
            return self.leaf(expr)
        if id(expr) in self.shared:
            return (yield super().operand(expr, bound))
        value = yield self.value(expr, bound)
        self.names[id(expr)] = value
        return value
