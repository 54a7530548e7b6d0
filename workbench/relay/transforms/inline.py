"""Inline: functions of the module marked ``Inline=1`` are replaced, where they are called, by their body.

    def add_one(x): return x + 1        # attrs Inline=1
    def main(x): return add_one(x) * 2      ->      def main(x): return (x + 1) * 2

Marked functions that nobody refers to afterwards leave the module.  Functions that call themselves, directly or
through others, stay as they are.
"""

from __future__ import annotations

import time
from typing import Any, cast

from ...core import origin, rewrite
from ...core.module import IRModule
from ...core.node import Node, map_children
from ...core.transform import PassContext, module_pass
from ...core.walks import parts_first
from ..ir import expr as e
from ..ir.plan import LEAVES, bound_variables, expressions
from .remove_unused_functions import reachable, referenced
from .rules import rebuild

INLINE = rewrite.step("inline-function", "A call of a function marked Inline is the function's body.")


@module_pass(opt_level=1, name="Inline", required=["InferType"])
def Inline(mod: IRModule, ctx: PassContext) -> IRModule:
    """Replace calls of functions marked Inline by their bodies."""
    marked = {name for name, func in mod.items() if _is_marked(func) and not _recursive(mod, name)}
    if not marked:
        return mod
    done: dict[str, e.Function] = {}
    for name in _callees_first(mod, marked):
        done[name] = _inlined(mod[name], {other: done[other] for other in marked if other in done})
    others = {name: func for name, func in mod.items() if name not in marked}
    changed = {name: _inlined(func, done) if isinstance(func, e.Function) else func for name, func in others.items()}
    made = mod.with_functions({**done, **changed})
    used = reachable(made, [name for name in made.names() if name not in marked])
    return made.with_only({name: func for name, func in made.items() if name not in marked or name in used})


def _is_marked(func: Node) -> bool:
    return isinstance(func, e.Function) and bool(func.attrs.get("Inline", func.attrs.get("inline", 0)))


def _recursive(mod: IRModule, name: str) -> bool:
    return any(name in reachable(mod, [other]) for other in referenced(mod[name]))


def _callees_first(mod: IRModule, marked: set[str]) -> list[str]:
    """Marked functions such that each comes after those that it calls (none calls itself)."""
    uses = {name: [other for other in referenced(mod[name]) if other in marked] for name in sorted(marked)}
    return list(parts_first(uses, uses.__getitem__, str))


def _inlined(func: e.Function, bodies: dict[str, e.Function]) -> e.Function:
    if func.is_primitive:
        return func

    def visit(old: e.Expr, new: e.Expr) -> e.Expr | None:
        if not isinstance(new, e.Call) or not isinstance(new.op, e.GlobalVar):
            return None
        callee = bodies.get(new.op.name_hint)
        if callee is None or callee.type_params:
            return None
        started = time.perf_counter_ns()
        made = body_on(callee, new.args)
        rewrite.fired(INLINE, old, made, started)
        return made

    return rebuild(func, visit, into_kernels=False)


def body_on(func: e.Function, arguments: tuple[e.Expr, ...]) -> e.Expr:
    """The function's body on these arguments, with its own copies of all that it binds and computes."""
    return _copied(func.body, func, dict(zip(map(id, func.params), arguments, strict=True)))


def fresh_copy(func: e.Function) -> e.Function:
    """The same function with variables and expressions of its own, so that both may stand in one program."""
    made = _copied(func, func, {})
    assert isinstance(made, e.Function)
    return made


def _copied(root: e.Expr, func: e.Function, values: dict[int, e.Expr]) -> e.Expr:
    """Copies even what does not depend on a variable: a shared `ref(...)` would be one cell."""
    done: dict[int, Node] = {id(param): e.Var(param.name_hint, param.type_or_none) for param in func.params}
    done.update(values)
    for expr in expressions(func):
        for variable in bound_variables(expr):
            done.setdefault(id(variable), fresh_variable(variable))

    def replacement(child: Node) -> Node:
        if isinstance(child, (e.Clause, e.Pattern)):
            return map_children(child, replacement)
        return done.get(id(child), child)

    for expr in expressions(root):
        if isinstance(expr, LEAVES):
            continue
        new = map_children(expr, replacement)
        if new is expr:
            again = cast("Any", type(expr))
            new = again(*(getattr(expr, name) for name in expr.field_names))
            origin.derived(new, expr)
        done[id(expr)] = new
    made = done.get(id(root), root)
    assert isinstance(made, e.Expr)
    return made


def fresh_variable(variable: e.Var) -> e.Var:
    """Another variable of that name and type."""
    made = e.Var(variable.name_hint, variable.type_annotation)
    if made.type_or_none is None and variable.type_or_none is not None:
        made.set_type(variable.checked_type)
    return made
