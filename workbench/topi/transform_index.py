"""Operators that pick elements: strided_slice, take, gather, gather_nd, one_hot.

>>> StridedSlice(begin=(1,), end=(3,)).infer(TensorType((5, 2)))
Tensor[(2, 2), float32]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arith import build
from ..core.dtype import DataType
from ..core.errors import WorkbenchError
from ..core.pass_context import INDEX_CODE, PassContext
from ..relay.ir.operator import Fusion, Operator, Precision, attribute, bad, example, operator
from ..relay.ir.types import Any as AnyDimension
from ..relay.ir.types import Dimension, TensorType
from . import arrange
from . import attributes as convert
from .emit import injective, row_major, type_of, unravel
from .samples import floats, ints
from .shapes import Shape, known, normalized_axis, product, refuse, tensor, text, unify


def slice_bounds(extent: int, begin: int | None, end: int | None, stride: int) -> tuple[int, int]:
    """(first index, count) of Python's slice begin:end:stride."""
    found = range(*slice(begin, end, stride).indices(extent))
    return found.start, len(found)


@operator("strided_slice")
class StridedSlice(Operator):
    """data[begin:end:strides] on `axes` (by default the leading ones), with Python's rules for negative numbers.

    With slice_mode "size", `end` holds sizes; -1 means to the end, and strides are 1.
    """

    begin: tuple[int | None, ...] = attribute(doc="first indices", convert=lambda value: _slots(value))
    end: tuple[int | None, ...] = attribute(doc="ends, not included", convert=lambda value: _slots(value))
    strides: tuple[int, ...] | None = attribute(None, "steps; 1 by default", convert=convert.optional(convert.integers))
    axes: tuple[int, ...] | None = attribute(None, "axes that are cut", convert=convert.optional(convert.integers))
    slice_mode: str = attribute("end", "what `end` holds", choices=("end", "size"))
    fusion = Fusion.INJECTIVE
    moves = True
    precision = Precision.FOLLOW
    examples = (
        example(floats(5, 6), begin=(1, 2), end=(4, 5)), example(floats(5, 6), begin=(-3,), end=(100,)),
        example(floats(5, 6), begin=(4, 0), end=(-100, 6), strides=(-1, 2)),
        example(floats(5, 6), begin=(1,), end=(3,), axes=(1,)),
        example(floats(5, 6), begin=(1, 1), end=(2, -1), slice_mode="size"),
        example(floats(4), begin=(3,), end=(1,)), bad(floats(2), begin=(0, 0), end=(1, 1), error="more axes"),
        bad(floats(2), begin=(0,), end=(1,), strides=(0,), error="cannot be 0"),
        bad(floats(2), begin=(0,), end=(1, 2), error="same length"),
        bad(floats(2), begin=(0,), end=(1,), axes=(3,), error="outside"),
    )  # fmt: skip

    def cuts(self, shape: Shape) -> dict[int, tuple[Any, Dimension, int]]:
        """By axis: first index, count, stride."""
        axes = self._axes(len(shape))
        strides = self.strides or (1,) * len(self.begin)
        if len(strides) == 1:
            strides = strides * len(self.begin)
        if not len(self.begin) == len(self.end) == len(axes) == len(strides):
            refuse(self, "E-TYPE-SLICE", "begin, end, strides and axes must have the same length",
                   found=f"{len(self.begin)}, {len(self.end)}, {len(strides)}, {len(axes)}")  # fmt: skip
        if 0 in strides:
            refuse(self, "E-TYPE-SLICE", "a stride cannot be 0", found=strides)
        rows = zip(axes, self.begin, self.end, strides, strict=True)
        return {axis: self._cut(shape[axis], begin, end, stride) for axis, begin, end, stride in rows}

    def _axes(self, rank: int) -> tuple[int, ...]:
        if self.axes is not None:
            return tuple(normalized_axis(self, axis, rank) for axis in self.axes)
        if len(self.begin) > rank:
            refuse(self, "E-TYPE-SLICE", "more axes are cut than there are", found=f"{len(self.begin)} of {rank}")
        return tuple(range(len(self.begin)))

    def _cut(self, extent: Dimension, begin: Any, end: Any, stride: int) -> tuple[Any, Dimension, int]:
        if self.slice_mode == "size":
            end = None if end is None or end < 0 else (begin or 0) + end
            stride = 1
        if isinstance(extent, int):
            first, count = slice_bounds(extent, begin, end, stride)
            return first, count, stride
        if stride == 1 and not begin and (end is None or end >= 2**31 - 1):
            return 0, extent, 1
        if stride == -1 and end is not None and end < -(2**31) and (begin is None or begin == -1):
            return None, extent, -1
        return (begin if begin is not None and begin >= 0 else None), AnyDimension(), stride

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.sliced(self, operands, self._axes(len(types[0].shape)))

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        cuts = self.cuts(kind.shape)
        return TensorType(
            tuple(cuts[at][1] if at in cuts else extent for at, extent in enumerate(kind.shape)), kind.dtype
        )

    def reference(self, data: np.ndarray) -> np.ndarray:
        result = data
        for axis, (first, count, stride) in self.cuts(data.shape).items():
            result = np.take(result, first + stride * np.arange(int(count)), axis)  # type: ignore[arg-type]
        return result.copy() if result is data else result

    def compute(self, data: Any) -> Any:
        cuts = self.cuts(data.shape)
        for axis, (first, _, stride) in cuts.items():
            if first is None and stride != -1:
                known(self, data.shape[axis], f"the extent of axis {axis}")
        shape = [cuts[at][1] if at in cuts else extent for at, extent in enumerate(data.shape)]

        def at(axis: int, index: Any) -> Any:
            if axis not in cuts:
                return index
            first, _, stride = cuts[axis]
            return (data.shape[axis] - 1 if first is None else first) + index * stride

        return injective(self, shape, lambda *i: data(*(at(axis, index) for axis, index in enumerate(i))))


def _slots(value: Any) -> tuple[int | None, ...]:
    """Ints, or None where a side is open."""
    if isinstance(value, (list, tuple)):
        return tuple(None if item is None else convert.integer(item) for item in value)
    return convert.integers(value)


def within(op: Operator, index: Any, extent: Any, mode: str, axis: int | None) -> Any:
    """An index expression brought into range: wrapped or clipped."""
    index = build.cast("int64", index)
    if mode == "wrap":
        return index % extent
    return _checked(op, build.minimum(build.maximum(index, 0), extent - 1), index, (index, 0), extent, axis)


def _checked(op: Operator, clipped: Any, found: Any, given: tuple[Any, Any], extent: Any, axis: int | None) -> Any:
    """An index in range; in checked mode with what it is made of, so that one out of range is reported when code runs.

    `found` must lie in 0 ... `extent` - 1; `given` is what the user gave, before negative ones were counted back, and
    the least that it may be.
    """
    if not PassContext.current().checks_bounds:
        return clipped
    index, least, extent = (build.cast("int64", build.convert(value)) for value in (*given, extent))
    return build.call("index_within", clipped, found, index, least, extent, along(op.name, axis))


def along(name: str, axis: int | None) -> str:
    """What an index that is data belongs to."""
    return f"{name} along {'the flat data' if axis is None else f'axis {axis}'}"


def require_inside(op: Operator, indices: np.ndarray, least: int, extent: int, axis: int | None) -> None:
    """The same in NumPy: in checked mode an index out of range is refused."""
    if not PassContext.current().checks_bounds:
        return
    wide = indices.astype(np.int64)
    outside = wide[(wide < least) | (wide >= extent)]
    if outside.size:
        raise WorkbenchError(
            INDEX_CODE, f"an index of {along(op.name, axis)} is out of range", where=op.name,
            found=f"index {outside.reshape(-1)[0]}", expected=f"{least} to {extent - 1}",
        )  # fmt: skip


def counted_back(index: Any, extent: Any) -> Any:
    """A negative index counts from the end."""
    index = build.cast("int64", index)
    return build.select(index < 0, index + extent, index)


def target(op: Operator, index: Any, extent: Any, axis: int) -> Any:
    """Where an update goes: a negative index counted back.  Others stay outside, and nothing is written there."""
    found, whole = counted_back(index, extent), build.convert(extent)
    return _checked(op, found, found, (index, 0 - whole), whole, axis)


def in_range(op: Operator, index: Any, extent: Any, axis: int) -> Any:
    """Negative indices counted back, then all brought into range: nothing outside is ever read."""
    found = counted_back(index, extent)
    whole = build.convert(extent)
    return _checked(op, build.minimum(build.maximum(found, 0), whole - 1), found, (index, 0 - whole), whole, axis)


def in_range_numpy(op: Operator, index: np.ndarray, extent: int, axis: int) -> np.ndarray:
    """The same in NumPy."""
    require_inside(op, index, -extent, extent, axis)
    wide = index.astype(np.int64)
    return np.clip(np.where(wide < 0, wide + extent, wide), 0, max(extent - 1, 0))


@operator("take")
class Take(Operator):
    """Slices of `data` along `axis` at `indices` (of the flat data when axis is None).

    mode "clip" and "wrap" bring indices into range, "fast" too (as clip: nothing outside is ever read); for checked
    mode see `PassContext.checks_bounds`.  The first `batch_dims` axes are shared.
    """

    batch_dims: int = attribute(0, "leading axes that data and indices share", convert=convert.integer)
    axis: int | None = attribute(
        None, "axis that is indexed; None: the flat data", convert=convert.optional(convert.integer)
    )
    mode: str = attribute("clip", "what to do outside the range", choices=("clip", "wrap", "fast"))
    fusion = Fusion.INJECTIVE
    precision = Precision.FOLLOW
    parameters = ("data", "indices", "axis", "batch_dims", "mode")
    examples = (
        example(floats(5, 4), ints(3, low=0, high=5), axis=0),
        example(floats(5, 4), ints(2, 3, low=0, high=4), axis=1), example(floats(5, 4), ints(3, low=0, high=20)),
        example(floats(5, 4), ints(6, low=-9, high=9), axis=0),
        example(floats(5, 4), ints(6, low=-9, high=9), axis=0, mode="wrap"),
        example(floats(5, 4), ints(low=0, high=5), axis=0),
        example(floats(2, 5, 3), ints(2, 4, low=0, high=5), axis=1, batch_dims=1),
        bad(floats(2), floats(2), axis=0, error="integers"), bad(floats(2), ints(2), axis=1, error="outside"),
        bad(floats(2), ints(2), axis=0, mode="x", error="one of"),
    )  # fmt: skip

    def infer(self, data: TensorType, indices: TensorType) -> TensorType:
        kind, where = tensor(self, data, "data"), tensor(self, indices, "indices")
        integer_indices(self, where)
        if self.axis is None:
            _some_elements(self, product(kind.shape), where)
            return TensorType(where.shape, kind.dtype)
        axis = normalized_axis(self, self.axis, len(kind.shape))
        batch = self._batch(axis, len(where.shape))
        for at in range(batch):
            unify(self, kind.shape[at], where.shape[at], "shared axes")
        _some_elements(self, kind.shape[axis], where)
        return TensorType((*kind.shape[:axis], *where.shape[batch:], *kind.shape[axis + 1 :]), kind.dtype)

    def _batch(self, axis: int, rank: int) -> int:
        batch = self.batch_dims + rank if self.batch_dims < 0 else self.batch_dims
        if not 0 <= batch <= min(axis, rank):
            refuse(self, "E-TYPE-AXIS", "batch_dims must not pass axis or the rank of indices", found=self.batch_dims)
        return batch

    def reference(self, data: np.ndarray, indices: np.ndarray) -> np.ndarray:
        extent = data.size if self.axis is None else data.shape[self.axis]
        where = indices.astype(np.int64)
        if self.mode != "wrap":
            require_inside(self, where, 0, extent, self.axis)
        where = where % extent if self.mode == "wrap" else np.clip(where, 0, extent - 1)
        if self.axis is None:
            return np.asarray(data.reshape(-1)[where])
        axis = normalized_axis(self, self.axis, data.ndim)
        batch = self._batch(axis, where.ndim)
        if batch == 0:
            return np.asarray(np.take(data, where, axis))
        shared = data.shape[:batch]
        flat = [np.take(data[at], where[at], axis - batch) for at in np.ndindex(*shared)]
        return np.stack(flat).reshape(*shared, *flat[0].shape)

    def compute(self, data: Any, indices: Any) -> Any:
        if self.axis is None:
            total = row_major([extent - 1 for extent in data.shape], data.shape) + 1
            return injective(self, indices.shape,
                             lambda *i: data(*unravel(within(self, indices(*i), total, self.mode, None), data.shape))
                             )  # fmt: skip
        shape = self.infer(type_of(data), type_of(indices)).shape
        axis = normalized_axis(self, self.axis, len(data.shape))
        batch = self._batch(axis, len(indices.shape))
        width = len(indices.shape) - batch

        def element(*i: Any) -> Any:
            given = indices(*i[:batch], *i[axis : axis + width])
            index = within(self, given, data.shape[axis], self.mode, axis)
            return data(*i[:axis], index, *i[axis + width :])

        return injective(self, shape, element)


def integer_indices(op: Operator, kind: TensorType) -> None:
    if not kind.dtype.is_integer:
        refuse(op, "E-TYPE-DTYPE", "indices must be integers", found=kind.dtype, fix='cast them to "int64"')


def _some_elements(op: Operator, extent: Dimension, indices: TensorType) -> None:
    """Refuse to pick elements where there are none."""
    if isinstance(extent, int) and extent == 0 and not (indices.is_static and indices.size == 0):
        refuse(op, "E-TYPE-EMPTY", "an axis without elements has none to pick", found=indices, expected="no indices")


@operator("gather")
class Gather(Operator):
    """data with its index along `axis` replaced by `indices`; both have one rank (ONNX GatherElements).

    Negative indices count from the end; those outside are brought into range (checked mode:
    `PassContext.checks_bounds`).
    """

    axis: int = attribute(doc="axis that is indexed", convert=convert.integer)
    fusion = Fusion.INJECTIVE
    parameters = ("data", "axis", "indices")
    examples = (
        example(floats(4, 3), ints(2, 3, low=0, high=4), axis=0),
        example(floats(4, 3), ints(4, 5, low=-3, high=3), axis=-1),
        bad(floats(4, 3), ints(2, low=0), axis=0, error="same rank"),
        bad(floats(4, 3), floats(4, 3), axis=0, error="integers"),
        bad(floats(2, 3), ints(4, 3), axis=1, error="exceed"),
    )  # fmt: skip

    def infer(self, data: TensorType, indices: TensorType) -> TensorType:
        kind, where = tensor(self, data, "data"), tensor(self, indices, "indices")
        integer_indices(self, where)
        if len(kind.shape) != len(where.shape):
            refuse(
                self,
                "E-TYPE-RANK",
                "data and indices must have the same rank",
                found=f"{text(kind.shape)}, {text(where.shape)}",
            )
        axis = normalized_axis(self, self.axis, len(kind.shape))
        for at, (extent, count) in enumerate(zip(kind.shape, where.shape, strict=True)):
            if at != axis and isinstance(extent, int) and isinstance(count, int) and count > extent:
                refuse(self, "E-TYPE-SHAPE", f"indices exceed data on axis {at}", found=f"{count} of {extent}")
        _some_elements(self, kind.shape[axis], where)
        return TensorType(where.shape, kind.dtype)

    def reference(self, data: np.ndarray, indices: np.ndarray) -> np.ndarray:
        axis = normalized_axis(self, self.axis, data.ndim)
        place: list[Any] = list(np.indices(indices.shape, sparse=True))
        place[axis] = in_range_numpy(self, indices, data.shape[axis], axis)
        return data[tuple(place)]

    def compute(self, data: Any, indices: Any) -> Any:
        axis = normalized_axis(self, self.axis, len(data.shape))

        def element(*i: Any) -> Any:
            return data(*i[:axis], in_range(self, indices(*i), data.shape[axis], axis), *i[axis + 1 :])

        return injective(self, indices.shape, element)


@operator("gather_nd")
class GatherNd(Operator):
    """Slices of `data` at index tuples, which stand along the *first* axis of `indices` (classic convention).

    indices (M, K...) and data (B..., N0, ...): the first `batch_dims` axes of data are shared with axes 1... of
    indices, and M indices address the axes after them.  Negative indices count from the end; those outside are brought
    into range (checked mode: `PassContext.checks_bounds`).
    """

    batch_dims: int = attribute(0, "leading axes shared", convert=convert.integer)
    index_rank: int | None = attribute(
        None, "M, where it is known only at run time", convert=convert.optional(convert.integer)
    )
    fusion = Fusion.INJECTIVE
    examples = (
        example(floats(4, 3), ints(2, 5, low=0, high=3)), example(floats(4, 3, 2), ints(1, 5, low=-4, high=4)),
        example(floats(4, 3, 2), ints(2, 2, 3, low=0, high=3)),
        example(floats(2, 4, 3), ints(1, 2, low=0, high=4), batch_dims=1),
        bad(floats(4), ints(2, 3), error="more indices"), bad(floats(4), floats(1, 3), error="integers"),
    )  # fmt: skip

    def width(self, data: Shape, indices: Shape) -> int:
        """M: the number of indices in a tuple."""
        width = indices[0] if isinstance(indices[0], int) else self.index_rank
        if width is None:
            refuse(self, "E-TYPE-DYNAMIC", "the length of index tuples must be known", fix="give index_rank")
        if width + self.batch_dims > len(data):
            refuse(self, "E-TYPE-RANK", "more indices than axes", found=f"{width} of {len(data) - self.batch_dims}")
        return width

    def infer(self, data: TensorType, indices: TensorType) -> TensorType:
        kind, where = tensor(self, data, "data"), tensor(self, indices, "indices")
        integer_indices(self, where)
        if not where.shape:
            refuse(self, "E-TYPE-RANK", "indices must have at least one axis", found=where)
        width = self.width(kind.shape, where.shape)
        for at in range(self.batch_dims):
            unify(self, kind.shape[at], where.shape[at + 1], "shared axes")
        for extent in kind.shape[self.batch_dims : self.batch_dims + width]:
            _some_elements(self, extent, where)
        return TensorType((*where.shape[1:], *kind.shape[self.batch_dims + width :]), kind.dtype)

    def reference(self, data: np.ndarray, indices: np.ndarray) -> np.ndarray:
        batch = self.batch_dims
        spread = [np.arange(data.shape[at]).reshape([-1 if axis == at else 1 for axis in range(indices.ndim - 1)])
                  for at in range(batch)]  # fmt: skip
        picked = [in_range_numpy(self, part, data.shape[batch + m], batch + m) for m, part in enumerate(indices)]
        found = np.asarray(data[(*spread, *picked)])
        if picked:
            return found
        batches = data.shape[:batch]  # tuples without numbers: each picks all of its batch
        lead = (*batches, *(1,) * (indices.ndim - 1 - batch))
        whole = data.reshape(*lead, *data.shape[batch:])
        return np.ascontiguousarray(np.broadcast_to(whole, (*indices.shape[1:], *data.shape[batch:])))

    def compute(self, data: Any, indices: Any) -> Any:
        batch, width = self.batch_dims, self.width(data.shape, indices.shape)
        shape = self.infer(type_of(data), type_of(indices)).shape
        outer = len(indices.shape) - 1

        def element(*i: Any) -> Any:
            given = [indices(m, *i[:outer]) for m in range(width)]
            picked = [in_range(self, part, data.shape[batch + m], batch + m) for m, part in enumerate(given)]
            return data(*i[:batch], *picked, *i[outer:])

        return injective(self, shape, element)


@operator("one_hot")
class OneHot(Operator):
    """`on_value` at the index, `off_value` elsewhere, along a new axis of extent `depth`."""

    depth: int = attribute(doc="extent of the new axis", convert=convert.integer)
    axis: int = attribute(-1, "place of the new axis", convert=convert.integer)
    dtype: DataType = attribute("float32", "dtype of the result", convert=convert.dtype)
    fusion = Fusion.INJECTIVE
    parameters = ("indices", "on_value", "off_value", "depth", "axis", "dtype")
    examples = (
        example(ints(4, low=-1, high=4), floats(), floats(), depth=3),
        example(ints(2, 3, low=0, high=4), ints(), ints(), depth=4, axis=1, dtype="int32"),
        bad(floats(2), floats(), floats(), depth=3, error="integers"),
        bad(ints(2), floats(2), floats(), depth=3, error="0 axes"),
    )  # fmt: skip

    def infer(self, indices: TensorType, on_value: TensorType, off_value: TensorType) -> TensorType:
        where = tensor(self, indices, "indices")
        integer_indices(self, where)
        tensor(self, on_value, "on_value", 0)
        tensor(self, off_value, "off_value", 0)
        axis = normalized_axis(self, self.axis, len(where.shape) + 1)
        return TensorType((*where.shape[:axis], self.depth, *where.shape[axis:]), self.dtype)

    def reference(self, indices: np.ndarray, on_value: np.ndarray, off_value: np.ndarray) -> np.ndarray:
        axis = normalized_axis(self, self.axis, indices.ndim + 1)
        place = np.arange(self.depth).reshape([-1 if at == axis else 1 for at in range(indices.ndim + 1)])
        return np.where(np.expand_dims(indices, axis) == place, on_value, off_value).astype(
            DataType(self.dtype).to_numpy()
        )

    def compute(self, indices: Any, on_value: Any, off_value: Any) -> Any:
        axis = normalized_axis(self, self.axis, len(indices.shape) + 1)
        shape = (*indices.shape[:axis], self.depth, *indices.shape[axis:])

        def element(*i: Any) -> Any:
            hit = build.cast("int64", indices(*i[:axis], *i[axis + 1 :])).equal(i[axis])
            return build.cast(self.dtype, build.select(hit, on_value(), off_value()))

        return injective(self, shape, element)
