"""Comparing and matching expressions for the simplifier, and what it makes of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ..core.dtype import DataType
from ..core.node import FieldValue, Node, children
from . import nodes as n
from .forms import Form
from .nodes import PrimExpr, Var
from .rules import Rule


class Made(NamedTuple):
    """What an expression simplified to; `key` is equal for equal results, `form` is there for exact integers."""

    expr: PrimExpr | None
    key: Any
    form: Form | None = None
    dtype: DataType = DataType("int64")


BOOL: Final = DataType("bool")
TRUTH: Final = {value: n.IntImm(int(value), BOOL) for value in (False, True)}


def operands(node: PrimExpr) -> list[PrimExpr]:
    """The expressions directly inside one."""
    return [child for child in children(node) if isinstance(child, PrimExpr)]


def equal_trees(one: PrimExpr, other: FieldValue) -> bool:
    """The same tree over the very same variables and other nodes."""
    stack: list[tuple[FieldValue, Any]] = [(one, other)]
    while stack:
        a, b = stack.pop()
        if a is b:
            continue
        if type(a) is not type(b):
            return False
        if isinstance(a, PrimExpr) and not isinstance(a, Var):
            stack.extend((getattr(a, name), getattr(b, name)) for name in a.field_names)
        elif type(a) is tuple:
            if len(a) != len(b):
                return False
            stack.extend(zip(a, b, strict=True))
        elif (
            isinstance(a, Node) or not (a == b or (a != a and b != b)) or (isinstance(a, float) and a.hex() != b.hex())
        ):
            return False
    return True


def match(rule: Rule, expr: PrimExpr) -> dict[str, PrimExpr] | None:
    """What the names of a rule's left side stand for in `expr`; None if it does not fit."""
    bound: dict[str, PrimExpr] = {}
    stack: list[tuple[Any, Any]] = [(rule.left, expr)]
    while stack:
        pattern, found = stack.pop()
        if isinstance(pattern, Var):
            if not _fits_name(pattern.name, found, rule, bound):
                return None
        elif isinstance(pattern, n.IntImm):
            if not isinstance(found, n.IntImm) or found.value != pattern.value:
                return None
        elif type(pattern) is not type(found):
            return None
        else:
            stack.extend((getattr(pattern, name), getattr(found, name)) for name in reversed(pattern.field_names))
    constants = {name: value.value for name, value in bound.items() if name[0] == "c" and isinstance(value, n.IntImm)}
    return bound if rule.when is None or rule.when(constants) else None


def _fits_name(name: str, found: PrimExpr, rule: Rule, bound: dict[str, PrimExpr]) -> bool:
    if name in bound:
        return equal_trees(bound[name], found)
    if name[0] == "c" and not isinstance(found, n.IntImm):
        return False
    if name[0] in "xyz" and not rule.floats and not found.dtype.is_integer:
        return False
    bound[name] = found
    return True


def instance(pattern: Any, bound: Mapping[str, PrimExpr]) -> Any:
    """A rule's side with names replaced (rules are small, so this recurses)."""
    if isinstance(pattern, Var):
        return bound[pattern.name]
    if isinstance(pattern, (n.IntImm, n.FloatImm)):
        return pattern
    return type(pattern)(*(instance(getattr(pattern, name), bound) for name in pattern.field_names))


def lanewise(expr: Any) -> PrimExpr | None:
    """A sum, difference or product of ramps and broadcasts as one of them; None where it is none."""
    a, b = expr.a, expr.b
    if isinstance(a, n.Broadcast) and isinstance(b, n.Broadcast):
        return n.Broadcast(type(expr)(a.value, b.value), a.lanes)
    if isinstance(a, n.Ramp) and isinstance(b, n.Broadcast):
        stride = n.Mul(a.stride, b.value) if isinstance(expr, n.Mul) else a.stride
        return n.Ramp(type(expr)(a.base, b.value), stride, a.lanes)
    if isinstance(a, n.Broadcast) and isinstance(b, n.Ramp) and not isinstance(expr, n.Sub):
        stride = n.Mul(b.stride, a.value) if isinstance(expr, n.Mul) else b.stride
        return n.Ramp(type(expr)(a.value, b.base), stride, b.lanes)
    return None
