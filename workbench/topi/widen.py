"""Operators that add up many values compute float16 and bfloat16 in float32.

A sum of a thousand float16 has three good digits if every step is rounded; so operands are widened, and only results
rounded.  Which operators do so is their own statement (`Operator.accumulates`).

>>> from workbench import te
>>> tensor_expression(OPERATORS["sum"](axis=(0,)), [te.placeholder((4,), "float16")]).dtype
'float16'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import te
from ..arith import build
from ..core.dtype import DataType
from ..relay.ir.operator import OPERATORS, Operator
from ..relay.ir.types import TensorType, TupleType

__all__ = ["OPERATORS", "tensor_expression"]


def tensor_expression(op: Operator, operands: list[Any], compute: Callable[..., Any] | None = None) -> Any:
    """What `op.compute` gives, with 16-bit floats added up in float32 where the operator says so.

    `compute` stands in its place, where something else is to compute the operator.  A result without elements needs
    no computing: it is declared, so that no rule has to divide by its extents.
    """
    empty = _without_elements(op, operands)
    if empty is not None:
        return empty
    narrow = next((item.dtype for item in operands if isinstance(item, te.Tensor) and _is_narrow(item.dtype)), None)
    compute = compute or op.compute
    if not type(op).accumulates or narrow is None:
        return compute(*operands)
    made = compute(*(_cast(item, "float32") if _takes_part(item) else item for item in operands))
    if str(getattr(op, "out_dtype", "")) == "float32":  # the wide sums themselves are asked for
        return made
    if isinstance(made, (list, tuple)):
        return [_cast(item, narrow) if item.dtype == "float32" else item for item in made]
    return _cast(made, narrow) if made.dtype == "float32" else made


def _without_elements(op: Operator, operands: list[Any]) -> Any:
    """The results of operands some of which are empty, if all of the results are; else None."""
    tensors = [part for item in operands for part in (item if isinstance(item, (list, tuple)) else (item,))]
    if not any(isinstance(extent, int) and extent == 0 for tensor in tensors for extent in tensor.shape):
        return None
    kind = op.infer(*map(_type_of, operands))
    kinds = kind.fields if isinstance(kind, TupleType) else (kind,)
    if not all(isinstance(item, TensorType) and item.is_static and item.size == 0 for item in kinds):
        return None
    made = [
        te.compute(item.shape, lambda *_, dtype=item.dtype: build.const(0, dtype), name="empty", tag="injective")
        for item in kinds
        if isinstance(item, TensorType)
    ]
    return made if isinstance(kind, TupleType) else made[0]


def _type_of(item: Any) -> Any:
    if isinstance(item, (list, tuple)):
        return TupleType(tuple(_type_of(part) for part in item))
    return TensorType(item.shape, item.dtype)


def _is_narrow(dtype: DataType) -> bool:
    return dtype.is_float and dtype.bits == 16


def _takes_part(item: Any) -> bool:
    return isinstance(item, te.Tensor) and _is_narrow(item.dtype)


def _cast(item: Any, dtype: str) -> Any:
    return te.compute(
        item.shape, lambda *i: build.cast(dtype, item(*i)), name=f"{item.op.name}_as_{dtype}", tag="elemwise"
    )
