"""Applying rule tables to relay functions: types and origins stay right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.errors import InternalError
from ...core.module import IRModule
from ...core.node import Node
from ...core.rewrite import Driver, Rule
from ..ir import expr as e
from ..ir.brief import brief
from ..ir.infer import infer_type
from ..ir.types import Type
from ..ir.unify import Mismatch, Unifier


def enters(node: Node) -> bool:
    """Expressions live below expressions, clauses and patterns only, not in types and operators."""
    return isinstance(node, (e.Expr, e.Clause)) and not isinstance(
        node, (e.Var, e.Constant, e.GlobalVar, e.Constructor)
    )


def keep_type(new: Node, old: Node) -> None:
    """A node rebuilt from operands of equal types has the type it had."""
    if (
        isinstance(new, e.Expr)
        and isinstance(old, e.Expr)
        and old.type_or_none is not None
        and new.type_or_none is None
    ):
        new.set_type(old.checked_type)


def apply_rules(func: Any, rules: Sequence[Rule], mod: IRModule | None = None) -> Any:
    """A function rewritten by the rules until none fires.  Types must have been inferred."""

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

    return Driver(rules, enters, keep_type, made).run(func)


def agree(one: Type, other: Type) -> bool:
    """Whether two types can stand for each other."""
    if one == other:
        return True
    try:
        Unifier().unify(one, other)
    except Mismatch:
        return False
    return True
