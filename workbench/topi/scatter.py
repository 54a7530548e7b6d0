"""Operators that write to computed places: scatter_elements, scatter_nd, reverse_sequence.

Several updates of one place are taken in order (the last one stays, or they are added, multiplied, ...).  One whose
index is out of range is left out (checked mode: `PassContext.checks_bounds`).  Tensor
expressions look, for each element, through the updates that may hit it.

>>> ScatterElements(axis=0).infer(TensorType((4, 3)), TensorType((2, 3), "int64"), TensorType((2, 3)))
Tensor[(4, 3), float32]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import te
from ..arith import build
from ..relay.ir.operator import Fusion, Operator, attribute, bad, example, operator
from ..relay.ir.types import TensorType
from . import attributes as convert
from . import loops
from .emit import injective, row_major, unravel
from .samples import floats, ints
from .shapes import normalized_axis, refuse, same_dtype, tensor, text, unify, unify_shapes
from .transform_index import integer_indices, require_inside, target

MODES = ("update", "add", "mul", "min", "max")
_NUMPY: dict[str, Any] = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def written(data: np.ndarray, where: tuple[Any, ...], updates: np.ndarray, mode: str) -> np.ndarray:
    """A copy of `data` with `updates` at `where`, one after the other; what lies outside is left out."""
    result = data.copy()
    spread = np.broadcast_arrays(*where)
    inside = np.ones(spread[0].shape, bool)
    for index, extent in zip(spread, data.shape, strict=False):
        inside &= (index >= 0) & (index < extent)
    kept, values = [index[inside] for index in spread], updates[inside]
    if mode in _NUMPY:
        _NUMPY[mode].at(result, tuple(kept), values)
        return result
    for number, place in enumerate(zip(*kept, strict=True)):
        result[tuple(int(index) for index in place)] = values[number]
    return result


def combined(mode: str, hits: Any, update: Any, axes: list[Any]) -> Any:
    """The reduction of the updates that hit an element, neutral where none does."""
    reducers = {"add": te.sum, "mul": te.prod, "min": te.min, "max": te.max}
    neutral = {
        "add": lambda dtype: build.const(0, dtype), "mul": lambda dtype: build.const(1, dtype), "min": te.max_value,
        "max": te.min_value,
    }  # fmt: skip
    return reducers[mode](build.select(hits, update, neutral[mode](update.dtype)), axis=axes)


def joined(mode: str, old: Any, new: Any) -> Any:
    """The old element together with its updates."""
    table = {"add": build.add, "mul": build.multiply, "min": build.minimum, "max": build.maximum}
    return table[mode](old, new)


@operator("scatter_elements")
class ScatterElements(Operator):
    """data with `updates` written where `indices` says along `axis`; the other indices are those of the update."""

    axis: int = attribute(0, "axis that is indexed", convert=convert.integer)
    reduction: str = attribute("update", "how an update joins what is there", choices=MODES)
    fusion = Fusion.OPAQUE
    examples = (
        example(floats(4, 3), ints(2, 3, low=0, high=4), floats(2, 3)),
        example(floats(4, 5), ints(3, 2, low=-5, high=5), floats(3, 2), axis=1),
        example(floats(4, 3), ints(6, 3, low=0, high=4), floats(6, 3), reduction="add"),
        example(floats(4, 3), ints(6, 3, low=0, high=4), floats(6, 3), reduction="mul"),
        example(floats(4, 3), ints(6, 3, low=0, high=4), floats(6, 3), reduction="min"),
        example(ints(4, 3), ints(6, 3, low=0, high=4), ints(6, 3), reduction="max"),
        bad(floats(4, 3), ints(2, 2), floats(2, 3), error="do not agree"),
        bad(floats(4, 3), ints(2), floats(2), error="same rank"),
        bad(floats(4, 3), floats(2, 3), floats(2, 3), error="integers"),
        bad(floats(4, 3), ints(2, 3), ints(2, 3), error="different dtypes"),
        bad(floats(4, 3), ints(2, 3), floats(2, 3), reduction="mean", error="one of"),
    )  # fmt: skip

    def infer(self, data: TensorType, indices: TensorType, updates: TensorType) -> TensorType:
        kind, where = tensor(self, data, "data"), tensor(self, indices, "indices")
        new = tensor(self, updates, "updates")
        same_dtype(self, kind, new)
        integer_indices(self, where)
        if len(kind.shape) != len(where.shape):
            refuse(self, "E-TYPE-RANK", "data and indices must have the same rank",
                   found=f"{text(kind.shape)} and {text(where.shape)}")  # fmt: skip
        unify_shapes(self, where.shape, new.shape, "the shapes of indices and updates")
        normalized_axis(self, self.axis, len(kind.shape))
        return kind

    def reference(self, data: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
        axis = normalized_axis(self, self.axis, data.ndim)
        require_inside(self, indices, -data.shape[axis], data.shape[axis], axis)
        where: list[Any] = list(np.indices(indices.shape, sparse=True))
        where[axis] = np.where(indices < 0, indices + data.shape[axis], indices)
        return written(data, tuple(where), updates, self.reduction)

    def loops(self, data: TensorType, indices: TensorType, updates: TensorType) -> Any:
        axis = normalized_axis(self, self.axis, len(data.shape))
        return loops.scatter_elements(data, indices, updates, axis, self.reduction)

    def compute(self, data: Any, indices: Any, updates: Any) -> Any:
        axis = normalized_axis(self, self.axis, len(data.shape))
        k = te.reduce_axis((0, indices.shape[axis]), name="k")

        def hits(i: Any) -> tuple[Any, Any, Any]:
            at = (*i[:axis], k.var, *i[axis + 1 :])
            inside = te.all(*(index < extent for place, (index, extent) in enumerate(zip(i, indices.shape, strict=True))
                              if place != axis))  # fmt: skip
            index = te.if_then_else(inside, target(self, indices(*at), data.shape[axis], axis), build.const(-(2**62)))
            return inside, index.equal(i[axis]), at

        if self.reduction == "update":

            def last(*i: Any) -> Any:
                _, hit, _ = hits(i)
                return te.max(build.select(hit, k.var, build.const(-1)), axis=k)

            newest = te.compute(data.shape, last, name="scatter_last", tag="comm_reduce")

            def element(*i: Any) -> Any:
                at = (*i[:axis], newest(*i), *i[axis + 1 :])
                return te.if_then_else(newest(*i) >= 0, updates(*at), data(*i))

            return injective(self, data.shape, element)

        def total(*i: Any) -> Any:
            inside, hit, at = hits(i)
            value = te.if_then_else(inside, updates(*at), build.const(0, data.dtype))
            return combined(self.reduction, hit, value, [k])

        new = te.compute(data.shape, total, name="scatter_total", tag="comm_reduce")
        return injective(self, data.shape, lambda *i: joined(self.reduction, data(*i), new(*i)))


@operator("scatter_nd")
class ScatterNd(Operator):
    """data with `updates` written at index tuples, which stand along the first axis of `indices` (classic convention).

    indices (M, K...), updates (K..., data's axes from M on).
    """

    mode: str = attribute("update", "how an update joins what is there", choices=MODES)
    fusion = Fusion.OPAQUE
    examples = (
        example(floats(4, 3), ints(2, 5, low=0, high=3), floats(5)),
        example(floats(4, 3), ints(1, 2, low=0, high=4), floats(2, 3)),
        example(floats(4, 3), ints(2, 9, low=0, high=3), floats(9), mode="add"),
        example(floats(4, 3), ints(2, 2, 4, low=-3, high=3), floats(2, 4), mode="max"),
        bad(floats(4), ints(2, 3), floats(3), error="more indices"),
        bad(floats(4, 3), floats(2, 5), floats(5), error="integers"),
        bad(floats(4, 3), ints(2, 5), floats(4), error="do not agree"),
    )  # fmt: skip

    def width(self, indices: Any, rank: int) -> int:
        """M: the number of indices in a tuple."""
        width = indices[0] if indices else None
        if not isinstance(width, int):
            refuse(self, "E-TYPE-DYNAMIC", "the length of index tuples must be known", found=indices)
        if width > rank:
            refuse(self, "E-TYPE-RANK", "more indices than axes", found=f"{width} of {rank}")
        return width

    def infer(self, data: TensorType, indices: TensorType, updates: TensorType) -> TensorType:
        kind, where = tensor(self, data, "data"), tensor(self, indices, "indices")
        new = tensor(self, updates, "updates")
        same_dtype(self, kind, new)
        integer_indices(self, where)
        width = self.width(where.shape, len(kind.shape))
        unify_shapes(self, (*where.shape[1:], *kind.shape[width:]), new.shape, "indices, data and updates")
        return kind

    def reference(self, data: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
        width = len(indices)
        for axis, extent in enumerate(data.shape[:width]):
            require_inside(self, indices[axis], -extent, extent, axis)
        limits = np.array(data.shape[:width]).reshape(-1, *(1,) * (indices.ndim - 1))
        where = np.where(indices < 0, indices + limits, indices)
        return written(data, tuple(where), updates, self.mode)

    def loops(self, data: TensorType, indices: TensorType, updates: TensorType) -> Any:
        return loops.scatter_nd(data, indices, updates, self.width(indices.shape, len(data.shape)), self.mode)

    def compute(self, data: Any, indices: Any, updates: Any) -> Any:
        width = self.width(indices.shape, len(data.shape))
        outer = indices.shape[1:]
        taps = [te.reduce_axis((0, extent), name=f"k{at}") for at, extent in enumerate(outer)]
        at = [axis.var for axis in taps]

        def hit(i: Any) -> Any:
            tests = (target(self, indices(m, *at), data.shape[m], m).equal(i[m]) for m in range(width))
            return te.all(*tests)

        if self.mode == "update":
            def last(*i: Any) -> Any:
                return te.max(build.select(hit(i), row_major(at, outer), build.const(-1)), axis=taps)

            newest = te.compute(data.shape, last, name="scatter_last", tag="comm_reduce")

            def element(*i: Any) -> Any:
                place = unravel(newest(*i), outer)
                return te.if_then_else(newest(*i) >= 0, updates(*place, *i[width:]), data(*i))

            return injective(self, data.shape, element)
        new = te.compute(
            data.shape, lambda *i: combined(self.mode, hit(i), updates(*at, *i[width:]), taps), name="scatter_total",
            tag="comm_reduce",
        )  # fmt: skip
        return injective(self, data.shape, lambda *i: joined(self.mode, data(*i), new(*i)))


@operator("reverse_sequence")
class ReverseSequence(Operator):
    """The first seq_lengths[b] elements along `seq_axis` turned around, for each b along `batch_axis`."""

    seq_axis: int = attribute(1, "axis of the sequence", convert=convert.integer)
    batch_axis: int = attribute(0, "axis of the batch", convert=convert.integer)
    fusion = Fusion.INJECTIVE
    examples = (
        example(floats(3, 5), ints(3, low=1, high=6)),
        example(floats(5, 3, 2), ints(3, low=0, high=6), seq_axis=0, batch_axis=1),
        bad(floats(3, 5), ints(2), error="do not agree"), bad(floats(3, 5), floats(3), error="integers"),
        bad(floats(3, 5), ints(3), seq_axis=0, error="differ"),
    )  # fmt: skip

    def axes(self, rank: int) -> tuple[int, int]:
        """(sequence, batch) from the front."""
        found = normalized_axis(self, self.seq_axis, rank), normalized_axis(self, self.batch_axis, rank)
        if found[0] == found[1]:
            refuse(self, "E-TYPE-AXIS", "seq_axis and batch_axis must differ", found=found)
        return found

    def infer(self, data: TensorType, seq_lengths: TensorType) -> TensorType:
        kind, lengths = tensor(self, data, "data"), tensor(self, seq_lengths, "seq_lengths", 1)
        integer_indices(self, lengths)
        _, batch = self.axes(len(kind.shape))
        unify(self, kind.shape[batch], lengths.shape[0], "seq_lengths and the batch axis")
        return kind

    def reference(self, data: np.ndarray, seq_lengths: np.ndarray) -> np.ndarray:
        sequence, batch = self.axes(data.ndim)
        shape = [1] * data.ndim
        shape[batch] = -1
        lengths = np.minimum(seq_lengths.astype(np.int64), data.shape[sequence]).reshape(shape)
        at = np.arange(data.shape[sequence]).reshape([-1 if axis == sequence else 1 for axis in range(data.ndim)])
        where = np.where(at < lengths, lengths - 1 - at, at)
        return np.take_along_axis(data, np.broadcast_to(where, data.shape), sequence)

    def compute(self, data: Any, seq_lengths: Any) -> Any:
        sequence, batch = self.axes(len(data.shape))

        def element(*i: Any) -> Any:
            length = build.minimum(build.cast("int64", seq_lengths(i[batch])), build.convert(data.shape[sequence]))
            where = build.select(i[sequence] < length, length - 1 - i[sequence], i[sequence])
            return data(*i[:sequence], where, *i[sequence + 1 :])

        return injective(self, data.shape, element)
