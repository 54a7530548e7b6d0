"""Relay expressions with types, as converters write them.

What does not fit is refused when it is made; a converter may ask everything for its shape.

>>> shape_of(scalar(1.0, "float32"))
()
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.dtype import DataType
from ...core.errors import WorkbenchError, nearest
from ...core.tensor import Tensor
from ...relay.ir.expr import Call, Constant, Expr, Tuple, TupleGetItem
from ...relay.ir.operator import OPERATORS
from ...relay.ir.types import TensorType, TupleType


def call(name: str, *operands: Expr, **attributes: Any) -> Expr:
    """A call of the operator `name`, its type inferred.

    Raises `WorkbenchError` for an unknown operator or attribute, and when operands do not fit.
    """
    form = OPERATORS.get(name)
    if form is None:
        raise WorkbenchError(
            "E-OPERATOR-UNKNOWN",
            f"there is no operator {name!r}",
            expected="a name of relay.op",
            fix=nearest(name, OPERATORS),
        )
    for key in attributes:
        if key not in form.field_names:
            raise WorkbenchError(
                "E-OPERATOR-ATTRIBUTE",
                f"{name} has no attribute {key!r}",
                found=key,
                expected=", ".join(form.field_names) or "none",
                fix=nearest(key, form.field_names),
            )
    try:
        op = form(**attributes)
    except TypeError as error:  # an attribute without a default is missing
        raise WorkbenchError(
            "E-OPERATOR-ATTRIBUTE", f"{name}: {str(error).rpartition('() ')[2]}", found=", ".join(attributes) or "none",
            expected=", ".join(form.field_names), fix="give it",
        ) from None  # fmt: skip
    made = Call(op, operands)
    made.checked_type  # noqa: B018  (asked for its refusal)
    return made


def reshaped(value: Expr, shape: Sequence[int]) -> Expr:
    """`value` with another shape of as many elements; a 0 is an empty axis (not, as in relay, one that is copied)."""
    return call("reshape", value, newshape=tuple(shape), allowzero=0 in shape)


def pack(parts: Sequence[Expr]) -> Tuple:
    """A tuple of expressions."""
    return Tuple(tuple(parts))


def unpack(value: Expr) -> tuple[Expr, ...]:
    """The parts of an expression of tuple type."""
    if isinstance(value, Tuple):
        return value.fields
    kind = value.checked_type
    assert isinstance(kind, TupleType)
    return tuple(TupleGetItem(value, index) for index in range(len(kind.fields)))


def type_of(value: Expr) -> TensorType:
    """The tensor type of an expression.  Raises `WorkbenchError` for tuples."""
    kind = value.checked_type
    if isinstance(kind, TensorType):
        return kind
    raise WorkbenchError("E-ONNX-TENSOR", "a tensor is needed here", found=repr(kind))


def shape_of(value: Expr) -> tuple[int, ...]:
    return type_of(value).concrete_shape


def rank_of(value: Expr) -> int:
    return len(type_of(value).shape)


def dtype_of(value: Expr) -> DataType:
    return type_of(value).dtype


def constant(value: Any, dtype: str | None = None) -> Constant:
    """A constant of an array-like."""
    return Constant(Tensor.of(np.asarray(value), dtype))


def scalar(value: float | int | bool, dtype: str) -> Constant:
    """A constant without axes.  Raises `WorkbenchError` for a number that the type does not hold."""
    kind = DataType(dtype)
    if kind.is_integer:
        low, high = kind.limits()
        if not (np.isfinite(float(value)) and low <= int(value) <= high):
            raise WorkbenchError("E-ONNX-NODE", "a number is not of the operand's type", found=str(value),
                                 expected=f"{kind}: {low} to {high}")  # fmt: skip
    return Constant(Tensor.of(np.asarray(value, kind.to_numpy())))


def like(value: float | int | bool, other: Expr) -> Constant:
    """A scalar constant of `other`'s element type."""
    return scalar(value, dtype_of(other))
