"""Patterns as users write them: `wildcard()`, `is_op("add")(...)`, `has_attr(...)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..ir import types as t
from ..op.build import get
from .patterns import (
    AttrPattern,
    ConstantPattern,
    DataTypePattern,
    DominatorPattern,
    ExprPattern,
    ShapePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
)
from .structures import IfPattern, LetPattern, TupleGetItemPattern, TuplePattern


def is_op(op_name: str) -> ExprPattern:
    """The operator of that name; call it with patterns of its operands.  Raises `WorkbenchError` for an unknown one."""
    return ExprPattern(get(op_name))


def wildcard() -> WildcardPattern:
    """Anything."""
    return WildcardPattern()


def is_var(name: str = "") -> VarPattern:
    """A variable (of that name)."""
    return VarPattern(name)


def is_constant() -> ConstantPattern:
    """A constant."""
    return ConstantPattern()


def is_expr(expr: Any) -> ExprPattern:
    """Exactly this expression, up to the names it binds."""
    return ExprPattern(expr)


def is_tuple(fields: Sequence[Any] | None = None) -> TuplePattern:
    """A tuple of these fields (None: any)."""
    return TuplePattern(fields)


def is_tuple_get_item(tuple_value: Any, index: int | None = None) -> TupleGetItemPattern:
    """An item (of that index) of what `tuple_value` fits."""
    return TupleGetItemPattern(tuple_value, index)


def is_if(cond: Any, true_branch: Any, false_branch: Any) -> IfPattern:
    """An if of these three."""
    return IfPattern(cond, true_branch, false_branch)


def is_let(var: Any, value: Any, body: Any) -> LetPattern:
    """A let of these three."""
    return LetPattern(var, value, body)


def has_attr(attrs: Mapping[str, Any], pattern: Any = None) -> AttrPattern:
    """What `pattern` (anything) fits, with these attributes."""
    return AttrPattern(pattern if pattern is not None else wildcard(), attrs)


def has_type(ttype: t.Type, pattern: Any = None) -> TypePattern:
    """What `pattern` (anything) fits, of this type."""
    return TypePattern(pattern if pattern is not None else wildcard(), ttype)


def has_dtype(dtype: str, pattern: Any = None) -> DataTypePattern:
    """What `pattern` (anything) fits, a tensor of this dtype."""
    return DataTypePattern(pattern if pattern is not None else wildcard(), dtype)


def has_shape(shape: Sequence[Any], pattern: Any = None) -> ShapePattern:
    """What `pattern` (anything) fits, a tensor of this shape."""
    return ShapePattern(pattern if pattern is not None else wildcard(), shape)


def dominates(parent: Any, path: Any, child: Any) -> DominatorPattern:
    """`child`, into which all of `parent`'s values flow through expressions that fit `path`."""
    return DominatorPattern(parent, path, child)
