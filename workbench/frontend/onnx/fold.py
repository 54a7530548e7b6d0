"""Values known during import: shape arithmetic is computed as it is converted, so that the program is free of it.

A constant expression is evaluated by the operators' own NumPy reference, iteratively, within `wb.limits.fold_bytes`.

    array = Folder().evaluate(expression)      # None if it is not constant, or too large
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.limits import FoldBudget, limits
from ...core.node import post_order
from ...core.tensor import Tensor
from ...relay.ir.expr import Call, Constant, Expr, Tuple, TupleGetItem
from ...relay.ir.operator import Operator
from ...relay.ir.types import TensorType, TupleType
from .limits import FOLD_ELEMENTS


def nbytes(expression: Expr) -> int:
    """Bytes of an expression's value (tuples: of all parts)."""
    kind = expression.checked_type
    parts = kind.fields if isinstance(kind, TupleType) else (kind,)
    return sum(part.size * part.dtype.bytes for part in parts if isinstance(part, TensorType))


class Folder:
    """Evaluates constant expressions of one import, within its budgets."""

    def __init__(self, budget: FoldBudget) -> None:
        self.budget = budget

    def evaluate(self, expression: Expr) -> Any:
        """The array (or tuple of arrays) of a constant expression; None if it is not one, or too large."""
        if isinstance(expression, Constant):
            return expression.data.numpy()
        parts = [part for part in post_order(expression) if isinstance(part, Expr)]
        if not all(_is_computable(part) for part in parts):
            return None
        if not self.budget.take(sum(map(_work, parts)), 0):
            return None
        values: dict[int, Any] = {}
        with np.errstate(all="ignore"):
            for part in parts:
                values[id(part)] = _value(part, values)
        return values[id(expression)]

    def folded(self, expression: Expr) -> Expr:
        """`expression` as a constant if it is small and constant; itself otherwise."""
        kind = expression.type_or_none
        if isinstance(expression, Constant) or not isinstance(kind, TensorType) or kind.size > FOLD_ELEMENTS:
            return expression
        value = self.evaluate(expression)
        if value is None or not self.budget.take(0, nbytes(expression)):
            return expression
        return Constant(Tensor.of(np.asarray(value).astype(kind.dtype.to_numpy(), copy=False)))


def is_constant(expression: Expr) -> bool:
    """Whether an expression depends on constants alone, whatever computing it would cost."""
    kinds = (Constant, Call, Tuple, TupleGetItem)
    parts = [part for part in post_order(expression) if isinstance(part, Expr)]
    return all(isinstance(part, kinds) for part in parts)


def _work(part: Expr) -> int:
    """Bytes that computing an expression reads and makes, and its arithmetic."""
    if not isinstance(part, Call) or not isinstance(part.op, Operator):
        return nbytes(part)
    operands = [argument.checked_type for argument in part.args]
    return nbytes(part) + sum(map(nbytes, part.args)) + part.op.flops(*operands)


def _is_computable(part: Expr) -> bool:
    if isinstance(part, Constant):
        return part.data.nbytes <= limits.fold_bytes
    if isinstance(part, Call):
        return isinstance(part.op, Operator) and not part.op.effects and nbytes(part) <= limits.fold_bytes
    return isinstance(part, (Tuple, TupleGetItem))


def _value(part: Expr, values: dict[int, Any]) -> Any:
    if isinstance(part, Constant):
        return part.data.numpy()
    if isinstance(part, Call):
        assert isinstance(part.op, Operator)
        return part.op.reference(*(values[id(operand)] for operand in part.args))
    if isinstance(part, Tuple):
        return tuple(values[id(item)] for item in part.fields)
    assert isinstance(part, TupleGetItem)
    return values[id(part.tuple_value)][part.index]
