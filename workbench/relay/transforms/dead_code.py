"""DeadCodeElimination: let-bound values that nobody uses, and that do nothing else, are dropped.

Graph expressions that are not used are not part of the program to begin with, so only lets are concerned.
"""

from __future__ import annotations

import time

from ...core import origin, rewrite
from ...core.module import IRModule
from ...core.node import Node
from ...core.transform import PassContext, function_pass
from ..ir import expr as e
from ..ir.operator import Operator
from ..ir.plan import expressions, operands
from .canonical_form import inline_lets

DROP = rewrite.step("drop-unused-let", "A let whose variable nobody uses, and whose value has no effects, is its body.")


@function_pass(opt_level=1, name="DeadCodeElimination", required=["InferType"], applies_to=e.Function)
def DeadCodeElimination(
    func: e.Function, mod: IRModule, ctx: PassContext, *, inline_once: bool = False, ignore_impurity: bool = False
) -> e.Function:
    """Drop unused lets.  `inline_once`: also inline variables used once.  `ignore_impurity`: effects do not count."""
    if func.is_primitive:
        return func
    pure = Purity(mod, func)
    used = _used_variables(func, pure, ignore_impurity)

    def dead(let: e.Let) -> bool:
        return id(let.var) not in used and (ignore_impurity or pure.expression(let.value))

    started = time.perf_counter_ns()
    made = inline_lets(func, drop=dead, dropped=lambda let, body: rewrite.fired(DROP, let, body, started))
    if inline_once:
        counts = _count_variables(made)

        def once(let: e.Let) -> bool:
            return counts.get(id(let.var), 0) == 1 and (ignore_impurity or pure.expression(let.value))

        made = inline_lets(made, inline=once)
    return origin.derived(made, func) if made is not func else made


def _used_variables(func: e.Function, pure: Purity, ignore_impurity: bool) -> set[int]:
    """Variables that a value which must be computed reads, directly or through other lets."""
    used: set[int] = set()
    seen: set[int] = set()
    values: dict[int, e.Expr] = {}
    stack: list[e.Expr] = [func]
    while stack:
        current = stack.pop()
        if isinstance(current, e.Var):
            used.add(id(current))
            if id(current) in values:
                stack.append(values.pop(id(current)))
            continue
        if id(current) in seen:
            continue
        seen.add(id(current))
        if not isinstance(current, e.Let):
            stack.extend(operands(current))
            continue
        if id(current.var) in used or not (ignore_impurity or pure.expression(current.value)):
            stack.append(current.value)
        else:
            values[id(current.var)] = current.value
        stack.append(current.body)
    return used


def _count_variables(root: e.Expr) -> dict[int, int]:
    counts: dict[int, int] = {}
    for expr in expressions(root):
        for operand in operands(expr):
            if isinstance(operand, e.Var):
                counts[id(operand)] = counts.get(id(operand), 0) + 1
    return counts


class Purity:
    """Which expressions can be left out without anybody noticing."""

    def __init__(self, mod: IRModule, root: e.Expr | None = None) -> None:
        self.mod = mod
        lets = [expr for expr in expressions(root) if isinstance(expr, e.Let)] if root is not None else []
        self._bound = {id(let.var): let.value for let in lets if isinstance(let.value, e.Function)}
        """Functions by the variable that a let binds them to."""
        self._known: dict[int, bool] = {}
        self._functions: dict[str, bool] = {}
        self._kept: list[Node] = []

    def expression(self, root: e.Expr) -> bool:
        """True if evaluating `root` has no effects (functions it only makes are not evaluated)."""
        entered: set[int] = set()
        stack: list[tuple[e.Expr, bool]] = [(root, False)]
        while stack:
            current, expanded = stack.pop()
            if id(current) in self._known or (not expanded and id(current) in entered):
                continue
            parts = self._evaluated(current)
            if not expanded:
                entered.add(id(current))
                stack.append((current, True))
                stack.extend((part, False) for part in parts if id(part) not in self._known)
                continue
            self._kept.append(current)
            self._known[id(current)] = self._alone(current) and all(self._known.get(id(part), True) for part in parts)
        return self._known[id(root)]

    def _evaluated(self, expr: e.Expr) -> tuple[e.Expr, ...]:
        if isinstance(expr, e.Function):
            return ()
        called = self._called(expr)
        return (*operands(expr), called.body) if called is not None else operands(expr)

    def _called(self, expr: e.Expr) -> e.Function | None:
        """The function that an expression calls, where that is plain to see."""
        if not isinstance(expr, e.Call) or isinstance(expr.op, Operator):
            return None
        found = self._bound.get(id(expr.op), expr.op)
        return found if isinstance(found, e.Function) else None

    def _alone(self, expr: e.Expr) -> bool:
        """Whether the expression adds no effect of its own."""
        if isinstance(expr, (e.RefCreate, e.RefRead, e.RefWrite)):
            return False
        if not isinstance(expr, e.Call):
            return True
        if isinstance(expr.op, Operator):
            return not expr.op.effects
        if isinstance(expr.op, e.GlobalVar):
            return self._global(expr.op.name_hint)
        return isinstance(expr.op, e.Constructor) or self._called(expr) is not None

    def _global(self, name: str) -> bool:
        """Whether a function of the module is pure; one that calls itself is, if the rest of it is."""
        if name not in self._functions:
            self._functions[name] = True
            func = self.mod[name] if name in self.mod else None
            self._functions[name] = isinstance(func, e.Function) and self._of(func)
        return self._functions[name]

    def _of(self, func: e.Function) -> bool:
        inner = Purity(self.mod, func)
        inner._functions = self._functions
        return inner.expression(func.body)
