"""Telling the types of expressions from those of their operands, when they are asked.

Each expression class has a rule, `told_type`, which reads the remembered types of its operands.  `tell` applies the
rules below an expression, operands first.  A rule answers None where operands do not tell the type (a variable has
none yet, a function is polymorphic) or where inference has more to compare (two branches of different types):
`infer_type` finds those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core.errors import WorkbenchError
from .types import Type, is_complete

if TYPE_CHECKING:
    from .expr import Expr


class Clock:
    """Counts the types that were set from outside: what had no type before may have one after."""

    ticks = 0


def tell(root: Expr, strict: bool = False) -> None:
    """Remember the types of `root` and of what it needs below it, as far as they can be told; without recursion.

    `strict`: the refusal of an operator whose operands do not fit is raised (`WorkbenchError`, naming both).
    """
    began = Clock.ticks
    tried: set[int] = set()
    stack = [root]
    while stack:
        current = stack[-1]
        if current.remembered_type is not None or id(current) in tried:
            stack.pop()
            continue
        waiting = [part for part in current.asked_before() if part.remembered_type is None and id(part) not in tried]
        if not strict:
            waiting = [part for part in waiting if part.untold_at != began]
        if waiting:
            stack.extend(reversed(waiting))
            continue
        stack.pop()
        tried.add(id(current))
        found = _by_rule(current, strict)
        object.__setattr__(current, "inferred", began if found is None else found)


def _by_rule(expr: Expr, strict: bool) -> Type | None:
    try:
        return expr.told_type()
    except WorkbenchError:
        if strict:
            raise
        return None


def told(expr: Expr) -> Type | None:
    """The remembered type, if nothing in it is open."""
    found = expr.remembered_type
    return found if found is not None and is_complete(found) else None


def all_told(exprs: Sequence[Expr]) -> tuple[Type, ...] | None:
    """The remembered types of some expressions; None unless all are known."""
    found = [told(expr) for expr in exprs]
    known = tuple(one for one in found if one is not None)
    return known if len(known) == len(found) else None


def same_type(one: Type, other: Type) -> bool:
    """Whether two types are equal; most often they are one object."""
    return one is other or one == other
