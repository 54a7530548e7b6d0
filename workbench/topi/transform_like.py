"""Operators that take shape or dtype from another tensor, and small helpers of shapes.

cast_like, reshape_like, full_like, broadcast_to_like, collapse_sum_like, collapse_sum_to, slice_like, ndarray_size,
trilu.  The like forms become the plain operator with attributes (`decompose`).

>>> ReshapeLike().infer(TensorType((2, 6)), TensorType((3, 4)))
Tensor[(3, 4), float32]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import te
from ..arith import build
from ..core.dtype import DataType
from ..relay.ir.operator import Fusion, Operator, attribute, bad, example, operator
from ..relay.ir.types import TensorType
from . import attributes as convert
from . import calls as relay
from .clip_cast import cast_numpy, cast_scalar
from .emit import broadcast as stretched
from .emit import elementwise, injective
from .reduce import reduce_tensor
from .samples import bools, floats, ints
from .shapes import Shape, broadcast, normalized_axes, product, refuse, same_dimension, tensor, text
from .transform_shape import reshape_tensor


@operator("cast_like")
class CastLike(Operator):
    """data converted to the dtype of dtype_like."""

    fusion = Fusion.ELEMWISE
    examples = (
        example(floats(3, low=-4, high=4), ints(2)),
        example(ints(3), floats()),
        bad((floats(2),), ints(2), error="must be a tensor"),
    )

    def infer(self, data: TensorType, dtype_like: TensorType) -> TensorType:
        return TensorType(tensor(self, data, "data").shape, tensor(self, dtype_like, "dtype_like").dtype)

    def reference(self, data: np.ndarray, dtype_like: np.ndarray) -> np.ndarray:
        return cast_numpy(data, DataType(dtype_like.dtype.name))

    def compute(self, data: Any, dtype_like: Any) -> Any:
        return elementwise(self, lambda value: cast_scalar(dtype_like.dtype, value), data)

    def decompose(self, data: Any, dtype_like: Any) -> Any:
        return relay.call("cast", data, dtype=dtype_like.checked_type.dtype)


@operator("reshape_like")
class ReshapeLike(Operator):
    """data in the shape of shape_like: axes `lhs_begin` to `lhs_end` become its axes `rhs_begin` to `rhs_end`.

    Ends of None are behind the last axis; negative ones count from there.
    """

    lhs_begin: int = attribute(0, "first axis of data that changes", convert=convert.integer)
    lhs_end: int | None = attribute(
        None, "axis of data behind those that change", convert=convert.optional(convert.integer)
    )
    rhs_begin: int = attribute(0, "first axis of shape_like that is taken", convert=convert.integer)
    rhs_end: int | None = attribute(
        None, "axis of shape_like behind those taken", convert=convert.optional(convert.integer)
    )
    fusion = Fusion.INJECTIVE
    aliasing = 0
    examples = (
        example(floats(2, 6), floats(3, 4)),
        example(floats(6), ints(2, 3)),
        example(floats(30, 7), floats(7, 2, 3, 5), lhs_begin=0, lhs_end=1, rhs_begin=1, rhs_end=4),
        example(floats(2, 6, 5), floats(9, 2, 3), lhs_begin=1, lhs_end=-1, rhs_begin=-2),
        bad(floats(2, 3), floats(5), error="number of elements"),
        bad(floats(2, 3), floats(6), lhs_begin=4, error="outside"),
    )

    def shape(self, data: Shape, like: Shape) -> Shape:
        """The shape of the result."""
        first, last = self._range(self.lhs_begin, self.lhs_end, len(data), "lhs")
        begin, end = self._range(self.rhs_begin, self.rhs_end, len(like), "rhs")
        return (*data[:first], *like[begin:end], *data[last:])

    def _range(self, begin: int, end: int | None, rank: int, side: str) -> tuple[int, int]:
        last = rank if end is None else end + rank if end < 0 else end
        first = begin + rank if begin < 0 else begin
        if not 0 <= first <= last <= rank:
            message = f"{side}_begin and {side}_end reach outside of {rank} axes"
            refuse(self, "E-TYPE-AXIS", message, found=f"{begin} to {end}")
        return first, last

    def infer(self, data: TensorType, shape_like: TensorType) -> TensorType:
        kind, like = tensor(self, data, "data"), tensor(self, shape_like, "shape_like")
        shape = self.shape(kind.shape, like.shape)
        if same_dimension(product(kind.shape), product(shape)) is False:
            refuse(
                self,
                "E-TYPE-RESHAPE",
                "the number of elements would change",
                found=f"{text(kind.shape)} to {text(shape)}",
            )
        return TensorType(shape, kind.dtype)

    def reference(self, data: np.ndarray, shape_like: np.ndarray) -> np.ndarray:
        return data.reshape(self.shape(data.shape, shape_like.shape))  # type: ignore[arg-type]

    def compute(self, data: Any, shape_like: Any) -> Any:
        return reshape_tensor(self, data, self.shape(data.shape, shape_like.shape))

    def decompose(self, data: Any, shape_like: Any) -> Any:
        shape = self.shape(data.checked_type.shape, shape_like.checked_type.shape)
        return relay.call("reshape", data, newshape=shape, allowzero=True)


@operator("full_like")
class FullLike(Operator):
    """A tensor of one value in the shape and dtype of data."""

    fusion = Fusion.ELEMWISE
    examples = (
        example(floats(2, 3), floats()),
        example(ints(4), floats(low=2, high=5)),
        bad(floats(2), floats(2), error="0 axes"),
    )

    def infer(self, data: TensorType, fill_value: TensorType) -> TensorType:
        tensor(self, fill_value, "fill_value", 0)
        return tensor(self, data, "data")

    def reference(self, data: np.ndarray, fill_value: np.ndarray) -> np.ndarray:
        return np.full(data.shape, cast_numpy(fill_value, DataType(data.dtype.name)))

    def compute(self, data: Any, fill_value: Any) -> Any:
        return injective(self, data.shape, lambda *i: cast_scalar(data.dtype, fill_value()))


@operator("broadcast_to_like")
class BroadcastToLike(Operator):
    """data stretched to the shape of shape_like."""

    fusion = Fusion.BROADCAST
    examples = (example(floats(3, 1), floats(2, 3, 4)), bad(floats(3), floats(2), error="broadcast"))

    def infer(self, data: TensorType, shape_like: TensorType) -> TensorType:
        kind, like = tensor(self, data, "data"), tensor(self, shape_like, "shape_like")
        check_stretches(self, kind.shape, like.shape)
        return TensorType(like.shape, kind.dtype)

    def reference(self, data: np.ndarray, shape_like: np.ndarray) -> np.ndarray:
        return np.array(np.broadcast_to(data, shape_like.shape))

    def compute(self, data: Any, shape_like: Any) -> Any:
        return stretched(self, lambda value: value, shape_like.shape, data)

    def decompose(self, data: Any, shape_like: Any) -> Any:
        return relay.call("broadcast_to", data, shape=shape_like.checked_type.shape)


def check_stretches(op: Operator, shape: Shape, wide: Shape) -> None:
    """Refuse unless `shape` broadcasts to exactly `wide`."""
    found = broadcast(op, shape, wide)
    if len(found) != len(wide) or any(same_dimension(a, b) is False for a, b in zip(found, wide, strict=True)):
        refuse(op, "E-TYPE-BROADCAST", "data does not broadcast to the shape", found=f"{text(shape)} to {text(wide)}")


def _collapsed(op: Operator, data: Shape, target: Shape) -> tuple[int, ...]:
    """The axes of data that are summed so that `target` is left."""
    check_stretches(op, target, data)
    extra = len(data) - len(target)
    ones = (
        at + extra
        for at, extent in enumerate(target)
        if isinstance(extent, int) and extent == 1 and data[at + extra] != 1
    )
    return (*range(extra), *ones)


def _collapse_tensor(op: Operator, data: Any, target: Shape) -> Any:
    axes = _collapsed(op, data.shape, target)
    return reshape_tensor(op, reduce_tensor(data, axes, True, te.sum, "collapse_sum"), target, "collapse_reshape")


@operator("collapse_sum_to")
class CollapseSumTo(Operator):
    """The sum over the axes that broadcasting to data's shape would stretch: the inverse of broadcast_to."""

    shape: tuple[Any, ...] = attribute(doc="shape of the result", convert=convert.shape)
    fusion = Fusion.COMM_REDUCE
    accumulates = True
    examples = (
        example(floats(2, 3, 4), shape=(3, 1)), example(floats(2, 3), shape=(2, 3)), example(floats(2, 3), shape=()),
        bad(floats(2, 3), shape=(2,), error="broadcast"),
    )  # fmt: skip

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        _collapsed(self, kind.shape, self.shape)
        return TensorType(self.shape, kind.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        return np.asarray(data.sum(_collapsed(self, data.shape, self.shape), keepdims=True, dtype=data.dtype)).reshape(
            self.shape
        )

    def compute(self, data: Any) -> Any:
        return _collapse_tensor(self, data, self.shape)

    def flops(self, data: TensorType) -> int:
        return data.size


@operator("collapse_sum_like")
class CollapseSumLike(Operator):
    """The sum over the axes that broadcasting collapse_type to data's shape would stretch."""

    fusion = Fusion.COMM_REDUCE
    accumulates = True
    examples = (example(floats(2, 3, 4), floats(3, 1)), bad(floats(2, 3), floats(2), error="broadcast"))

    def infer(self, data: TensorType, collapse_type: TensorType) -> TensorType:
        kind, like = tensor(self, data, "data"), tensor(self, collapse_type, "collapse_type")
        _collapsed(self, kind.shape, like.shape)
        return TensorType(like.shape, kind.dtype)

    def reference(self, data: np.ndarray, collapse_type: np.ndarray) -> np.ndarray:
        shape = collapse_type.shape
        return np.asarray(data.sum(_collapsed(self, data.shape, shape), keepdims=True, dtype=data.dtype)).reshape(shape)

    def compute(self, data: Any, collapse_type: Any) -> Any:
        return _collapse_tensor(self, data, collapse_type.shape)

    def decompose(self, data: Any, collapse_type: Any) -> Any:
        return relay.call("collapse_sum_to", data, shape=collapse_type.checked_type.shape)

    def flops(self, data: TensorType, collapse_type: TensorType) -> int:
        return data.size


@operator("slice_like")
class SliceLike(Operator):
    """The leading part of data in the extents of shape_like, on `axes` (by default all)."""

    axes: tuple[int, ...] | None = attribute(None, "axes that are cut", convert=convert.optional(convert.integers))
    fusion = Fusion.INJECTIVE
    examples = (
        example(floats(4, 5), floats(2, 3)), example(floats(4, 5), floats(2, 3), axes=(1,)),
        bad(floats(2, 3), floats(3, 3), error="longer"), bad(floats(2), floats(2, 2), axes=(1,), error="outside"),
    )  # fmt: skip

    def shape(self, data: Shape, like: Shape) -> Shape:
        rank = min(len(data), len(like))
        axes = range(rank) if self.axes is None else normalized_axes(self, self.axes, rank)
        result = list(data)
        for axis in axes:
            extent, wanted = data[axis], like[axis]
            if isinstance(extent, int) and isinstance(wanted, int) and wanted > extent:
                refuse(self, "E-TYPE-SLICE", "shape_like is longer than data", found=f"{wanted} of {extent}")
            result[axis] = wanted
        return tuple(result)

    def infer(self, data: TensorType, shape_like: TensorType) -> TensorType:
        kind, like = tensor(self, data, "data"), tensor(self, shape_like, "shape_like")
        return TensorType(self.shape(kind.shape, like.shape), kind.dtype)

    def reference(self, data: np.ndarray, shape_like: np.ndarray) -> np.ndarray:
        shape = self.shape(data.shape, shape_like.shape)
        return np.require(data[tuple(slice(int(extent)) for extent in shape)], requirements="C")  # type: ignore[arg-type]

    def compute(self, data: Any, shape_like: Any) -> Any:
        return injective(self, self.shape(data.shape, shape_like.shape), lambda *i: data(*i))


@operator("ndarray_size")
class NdarraySize(Operator):
    """The number of elements."""

    dtype: DataType = attribute("int32", "dtype of the result", convert=convert.dtype)
    examples = (example(floats(2, 3)), example(floats(), dtype="int64"))

    def infer(self, data: TensorType) -> TensorType:
        tensor(self, data, "data")
        return TensorType((), self.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        return np.asarray(data.size, self.dtype)

    def compute(self, data: Any) -> Any:
        return injective(self, (), lambda: build.cast(self.dtype, build.convert(product(data.shape))))


@operator("trilu")
class Trilu(Operator):
    """The triangle of matrices above (or below) the `k`-th diagonal; zeros elsewhere."""

    k: int = attribute(0, "diagonal counted from the main one, upwards", convert=convert.integer)
    upper: bool = attribute(True, "keep what is above", convert=convert.boolean)
    fusion = Fusion.INJECTIVE
    examples = (
        example(floats(3, 4)), example(floats(2, 4, 3), upper=False, k=1), example(ints(4, 4), k=-1),
        bad(floats(3), error="2 axes"), example(bools(3, 3)),
    )  # fmt: skip

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        if len(kind.shape) < 2:
            refuse(self, "E-TYPE-RANK", "data must have at least 2 axes", found=kind)
        return kind

    def reference(self, data: np.ndarray) -> np.ndarray:
        return (np.triu if self.upper else np.tril)(data, self.k)

    def compute(self, data: Any) -> Any:
        def element(*i: Any) -> Any:
            distance = i[-1] - i[-2]
            keep = distance >= self.k if self.upper else distance <= self.k
            return build.select(keep, data(*i), build.const(0, data.dtype))

        return injective(self, data.shape, element)
