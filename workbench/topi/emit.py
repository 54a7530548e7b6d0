"""Tensor expressions that many operators share: elementwise, broadcasting and index-mapping computations.

A stage is named after its operator without the namespace ("nn.relu" -> "relu"), and carries the classic tags
("elemwise", "broadcast", "injective") that schedules look at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import te
from ..arith import build
from ..arith.nodes import literal
from ..relay.ir.operator import Operator
from ..relay.ir.types import TensorType


def type_of(tensor: Any) -> TensorType:
    """The relay type of a te tensor, for type rules."""
    return TensorType(tensor.shape, tensor.dtype)


def stage_name(op: Operator) -> str:
    """The name of an operator's main stage."""
    return op.name.rsplit(".", 1)[-1]


def elementwise(op: Operator, function: Callable[..., Any], *tensors: Any, tag: str = "elemwise") -> Any:
    """function(a[i...], b[i...], ...) over tensors of one shape."""
    return te.compute(
        tensors[0].shape, lambda *i: function(*(tensor(*i) for tensor in tensors)), name=stage_name(op), tag=tag
    )


def broadcast(op: Operator, function: Callable[..., Any], shape: Sequence[Any], *tensors: Any) -> Any:
    """function(a, b, ...) with operands stretched to `shape` by NumPy's rule."""
    def element(*i: Any) -> Any:
        return function(*(stretched(tensor, i, shape) for tensor in tensors))

    return te.compute(shape, element, name=stage_name(op), tag="broadcast")


def stretched(tensor: Any, indices: Sequence[Any], shape: Sequence[Any]) -> Any:
    """tensor[i...] over `shape`, where axes of extent 1 repeat and missing leading axes are ignored.

    An axis that has extent 1 in the result too keeps its index, so that the stage stays elementwise to schedules.
    """
    offset = len(indices) - len(tensor.shape)
    used = [
        0 if is_one(extent) and not is_one(shape[offset + axis]) else indices[offset + axis]
        for axis, extent in enumerate(tensor.shape)
    ]
    return tensor(*used)


def is_one(extent: Any) -> bool:
    value = literal(extent, extent)
    return isinstance(value, int) and value == 1


def injective(op: Operator, shape: Sequence[Any], function: Callable[..., Any], name: str = "") -> Any:
    """A tensor whose elements are read from elsewhere."""
    return te.compute(shape, function, name=name or stage_name(op), tag="injective")


def row_major(indices: Sequence[Any], shape: Sequence[Any]) -> Any:
    """The position of an element in memory order."""
    total: Any = build.const(0)
    for index, extent in zip(indices, shape, strict=True):
        total = total * extent + index
    return total


def unravel(position: Any, shape: Sequence[Any]) -> list[Any]:
    """The indices of the element at `position` in memory order (of an empty tensor: anything, as none is read)."""
    found: list[Any] = []
    for axis in range(len(shape) - 1, -1, -1):
        extent = 1 if isinstance(shape[axis], int) and shape[axis] == 0 else shape[axis]
        found.append(position if axis == 0 else position % extent)
        position = position // extent
    return found[::-1]


def batch_indices(tensor: Any, indices: Sequence[Any], shape: Sequence[Any]) -> list[Any]:
    """Indices into the leading axes (all but two) of a stack of matrices, stretched by NumPy's rule."""
    leading = tensor.shape[:-2]
    offset = len(indices) - len(leading)
    return [
        0 if is_one(extent) and not is_one(shape[offset + axis]) else indices[offset + axis]
        for axis, extent in enumerate(leading)
    ]
