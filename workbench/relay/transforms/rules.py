"""Applying rule tables to relay functions: types and origins stay right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core import origin
from ...core.errors import InternalError
from ...core.module import IRModule
from ...core.node import Node, map_children
from ...core.rewrite import Driver, Rule
from ..ir import expr as e
from ..ir.brief import brief
from ..ir.infer import infer_type, keep_type
from ..ir.plan import LEAVES, expressions
from ..ir.types import Type
from ..ir.unify import Mismatch, Unifier
from ..patterns import head_of


def enters(node: Node) -> bool:
    """Expressions live below expressions, clauses and patterns only, not in types and operators."""
    return isinstance(node, (e.Expr, e.Clause)) and not isinstance(
        node, (e.Var, e.Constant, e.GlobalVar, e.Constructor)
    )


def rebuild(
    root: e.Function,
    visit: Callable[[e.Expr, e.Expr], e.Expr | None],
    into_kernels: bool = True,
    traced: bool = True,
) -> e.Function:
    """The function with `visit(old, new)` asked for each expression, operands first.

    `new` is `old` on rebuilt operands; the answer replaces it (None: `new` stays).
    Not `into_kernels`: primitive functions inside stay as they are.  Not `traced`: `visit` has said itself what its
    answers come from; else they come from `old`.
    """
    done: dict[int, Node] = {}
    kept: list[Node] = []

    def replacement(child: Node) -> Node:
        if isinstance(child, e.Clause):
            return map_children(child, replacement)
        return done.get(id(child), child)

    for old in expressions(root, into_kernels):
        if isinstance(old, LEAVES):
            answer = visit(old, old)
            if answer is not None:
                done[id(old)] = answer
            continue
        new = map_children(old, replacement) if into_kernels or not is_kernel(old) or old is root else old
        keep_type(new, old)
        answer = visit(old, new)
        if answer is not None and answer is not new and traced:
            origin.derived(answer, old)
        kept.append(new)
        done[id(old)] = new if answer is None else answer
    made = done[id(root)]
    assert isinstance(made, e.Function)
    return made


def is_kernel(expr: Node) -> bool:
    """Whether an expression is a primitive function."""
    return isinstance(expr, e.Function) and expr.is_primitive


def apply_rules(func: Any, rules: Sequence[Rule], mod: IRModule | None = None, refine: bool = False) -> Any:
    """A function rewritten by the rules until none fires.  Types must have been inferred.

    `refine`: the rules make types known better, so those of what is built on a replacement are inferred anew.
    """

    def made(new: Node, old: Node) -> None:
        assert isinstance(new, e.Expr) and isinstance(old, e.Expr)
        found = infer_type(new, mod)
        if old.type_or_none is not None and not agree(found, old.checked_type):
            raise InternalError(
                "E-REWRITE-TYPE",
                "a rule changed the type of an expression",
                where=brief(old),
                found=repr(found),
                expected=repr(old.checked_type),
                nodes=(old, new),
            )

    def refined(new: Node, old: Node) -> None:
        if isinstance(new, e.Expr) and new.type_or_none is None:
            infer_type(new, mod)

    return Driver(rules, enters, refined if refine else keep_type, made, show=brief, head=head_of).run(func)


def agree(one: Type, other: Type) -> bool:
    """Whether two types can stand for each other."""
    if one == other:
        return True
    try:
        Unifier().unify(one, other)
    except Mismatch:
        return False
    return True
