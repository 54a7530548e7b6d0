"""LambdaLift: functions inside functions become functions of the module.

    def main(x, y): f = fn (a) { a + y }; f(x)
    ->  def main_lambda0(y, a): a + y              # called on the spot: takes what it captures as well
        def main(x, y): main_lambda0(y, x)

    def main(x, y): apply(fn (a) { a + y }, x)
    ->  def main_lambda0(y): fn (a) { a + y }      # used as a value: gives the closure; attrs Closure=1
        def main(x, y): apply(main_lambda0(y), x)

Primitive functions (fused kernels) and functions over type variables from outside stay where they are.
Source: Johnsson, "Lambda lifting: transforming programs to recursive equations" (1985).
"""

from __future__ import annotations

import time

from ...core import origin, rewrite
from ...core.equal import free_variables
from ...core.module import IRModule
from ...core.node import FrozenMap, Node, map_children, substitute
from ...core.transform import PassContext, module_pass
from ..ir import expr as e
from ..ir import types as t
from ..ir.infer import keep_type
from ..ir.plan import LEAVES, expressions, operands
from .basic_blocks import basic_blocks
from .inline import fresh_copy
from .rules import is_kernel

LIFT = rewrite.step("lift-function", "A function inside another becomes one of the module; what it captures is passed.")


@module_pass(opt_level=1, name="LambdaLift", required=["InferType"])
def LambdaLift(mod: IRModule, ctx: PassContext) -> IRModule:
    """Lift every closure to a function of the module."""
    lifted = _Names(mod)
    changed: dict[str, Node] = {}
    for name, func in mod.items():
        if isinstance(func, e.Function) and not func.is_primitive and _has_closures(func):
            changed[name] = _Lifter(name, lifted).run(func)
    return mod.with_functions({**changed, **lifted.made}) if changed else mod


def _inner(func: e.Function) -> e.Function:
    """The function itself; of a lifted closure, the closure that it gives."""
    return func.body if func.attrs.get("Closure", 0) and isinstance(func.body, e.Function) else func


def _has_closures(func: e.Function) -> bool:
    skipped = (func, _inner(func))
    return any(
        isinstance(expr, e.Function) and not expr.is_primitive and expr not in skipped
        for expr in expressions(func, into_kernels=False)
    )


class _Names:
    """The new functions, under names that the module does not use."""

    def __init__(self, mod: IRModule) -> None:
        self.taken = set(mod.names())
        self.made: dict[str, e.Function] = {}

    def new(self, base: str) -> str:
        number = 0
        while f"{base}_lambda{number}" in self.taken:
            number += 1
        name = f"{base}_lambda{number}"
        self.taken.add(name)
        return name


class _Lifter:
    """Rebuilds one function, innermost closures first."""

    def __init__(self, name: str, names: _Names) -> None:
        self.name = name
        self.names = names
        self.done: dict[int, Node] = {}
        self.kept: list[Node] = []
        self.direct: dict[int, tuple[e.Var, ...]] = {}
        """What a function that is only called captures; its calls pass it."""

    def run(self, func: e.Function) -> e.Function:
        func = basic_blocks(func)
        stays = (func, _inner(func))
        order = list(expressions(func, into_kernels=False))
        called = _only_called(order)
        bound = {id(expr.value): expr.var for expr in order if isinstance(expr, e.Let)}
        for expr in order:
            if isinstance(expr, LEAVES):
                continue
            new = expr if is_kernel(expr) else map_children(expr, self.replacement)
            keep_type(new, expr)
            if isinstance(expr, e.Function) and not is_kernel(expr) and expr not in stays:
                assert isinstance(new, e.Function)
                new = self.lift(expr, new, bound.get(id(expr)), id(expr) in called)
            elif isinstance(expr, e.Call) and id(expr.op) in self.direct and isinstance(new, e.Call):
                new = new.replace(args=(*self.direct[id(expr.op)], *new.args))
            self.kept.append(new)
            self.done[id(expr)] = new
        made = self.done[id(func)]
        assert isinstance(made, e.Function)
        return made

    def replacement(self, child: Node) -> Node:
        if isinstance(child, e.Clause):
            return map_children(child, self.replacement)
        return self.done.get(id(child), child)

    def lift(self, old: e.Function, new: e.Function, own: e.Var | None, direct: bool) -> e.Expr:
        """What replaces a closure: a reference to the new function, called on what it captures if it is a value.

        `own` is the variable that a let binds the closure to, through which it may call itself.
        """
        started = time.perf_counter_ns()
        free = free_variables(new)
        captured = tuple(node for node in free if isinstance(node, e.Var) and node is not own)
        if any(isinstance(node, t.TypeVar) for node in free) or any(one.type_or_none is None for one in captured):
            return new
        reference = e.GlobalVar(self.names.new(self.name))
        value: e.Expr = e.Call(reference, captured) if captured else reference
        if own is not None and own in free:
            new = substitute(new, {own: value})
        whole = new.replace(ret_type=old.body.checked_type)
        if direct:
            whole = whole.replace(params=(*captured, *whole.params))
        elif captured:
            whole = e.Function(captured, whole, old.checked_type, (), FrozenMap({"Closure": 1}))
        made = fresh_copy(whole)
        origin.derived(made, old)
        self.names.made[reference.name_hint] = made
        rewrite.fired(LIFT, old, made, started)
        if direct:
            self.direct[id(old)] = captured
            return reference
        return value


def _only_called(order: list[e.Expr]) -> set[int]:
    """Functions that stand only where they are called."""
    called: set[int] = set()
    values: set[int] = set()
    for expr in order:
        if is_kernel(expr):
            continue
        callee = expr.op if isinstance(expr, e.Call) else None
        for operand in operands(expr):
            (called if operand is callee else values).add(id(operand))
    return called - values
