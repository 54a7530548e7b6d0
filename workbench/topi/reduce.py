"""Reductions: sum, mean, max, min, prod, all, any, variance, logsumexp, argmax, argmin.

`axis` is None (all axes), an int or several; with `exclude` the axes not named are reduced.  Reduced axes vanish, or
stay with extent 1 if `keepdims`.

>>> Sum(axis=(1,)).infer(TensorType((2, 3)))
Tensor[(2), float32]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from .. import te
from ..arith import build
from ..core.dtype import DataType
from ..relay.ir.operator import Fusion, Operator, Precision, attribute, bad, example, operator
from ..relay.ir.types import TensorType
from . import arrange
from . import attributes as convert
from .emit import row_major, stage_name
from .samples import bools, floats, ints
from .shapes import Shape, normalized_axes, product, refuse, tensor, whole
from .unary import check_accepts

_AXIS = attribute(None, "axes to reduce; None: all", convert=convert.optional(convert.integers))
_KEEP = attribute(False, "keep reduced axes with extent 1", convert=convert.boolean)
_EXCLUDE = attribute(False, "reduce the axes not named", convert=convert.boolean)


class Reduction(Operator):
    """The base of reductions over `axis`."""

    __slots__ = ()
    fusion = Fusion.COMM_REDUCE
    accepts: ClassVar[str] = "number"
    numpy: ClassVar[Callable[..., Any]]
    reducer: ClassVar[str]
    """The te reducer: "sum", "max", ..."""
    axis: ClassVar[Any]
    keepdims: ClassVar[Any]
    exclude: ClassVar[Any]

    def axes(self, rank: int) -> tuple[int, ...]:
        """The axes that are reduced, ascending."""
        return reduced_axes(self, self.axis, rank, bool(self.exclude))

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.reduced(self, operands, self.axes(len(types[0].shape)))

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        check_accepts(self, self.accepts, kind)
        return TensorType(reduced_shape(kind.shape, self.axes(len(kind.shape)), bool(self.keepdims)), kind.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        found = type(self).numpy(data, axis=self.axes(data.ndim), keepdims=bool(self.keepdims))
        return np.asarray(found).astype(data.dtype, copy=False)

    def compute(self, data: Any) -> Any:
        reducer = {"sum": te.sum, "max": te.max, "min": te.min, "prod": te.prod, "all": te.all, "any": te.any}
        return reduce_tensor(
            data, self.axes(len(data.shape)), bool(self.keepdims), reducer[self.reducer], stage_name(self)
        )

    def flops(self, data: TensorType) -> int:
        return data.size


def reduced_axes(op: Operator, axis: Any, rank: int, exclude: bool) -> tuple[int, ...]:
    """The axes that are reduced, ascending, counted from the front."""
    if axis is None:
        named: tuple[int, ...] = () if exclude else tuple(range(rank))
    else:
        named = normalized_axes(op, axis, rank)
    return tuple(sorted(set(range(rank)) - set(named))) if exclude else tuple(sorted(named))


def reduced_shape(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    """A shape after reducing `axes`."""
    if keepdims:
        return tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


def reduce_tensor(data: Any, axes: tuple[int, ...], keepdims: bool, reducer: Any, name: str) -> Any:
    """The te stage that reduces `axes` of a tensor."""
    if not axes:
        return te.compute(data.shape, lambda *i: data(*i), name=name, tag="elemwise")
    reduced = {axis: te.reduce_axis((0, data.shape[axis]), name=f"k{axis}") for axis in axes}
    shape = reduced_shape(data.shape, axes, keepdims)

    def element(*i: Any) -> Any:
        kept = [index for position, index in enumerate(i) if not (keepdims and position in axes)]
        spatial = iter(kept)
        where = [reduced[axis] if axis in reduced else next(spatial) for axis in range(len(data.shape))]
        return reducer(data(*where), axis=list(reduced.values()))

    return te.compute(shape, element, name=name, tag="comm_reduce")


_examples = (
    example(floats(2, 3, 4)), example(floats(2, 3, 4), axis=1), example(floats(2, 3, 4), axis=(0, -1), keepdims=True),
    example(floats(2, 3, 4), axis=[1], exclude=True), example(floats(3), axis=0), example(ints(3, 4), axis=1),
    bad(floats(2, 3), axis=2, error="outside a tensor of 2 axes"),
    bad(floats(2, 3), axis=(1, -1), error="twice"), bad(bools(2), error="numbers"),
)  # fmt: skip
_float_examples = (
    example(floats(2, 3, 4)), example(floats(2, 3, 4), axis=1), example(floats(2, 5), axis=-1, keepdims=True),
    bad(ints(2, 3), error="float dtype"), bad(floats(2), axis=1, error="outside"),
)  # fmt: skip
_bool_examples = (
    example(bools(2, 3), axis=1),
    example(bools(2, 3), keepdims=True),
    bad(floats(2), error="must be bool"),
)


@operator("sum")
class Sum(Reduction):
    """The sum over `axis`."""

    axis: tuple[int, ...] | None = _AXIS
    keepdims: bool = _KEEP
    exclude: bool = _EXCLUDE
    precision = Precision.NEVER
    numpy = staticmethod(np.sum)
    reducer = "sum"
    accumulates = True
    examples = _examples


@operator("prod")
class Prod(Reduction):
    """The product over `axis`."""

    axis: tuple[int, ...] | None = _AXIS
    keepdims: bool = _KEEP
    exclude: bool = _EXCLUDE
    precision = Precision.NEVER
    numpy = staticmethod(np.prod)
    reducer = "prod"
    accumulates = True
    examples = (*(item for item in _examples if item.error), example(floats(2, 3), axis=1), example(ints(3), axis=0))


def _limits(dtype: np.dtype) -> tuple[Any, Any]:
    kind = DataType(dtype.name)
    return (-np.inf, np.inf) if kind.is_float else kind.limits()


def _greatest(data: np.ndarray, axis: Any, keepdims: bool) -> Any:
    return np.max(data, axis=axis, keepdims=keepdims, initial=_limits(data.dtype)[0])


def _least(data: np.ndarray, axis: Any, keepdims: bool) -> Any:
    return np.min(data, axis=axis, keepdims=keepdims, initial=_limits(data.dtype)[1])


@operator("max")
class Max(Reduction):
    """The greatest value over `axis`; NaN if any is; of nothing, minus infinity or the least integer."""

    axis: tuple[int, ...] | None = _AXIS
    keepdims: bool = _KEEP
    exclude: bool = _EXCLUDE
    precision = Precision.FOLLOW
    numpy = staticmethod(_greatest)
    reducer = "max"
    examples = _examples


@operator("min")
class Min(Reduction):
    """The least value over `axis`; NaN if any is; of nothing, infinity or the greatest integer."""

    axis: tuple[int, ...] | None = _AXIS
    keepdims: bool = _KEEP
    exclude: bool = _EXCLUDE
    precision = Precision.FOLLOW
    numpy = staticmethod(_least)
    reducer = "min"
    examples = _examples


@operator("all")
class All(Reduction):
    """True where every value over `axis` is."""

    axis: tuple[int, ...] | None = _AXIS
    keepdims: bool = _KEEP
    exclude: bool = _EXCLUDE
    accepts = "bool"
    numpy = staticmethod(np.all)
    reducer = "all"
    examples = _bool_examples


@operator("any")
class AnyTrue(Reduction):
    """True where some value over `axis` is."""

    axis: tuple[int, ...] | None = _AXIS
    keepdims: bool = _KEEP
    exclude: bool = _EXCLUDE
    accepts = "bool"
    numpy = staticmethod(np.any)
    reducer = "any"
    examples = _bool_examples


def extent_of(data: Any, axes: tuple[int, ...]) -> Any:
    """The number of elements that are reduced into one (a dimension)."""
    shape = data.checked_type.shape if hasattr(data, "checked_type") else data.shape
    return product(shape[axis] for axis in axes)


@operator("mean")
class Mean(Reduction):
    """The arithmetic mean over `axis`; of integers truncated."""

    axis: tuple[int, ...] | None = _AXIS
    keepdims: bool = _KEEP
    exclude: bool = _EXCLUDE
    precision = Precision.NEVER
    numpy = staticmethod(np.mean)
    accumulates = True
    examples = (*(item for item in _examples if item.error), *(item for item in _float_examples if not item.error))

    def reference(self, data: np.ndarray) -> np.ndarray:
        axes = self.axes(data.ndim)
        found = np.mean(data, axis=axes, keepdims=bool(self.keepdims), dtype=np.float64)
        return np.asarray(found).astype(data.dtype)

    def compute(self, data: Any) -> Any:
        axes = self.axes(len(data.shape))
        total = reduce_tensor(data, axes, bool(self.keepdims), te.sum, "mean_sum")
        count = build.cast(data.dtype, extent_of(data, axes))
        return te.compute(total.shape, lambda *i: build.truncdiv(total(*i), count), name="mean", tag="elemwise")


@operator("variance")
class Variance(Reduction):
    """The mean squared distance from the mean over `axis`; `unbiased` divides by one less."""

    axis: tuple[int, ...] | None = _AXIS
    keepdims: bool = _KEEP
    exclude: bool = _EXCLUDE
    unbiased: bool = attribute(False, "divide by count - 1", convert=convert.boolean)
    with_mean: None = attribute(None, "a mean computed before; None: computed here", choices=(None,))
    precision = Precision.NEVER
    accepts = "float"
    accumulates = True
    examples = (*_float_examples, example(floats(3, 4), axis=1, unbiased=True))

    def reference(self, data: np.ndarray) -> np.ndarray:
        axes = self.axes(data.ndim)
        found = np.var(data.astype(np.float64), axis=axes, keepdims=bool(self.keepdims), ddof=int(self.unbiased))
        return np.asarray(found).astype(data.dtype)

    def compute(self, data: Any) -> Any:
        axes = self.axes(len(data.shape))
        count = build.cast(data.dtype, extent_of(data, axes))
        total = reduce_tensor(data, axes, True, te.sum, "variance_sum")

        def deviation(*i: Any) -> Any:
            return data(*i) - build.truncdiv(total(*(0 if axis in axes else at for axis, at in enumerate(i))), count)

        square = te.compute(
            data.shape, lambda *i: deviation(*i) * deviation(*i), name="variance_square", tag="injective"
        )
        summed = reduce_tensor(square, axes, bool(self.keepdims), te.sum, "variance_total")
        divisor = build.maximum(count - build.const(1, data.dtype), 0) if self.unbiased else count
        return te.compute(summed.shape, lambda *i: build.truncdiv(summed(*i), divisor), name="variance", tag="elemwise")


@operator("logsumexp")
class LogSumExp(Reduction):
    """log(sum(exp(x))) over `axis`, without overflow."""

    axis: tuple[int, ...] | None = _AXIS
    keepdims: bool = _KEEP
    exclude: bool = _EXCLUDE
    precision = Precision.NEVER
    accepts = "float"
    accumulates = True
    examples = (*_float_examples, example(floats(2, 5, low=90, high=100), axis=1))

    def reference(self, data: np.ndarray) -> np.ndarray:
        axes = self.axes(data.ndim)
        greatest = _greatest(data, axis=axes, keepdims=True)
        greatest = np.where(np.isfinite(greatest), greatest, np.zeros_like(greatest))
        with np.errstate(all="ignore"):
            found = np.log(np.sum(np.exp(data - greatest), axis=axes, keepdims=True)) + greatest
        return found if self.keepdims else np.squeeze(found, axes)

    def compute(self, data: Any) -> Any:
        axes = self.axes(len(data.shape))
        most = reduce_tensor(data, axes, True, te.max, "logsumexp_max")
        # Infinity less infinity is no number: an infinite maximum is not subtracted.
        greatest = te.compute(
            most.shape,
            lambda *i: build.select(build.call("isfinite", most(*i)), most(*i), build.const(0, most.dtype)),
            name="logsumexp_shift", tag="elemwise",
        )  # fmt: skip

        def at(i: Any) -> Any:
            return [0 if axis in axes else index for axis, index in enumerate(i)]

        raised = te.compute(
            data.shape, lambda *i: te.exp(data(*i) - greatest(*at(i))), name="logsumexp_exp", tag="injective"
        )
        total = reduce_tensor(raised, axes, True, te.sum, "logsumexp_sum")
        shape = reduced_shape(data.shape, axes, bool(self.keepdims))

        def element(*i: Any) -> Any:
            spatial = iter(i)
            where = [0 if axis in axes and not self.keepdims else next(spatial) for axis in range(len(data.shape))]
            return te.log(total(*where)) + greatest(*where)

        return te.compute(shape, element, name="logsumexp", tag="injective")


class ArgReduction(Operator):
    """The base of argmax and argmin: the position of an extreme value."""

    __slots__ = ()
    fusion = Fusion.COMM_REDUCE
    greatest: ClassVar[bool]

    def axes(self, rank: int) -> tuple[int, ...]:
        own: Any = self
        return reduced_axes(self, own.axis, rank, own.exclude)

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.reduced(self, operands, self.axes(len(types[0].shape)), many=False)

    def infer(self, data: TensorType) -> TensorType:
        own: Any = self
        kind = tensor(self, data, "data")
        check_accepts(self, "number", kind)
        axes = self.axes(len(kind.shape))
        if any(kind.shape[axis] == 0 for axis in axes if isinstance(kind.shape[axis], int)):
            refuse(self, "E-TYPE-EMPTY", "an axis without elements has no extreme value", found=kind)
        return TensorType(reduced_shape(kind.shape, axes, own.keepdims), DataType("int64"))

    def reference(self, data: np.ndarray) -> np.ndarray:
        own: Any = self
        axes = self.axes(data.ndim)
        kept = [axis for axis in range(data.ndim) if axis not in axes]
        shape = [*(data.shape[axis] for axis in kept), math.prod(data.shape[axis] for axis in axes)]
        flat = np.transpose(data, [*kept, *axes]).reshape(shape)
        found = self._last(flat) if own.select_last_index else self._first(flat)
        return np.asarray(found, np.int64).reshape(whole(reduced_shape(data.shape, axes, own.keepdims)))

    def _first(self, flat: np.ndarray) -> Any:
        return (np.argmax if self.greatest else np.argmin)(flat, axis=-1)

    def _last(self, flat: np.ndarray) -> Any:
        return flat.shape[-1] - 1 - self._first(flat[..., ::-1])

    def compute(self, data: Any) -> Any:
        own: Any = self
        axes = self.axes(len(data.shape))
        reduced = {axis: te.reduce_axis((0, data.shape[axis]), name=f"k{axis}") for axis in axes}
        extents = [data.shape[axis] for axis in axes]
        reducer = arg_reducer(self.greatest, own.select_last_index)

        def element(*i: Any) -> Any:
            spatial = iter([at for position, at in enumerate(i) if not (own.keepdims and position in axes)])
            where = [reduced[axis] if axis in reduced else next(spatial) for axis in range(len(data.shape))]
            position = row_major([axis.var for axis in reduced.values()], extents)
            return reducer((position, data(*where)), axis=list(reduced.values()))

        shape = reduced_shape(data.shape, axes, own.keepdims)
        found, _ = te.compute(shape, element, name=stage_name(self), tag="comm_reduce_idx")
        return found


def arg_reducer(greatest: bool, last: bool) -> Any:
    def combine(a: Any, b: Any) -> tuple[Any, Any]:
        better = (a[1] > b[1]) if greatest else (a[1] < b[1])
        equal = a[1].equal(b[1])
        if a[1].dtype.is_float:  # NaN goes before every number, as in NumPy
            mine, theirs = (build.call("isnan", value) for value in (a[1], b[1]))
            better = te.any(better, te.all(mine, build.logical_not(theirs)))
            equal = te.any(equal, te.all(mine, theirs))
        earlier = (a[0] > b[0]) if last else (a[0] < b[0])
        first = te.any(better, te.all(equal, earlier))
        return build.select(first, a[0], b[0]), build.select(first, a[1], b[1])

    def identity(index: str, value: str) -> tuple[Any, Any]:
        worst = te.min_value(value) if greatest else te.max_value(value)
        return build.const(-1 if last else 2**63 - 1, index), worst

    return te.comm_reducer(combine, identity, name="argmax" if greatest else "argmin")


_arg_examples = (
    example(floats(2, 5), axis=1), example(floats(2, 3, 4), axis=1, keepdims=True), example(floats(7)),
    example(ints(3, 20, low=0, high=3), axis=1), example(ints(3, 20, low=0, high=3), axis=1, select_last_index=True),
    bad(floats(2), axis=1, error="outside"), bad(bools(2), error="numbers"),
    bad(floats(2, 0), axis=1, error="without elements"),
)  # fmt: skip


@operator("argmax")
class ArgMax(ArgReduction):
    """The position of the greatest value over `axis`; the first one of equals, or the last."""

    axis: tuple[int, ...] | None = _AXIS
    keepdims: bool = _KEEP
    exclude: bool = _EXCLUDE
    select_last_index: bool = attribute(False, "of equal values take the last", convert=convert.boolean)
    greatest = True
    examples = _arg_examples


@operator("argmin")
class ArgMin(ArgReduction):
    """The position of the least value over `axis`; the first one of equals, or the last."""

    axis: tuple[int, ...] | None = _AXIS
    keepdims: bool = _KEEP
    exclude: bool = _EXCLUDE
    select_last_index: bool = attribute(False, "of equal values take the last", convert=convert.boolean)
    greatest = False
    examples = _arg_examples
