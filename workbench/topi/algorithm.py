"""Orders and running totals: sort, argsort, topk, cumsum, cumprod.

Tensor expressions sort by rank: an element's place is the number of elements that come before it.  That takes the
square of the axis's extent, and needs no order of evaluation.

>>> TopK(k=2).infer(TensorType((3, 5)))
(Tensor[(3, 2), float32], Tensor[(3, 2), int32])
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .. import te
from ..arith import build
from ..core.dtype import DataType
from ..relay.ir.operator import Fusion, Operator, Precision, attribute, bad, example, operator
from ..relay.ir.types import Dimension, TensorType, TupleType, Type
from . import attributes as convert
from . import loops
from .emit import injective, stage_name
from .samples import bools, floats, ints
from .shapes import normalized_axis, product, refuse, tensor
from .transform_shape import reshape_tensor
from .unary import check_accepts

_AXIS = attribute(-1, "axis that is ordered", convert=convert.integer)
_ASCEND = attribute(True, "the least first", convert=convert.boolean)


def order_of(data: np.ndarray, axis: int, ascend: bool) -> np.ndarray:
    """The positions that put `axis` in order; equals keep theirs, NaN counts as the greatest."""
    if data.dtype.isbuiltin == 2:  # a dtype of ml_dtypes: NumPy orders NaN of its own floats only
        data = data.astype(np.float32)
    if ascend:
        return np.argsort(data, axis, kind="stable")
    turned = np.argsort(np.flip(data, axis), axis, kind="stable")
    return np.flip(data.shape[axis] - 1 - turned, axis)


def ranks(data: Any, axis: int, ascend: bool, name: str) -> Any:
    """The te stage with the place of each element in the ordered axis."""
    k = te.reduce_axis((0, data.shape[axis]), name="k")

    def element(*i: Any) -> Any:
        other = data(*i[:axis], k.var, *i[axis + 1 :])
        mine = data(*i)
        before = _precedes(other, mine, ascend)
        same = te.all(build.logical_not(before), build.logical_not(_precedes(mine, other, ascend)), k.var < i[axis])
        return te.sum(build.cast("int64", te.any(before, same)), axis=k)

    return te.compute(data.shape, element, name=f"{name}_rank", tag="comm_reduce")


def _precedes(a: Any, b: Any, ascend: bool) -> Any:
    """Whether `a` comes strictly before `b`; NaN is greater than all else."""
    low, high = (a, b) if ascend else (b, a)
    if not a.dtype.is_float:
        return low < high
    unordered = build.logical_and(build.logical_not(build.call("isnan", low)), build.call("isnan", high))
    return build.logical_or(low < high, unordered)


def places(rank: Any, count: Any, axis: int, name: str) -> Any:
    """The te stage with the position of the element of each place (the inverse of `ranks`)."""
    k = te.reduce_axis((0, rank.shape[axis]), name="k")
    shape = (*rank.shape[:axis], count, *rank.shape[axis + 1 :])

    def element(*i: Any) -> Any:
        hit = rank(*i[:axis], k.var, *i[axis + 1 :]).equal(i[axis])
        return te.sum(build.select(hit, k.var, build.const(0)), axis=k)

    return te.compute(shape, element, name=f"{name}_places", tag="comm_reduce")


def picked(op: Operator, data: Any, where: Any, axis: int, name: str) -> Any:
    """data at the positions `where` along `axis`."""
    return injective(op, where.shape, lambda *i: data(*i[:axis], where(*i), *i[axis + 1 :]), name)


def converted(op: Operator, where: Any, dtype: str, name: str) -> Any:
    return injective(op, where.shape, lambda *i: build.cast(dtype, where(*i)), name)


_bad = (bad(floats(2), axis=1, error="outside"), bad(bools(2), error="numbers"))
_sorting = (example(floats(3, 5)), example(ints(4, 6, low=0, high=3), axis=0), example(floats(5), is_ascend=False),
            example(ints(2, 7, low=0, high=3), is_ascend=False),
            example(np.array([2, np.nan, -1, np.nan, 0], "float32")), *_bad)  # fmt: skip


@operator("sort")
class Sort(Operator):
    """The elements along `axis` in order; NaN counts as the greatest."""

    axis: int = _AXIS
    is_ascend: bool = _ASCEND
    fusion = Fusion.OPAQUE
    examples = _sorting

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        check_accepts(self, "number", kind)
        normalized_axis(self, self.axis, len(kind.shape))
        return kind

    def reference(self, data: np.ndarray) -> np.ndarray:
        return np.take_along_axis(data, order_of(data, self.axis, self.is_ascend), self.axis)

    def loops(self, data: TensorType) -> Any:
        axis = normalized_axis(self, self.axis, len(data.shape))
        return loops.sort(data, [("values", data)], axis, self.is_ascend)

    def compute(self, data: Any) -> Any:
        axis = normalized_axis(self, self.axis, len(data.shape))
        where = places(ranks(data, axis, self.is_ascend, "sort"), data.shape[axis], axis, "sort")
        return picked(self, data, where, axis, "sort")


@operator("argsort")
class ArgSort(Operator):
    """The positions that put `axis` in order; equals keep their order."""

    axis: int = _AXIS
    is_ascend: bool = _ASCEND
    dtype: DataType = attribute("int32", "dtype of the positions", convert=convert.dtype)
    fusion = Fusion.OPAQUE
    examples = (*_sorting, example(floats(3, 4), dtype="int64"))

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        check_accepts(self, "number", kind)
        normalized_axis(self, self.axis, len(kind.shape))
        return TensorType(kind.shape, self.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        return order_of(data, self.axis, self.is_ascend).astype(DataType(self.dtype).to_numpy())

    def loops(self, data: TensorType) -> Any:
        axis = normalized_axis(self, self.axis, len(data.shape))
        return loops.sort(data, [("places", self.infer(data))], axis, self.is_ascend)

    def compute(self, data: Any) -> Any:
        axis = normalized_axis(self, self.axis, len(data.shape))
        where = places(ranks(data, axis, self.is_ascend, "argsort"), data.shape[axis], axis, "argsort")
        return converted(self, where, self.dtype, "argsort")


@operator("topk")
class TopK(Operator):
    """The `k` greatest (or least) elements along `axis`, in order, and their positions; k < 1 means all."""

    k: int = attribute(1, "how many", convert=convert.integer)
    axis: int = _AXIS
    ret_type: str = attribute("both", "what is answered", choices=("both", "values", "indices"))
    is_ascend: bool = attribute(False, "the least first", convert=convert.boolean)
    dtype: DataType = attribute("int32", "dtype of the positions", convert=convert.dtype)
    fusion = Fusion.OPAQUE
    examples = (
        example(floats(3, 5), k=2), example(ints(4, 6, low=0, high=3), k=3, axis=0, dtype="int64"),
        example(floats(3, 5), k=2, is_ascend=True, ret_type="values"), example(floats(3, 5), k=0, ret_type="indices"),
        bad(floats(3), k=4, error="more than"), bad(floats(3), ret_type="x", error="one of"), *_bad,
    )  # fmt: skip

    def count(self, extent: Dimension) -> Dimension:
        """How many are answered."""
        if self.k < 1:
            return extent
        if isinstance(extent, int) and self.k > extent:
            refuse(self, "E-TYPE-SHAPE", "more than there are elements along the axis", found=f"k={self.k} of {extent}")
        return self.k

    def infer(self, data: TensorType) -> Type:
        kind = tensor(self, data, "data")
        check_accepts(self, "number", kind)
        axis = normalized_axis(self, self.axis, len(kind.shape))
        shape = (*kind.shape[:axis], self.count(kind.shape[axis]), *kind.shape[axis + 1 :])
        values, indices = TensorType(shape, kind.dtype), TensorType(shape, self.dtype)
        return self._answer(values, indices, lambda *both: TupleType(both))

    def _answer(self, values: Any, indices: Any, both: Any) -> Any:
        return values if self.ret_type == "values" else indices if self.ret_type == "indices" else both(values, indices)

    def reference(self, data: np.ndarray) -> Any:
        count = self.count(data.shape[self.axis])
        order = order_of(data, self.axis, self.is_ascend)
        where = np.take(order, np.arange(int(count)), self.axis)  # type: ignore[arg-type]
        indices = where.astype(DataType(self.dtype).to_numpy())
        return self._answer(np.take_along_axis(data, where, self.axis), indices, lambda *both: both)

    def loops(self, data: TensorType) -> Any:
        axis = normalized_axis(self, self.axis, len(data.shape))
        shape = (*data.shape[:axis], self.count(data.shape[axis]), *data.shape[axis + 1 :])
        both = [("values", TensorType(shape, data.dtype)), ("places", TensorType(shape, self.dtype))]
        wanted = [item for item in both if self.ret_type in ("both", "indices" if item[0] == "places" else "values")]
        return loops.sort(data, wanted, axis, self.is_ascend)

    def compute(self, data: Any) -> Any:
        axis = normalized_axis(self, self.axis, len(data.shape))
        rank = ranks(data, axis, self.is_ascend, "topk")
        where = places(rank, self.count(data.shape[axis]), axis, "topk")
        if self.ret_type == "indices":
            return converted(self, where, self.dtype, "topk_indices")
        values = picked(self, data, where, axis, "topk_values")
        if self.ret_type == "values":
            return values
        return [values, converted(self, where, self.dtype, "topk_indices")]


def _wide(dtype: DataType) -> DataType:
    """The dtype in which a running total of `dtype` is kept: float32 for narrower floats."""
    return DataType("float32") if dtype.is_float and dtype.bits < 32 else dtype


class Scan(Operator):
    """The base of running totals."""

    __slots__ = ()
    fusion = Fusion.OPAQUE
    accumulates = True
    numpy: ClassVar[Any]
    neutral: ClassVar[int]

    def infer(self, data: TensorType) -> TensorType:
        own: Any = self
        kind = tensor(self, data, "data")
        check_accepts(self, "number", kind)
        if own.axis is not None:
            normalized_axis(self, own.axis, len(kind.shape))
            return TensorType(kind.shape, own.dtype or kind.dtype)
        return TensorType((product(kind.shape),), own.dtype or kind.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        own: Any = self
        dtype = DataType(own.dtype or data.dtype.name).to_numpy()
        axis = 0 if own.axis is None else own.axis
        flat = (data.reshape(-1) if own.axis is None else data).astype(_wide(DataType(dtype.name)).to_numpy())
        if own.exclusive and flat.shape[axis]:
            first = np.full_like(np.take(flat, [0], axis), self.neutral)
            flat = np.concatenate([first, np.take(flat, np.arange(flat.shape[axis] - 1), axis)], axis)
        return type(self).numpy(flat, axis).astype(dtype, copy=False)

    def loops(self, data: TensorType) -> Any:
        own: Any = self
        if own.axis is None and len(data.shape) != 1:
            return None
        axis = 0 if own.axis is None else normalized_axis(self, own.axis, len(data.shape))
        return loops.scan(data, self.infer(data), axis, own.exclusive, self.neutral == 1)

    def compute(self, data: Any) -> Any:
        own: Any = self
        kind = self.infer(TensorType(data.shape, data.dtype))
        flat = reshape_tensor(self, data, kind.shape, "flattened") if own.axis is None else data
        axis = 0 if own.axis is None else normalized_axis(self, own.axis, len(data.shape))
        k = te.reduce_axis((0, flat.shape[axis]), name="k")
        reducer = te.sum if self.neutral == 0 else te.prod
        wide = _wide(kind.dtype)
        neutral = build.const(self.neutral, wide)

        def element(*i: Any) -> Any:
            counts = k.var < i[axis] if own.exclusive else k.var <= i[axis]
            value = build.cast(wide, flat(*i[:axis], k.var, *i[axis + 1 :]))
            return reducer(build.select(counts, value, neutral), axis=k)

        found = te.compute(kind.shape, element, name=stage_name(self), tag="comm_reduce")
        return found if wide == kind.dtype else converted(self, found, kind.dtype, f"{stage_name(self)}_narrow")

    def flops(self, data: TensorType) -> int:
        return data.size


_scans = (
    example(floats(3, 5), axis=1), example(ints(3, 4), axis=0, exclusive=True), example(floats(2, 3)),
    example(ints(4, high=3), axis=-1, dtype="int64"), bad(floats(2), axis=1, error="outside"),
    bad(bools(2), error="numbers"),
)  # fmt: skip
_SCAN_AXIS = attribute(None, "along which axis; None: the flat data", convert=convert.optional(convert.integer))
_SCAN_DTYPE = attribute("", "dtype of the result; that of data if empty", convert=convert.dtype_or_same)
_EXCLUSIVE = attribute(False, "leave the element itself out", convert=convert.boolean)


@operator("cumsum")
class CumSum(Scan):
    """The sum of all elements up to each one."""

    axis: int | None = _SCAN_AXIS
    dtype: str = _SCAN_DTYPE
    exclusive: bool = _EXCLUSIVE
    precision = Precision.NEVER
    numpy = staticmethod(np.cumsum)
    neutral = 0
    examples = _scans


@operator("cumprod")
class CumProd(Scan):
    """The product of all elements up to each one."""

    axis: int | None = _SCAN_AXIS
    dtype: str = _SCAN_DTYPE
    exclusive: bool = _EXCLUSIVE
    numpy = staticmethod(np.cumprod)
    neutral = 1
    examples = _scans
