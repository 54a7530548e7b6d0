"""Types of weights and vectors that nobody wrote down, told from an operator's attributes and its data.

    conv = nn.conv2d(data, var("weight"), channels=64, kernel_size=(3, 3))      # weight is (64, C, 3, 3)

Inference asks (`Operator.deduce`) when an operand's type is unknown, as in networks written by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..relay.ir.types import TensorType, Type
from .layout import Layout


def along_axis(data: Type | None, axis: int, vectors: Sequence[Type | None]) -> tuple[Type | None, ...]:
    """(data, vectors): unknown vectors get data's dtype and its extent along `axis`."""
    known = None
    if isinstance(data, TensorType) and -len(data.shape) <= axis < len(data.shape):
        known = TensorType((data.shape[axis],), data.dtype)
    return (data, *(vector if vector is not None else known for vector in vectors))


def convolution_weight(op: Any, data: Type | None, weight: Type | None, transposed: bool = False) -> tuple[Any, Any]:
    """(data, weight): an unknown weight from channels, kernel_size, groups and data, where its layout is plain."""
    if weight is not None or not isinstance(data, TensorType) or op.channels is None or op.kernel_size is None:
        return data, weight
    source, kernel = Layout(op.data_layout), Layout(op.kernel_layout)
    if kernel.factors or source.factors or len(source.axes) != len(data.shape):
        return data, weight
    taken = data.shape[source.index_of("C")]
    if not isinstance(taken, int) or op.groups < 1 or taken % op.groups or op.channels % op.groups:
        return data, weight
    extents: dict[str, int] = dict(zip((one for one in kernel.letters if one not in "OI"), op.kernel_size, strict=True))
    if transposed:
        extents |= {"I": taken, "O": op.channels // op.groups}
    else:
        extents |= {"O": op.channels, "I": taken // op.groups}
    return data, TensorType(tuple(extents[letter] for letter in kernel.letters), data.dtype)


def dense_weight(op: Any, data: Type | None, weight: Type | None) -> tuple[Any, Any]:
    """(data, weight): an unknown weight from units and data."""
    if weight is None and isinstance(data, TensorType) and op.units is not None and data.shape:
        weight = TensorType((op.units, data.shape[-1]), data.dtype)
    return data, weight
