"""ToANormalForm and ToGraphNormalForm: between sharing in a graph and names bound by let.

    multiply(add(x, y), add(x, y))   <->   let v0 = add(x, y); let v1 = multiply(v0, v0); v1

Values stand where `ir.plan` puts them: in the innermost block that holds all of their uses.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ...core import origin, rewrite
from ...core.module import IRModule
from ...core.node import Node, map_children
from ...core.trampoline import Task, run
from ...core.transform import PassContext, function_pass
from ..ir import expr as e
from ..ir.infer import keep_type
from ..ir.plan import LEAVES, Plan, Scope, expressions, plain_operands

BIND = rewrite.step("bind", "An expression gets a name, bound by let before its first use.")
INLINE = rewrite.step("inline-let", "A let without effects becomes sharing in the graph.")


@function_pass(opt_level=1, name="ToANormalForm", required=["InferType"], applies_to=e.Function)
def ToANormalForm(func: e.Function, mod: IRModule, ctx: PassContext) -> e.Function:
    """Bind every compound expression by a let of its own."""
    if func.is_primitive:
        return func
    made = run(Normalizer(Plan(func)).function(func))
    return origin.derived(made, func)


class Normalizer:
    """Rebuilds a planned program with a let for each statement."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.names: dict[int, e.Expr] = {}
        self.count = 0

    def function(self, func: e.Function) -> Task:
        body = yield self.block(self.plan.inner[id(func)][0])
        made = func.replace(body=body)
        keep_type(made, func)
        return made

    def block(self, scope: Scope) -> Task:
        bound: list[tuple[e.Var, e.Expr]] = []
        current = scope
        while True:
            for statement in current.statements:
                if current.let is not None and statement is current.let.value and self.plan.uses[id(statement)] == 1:
                    continue
                bound += yield self.bind(statement)
            if current.let is None or current.rest is None:
                result = yield self.operand(current.result, bound)
                break
            let = current.let
            if isinstance(let.value, LEAVES) or self.plan.uses[id(let.value)] > 1:
                value = self.leaf(let.value)
            else:
                value = yield self.value(let.value, bound)
            bound.append((let.var, value))
            current = current.rest
        for variable, value in reversed(bound):
            result = e.Let(variable, value, result)
        return result

    def bind(self, statement: e.Expr) -> Task:
        started = time.perf_counter_ns()
        before: list[tuple[e.Var, e.Expr]] = []
        value = yield self.value(statement, before)
        variable = self.name(statement)
        rewrite.fired(BIND, statement, value, started)
        return [*before, (variable, value)]

    def name(self, expr: e.Expr) -> e.Var:
        variable = e.Var(f"v{self.count}")
        self.count += 1
        if expr.type_or_none is not None:
            variable.set_type(expr.checked_type)
        self.names[id(expr)] = variable
        return variable

    def leaf(self, expr: e.Expr) -> e.Expr:
        return self.names.get(id(expr), expr)

    def operand(self, expr: e.Expr, bound: list[tuple[e.Var, e.Expr]]) -> Task:
        """A leaf or a name; what the plan would write inside its user gets a name too."""
        if isinstance(expr, LEAVES) or id(expr) in self.names:
            return self.leaf(expr)
        value = yield self.value(expr, bound)
        variable = self.name(expr)
        bound.append((variable, value))
        return variable

    def value(self, expr: e.Expr, bound: list[tuple[e.Var, e.Expr]]) -> Task:
        """The expression with named operands and normalised blocks."""
        if isinstance(expr, e.Function):
            return expr if expr.is_primitive else (yield self.function(expr))
        if isinstance(expr, e.Let):
            return (yield self.block(self.plan.inner[id(expr)][0]))
        blocks: list[e.Expr] = []
        for scope in self.plan.inner.get(id(expr), ()):
            blocks.append((yield self.block(scope)))
        if isinstance(expr, e.If):
            condition = yield self.operand(expr.cond, bound)
            made: e.Expr = expr.replace(cond=condition, true_branch=blocks[0], false_branch=blocks[1])
        elif isinstance(expr, e.Match):
            data = yield self.operand(expr.data, bound)
            clauses = tuple(clause.replace(rhs=rhs) for clause, rhs in zip(expr.clauses, blocks, strict=True))
            made = expr.replace(data=data, clauses=clauses)
        else:
            renamed: dict[int, e.Expr] = {}
            for child in plain_operands(expr):
                renamed[id(child)] = yield self.operand(child, bound)
            made = map_children(expr, lambda child: renamed.get(id(child), child))
        keep_type(made, expr)
        return made


@function_pass(opt_level=1, name="ToGraphNormalForm", required=["InferType"], applies_to=e.Function)
def ToGraphNormalForm(func: e.Function, mod: IRModule, ctx: PassContext) -> e.Function:
    """Replace lets by sharing; lets with effects, and functions that call themselves, stay."""
    if func.is_primitive:
        return func
    from .dead_code import Purity

    pure = Purity(mod, func)
    made = inline_lets(func, inline=lambda let: pure.expression(let.value) and not _recursive(let))
    return origin.derived(made, func) if made is not func else made


def _recursive(let: e.Let) -> bool:
    if not isinstance(let.value, e.Function):
        return False
    return any(expr is let.var for expr in expressions(let.value))


def _never(let: e.Let) -> bool:
    return False


def inline_lets(
    root: e.Function,
    inline: Callable[[e.Let], bool] = _never,
    drop: Callable[[e.Let], bool] = _never,
    dropped: Callable[[e.Let, e.Expr], None] | None = None,
) -> e.Function:
    """The function with chosen lets replaced by sharing of their value, or dropped; types are kept."""
    done: dict[int, Node] = {}
    kept: list[Node] = []
    lets = [expr for expr in expressions(root) if isinstance(expr, e.Let)]
    values = {id(let.var): let.value for let in lets if inline(let)}
    kept_lets = {id(let) for let in lets if id(let.var) not in values}

    def replacement(child: Node) -> Node:
        if isinstance(child, e.Clause):
            return map_children(child, replacement)
        while id(child) in values:
            child = values[id(child)]
        return done.get(id(child), child)

    for expr in expressions(root):
        if isinstance(expr, LEAVES):
            continue
        if isinstance(expr, e.Let):
            new = _treated(expr, id(expr) in kept_lets, replacement, drop, dropped)
        else:
            new = map_children(expr, replacement)
            keep_type(new, expr)
        kept.append(new)
        done[id(expr)] = new
    result = done[id(root)]
    assert isinstance(result, e.Function)
    return result


def _treated(
    let: e.Let,
    stays: bool,
    replacement: Callable[[Node], Node],
    drop: Callable[[e.Let], bool],
    dropped: Callable[[e.Let, e.Expr], None] | None,
) -> Node:
    started = time.perf_counter_ns()
    body = replacement(let.body)
    if not stays:
        rewrite.fired(INLINE, let, body, started)
        return body
    if drop(let):
        if dropped is not None and isinstance(body, e.Expr):
            dropped(let, body)
        return body
    new = map_children(let, replacement)
    keep_type(new, let)
    return new
