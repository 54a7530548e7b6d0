"""Operators that join, cut and repeat tensors: concatenate, stack, split, tile, repeat, reverse, broadcast_to, where.

>>> Concatenate(axis=1).infer(TupleType((TensorType((2, 3)), TensorType((2, 4)))))
Tensor[(2, 7), float32]
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..arith import build
from ..relay.ir.operator import Fusion, Operator, Precision, attribute, bad, example, operator
from ..relay.ir.types import Dimension, TensorType, TupleType
from . import arrange, emit
from . import attributes as convert
from .emit import injective, type_of
from .samples import bools, floats, ints
from .shapes import (
    Shape,
    add,
    broadcast,
    known,
    multiply,
    normalized_axes,
    normalized_axis,
    refuse,
    same_dtype,
    subtract,
    tensor,
    text,
    unify,
    unify_shapes,
)


def tensors(op: Operator, data: Any) -> list[TensorType]:
    """The tensor types of a tuple operand, at least one."""
    if not isinstance(data, TupleType):
        refuse(op, "E-TYPE-OPERAND", "data must be a tuple of tensors", found=data, fix="pass a tuple: (x, y)")
    if not data.fields:
        refuse(op, "E-TYPE-ARITY", "at least one tensor is needed")
    return [tensor(op, item, f"tensor {at}") for at, item in enumerate(data.fields)]


SHORT = 8
"""Operands that are told apart one after the other; more are halved first."""


@operator("concatenate")
class Concatenate(Operator):
    """Tensors one after the other along `axis`; all other extents agree."""

    axis: int = attribute(0, "axis that grows", convert=convert.integer)
    fusion = Fusion.INJECTIVE
    precision = Precision.FOLLOW
    examples = (
        example((floats(2, 3), floats(4, 3))), example((floats(2, 3), floats(2, 1), floats(2, 2)), axis=-1),
        example((ints(3),)), bad((floats(2, 3), floats(2, 4)), error="do not agree"),
        bad((floats(2), ints(2)), error="different dtypes"), bad((), error="at least one"),
        bad((floats(2), floats(2)), axis=1, error="outside"), bad(floats(2), error="a tuple"),
    )  # fmt: skip

    def infer(self, data: TupleType) -> TensorType:
        kinds = tensors(self, data)
        dtype = same_dtype(self, *kinds)
        axis = normalized_axis(self, self.axis, len(kinds[0].shape))
        return TensorType(self.shape([kind.shape for kind in kinds], axis), dtype)

    def shape(self, shapes: list[Shape], axis: int) -> Shape:
        total = shapes[0]
        for shape in shapes[1:]:
            if len(shape) != len(total):
                refuse(self, "E-TYPE-RANK", "ranks do not agree", found=f"{text(total)} and {text(shape)}")
            total = tuple(
                add(a, b) if at == axis else unify(self, a, b, f"extents of axis {at}")
                for at, (a, b) in enumerate(zip(total, shape, strict=True))
            )
        return total

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.joined(self, operands, types)

    def reference(self, data: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate(data, self.axis)

    def compute(self, data: Sequence[Any]) -> Any:
        axis = normalized_axis(self, self.axis, len(data[0].shape))
        shape = self.shape([item.shape for item in data], axis)

        def element(*i: Any) -> Any:
            ends: list[Any] = [build.const(0)]
            for item in data:
                ends.append(ends[-1] + item.shape[axis])

            def chosen(first: int, last: int) -> Any:
                """The element of operands first to last: halves, so that nesting stays shallow."""
                if first == last:
                    return data[first](*i[:axis], i[axis] - ends[first], *i[axis + 1 :])
                middle = first if last - first < SHORT else (first + last) // 2
                return build.if_then_else(i[axis] < ends[middle + 1], chosen(first, middle), chosen(middle + 1, last))

            return chosen(0, len(data) - 1)

        return injective(self, shape, element)


@operator("stack")
class Stack(Operator):
    """Tensors of one shape along a new axis."""

    axis: int = attribute(0, "place of the new axis", convert=convert.integer)
    fusion = Fusion.INJECTIVE
    precision = Precision.FOLLOW
    examples = (
        example((floats(2, 3), floats(2, 3))), example((ints(2), ints(2), ints(2)), axis=-1),
        bad((floats(2), floats(3)), error="do not agree"), bad((floats(2),), axis=3, error="outside"),
    )  # fmt: skip

    def infer(self, data: TupleType) -> TensorType:
        kinds = tensors(self, data)
        dtype = same_dtype(self, *kinds)
        shape = kinds[0].shape
        for kind in kinds[1:]:
            shape = unify_shapes(self, shape, kind.shape, "shapes")
        axis = normalized_axis(self, self.axis, len(shape) + 1)
        return TensorType((*shape[:axis], len(kinds), *shape[axis:]), dtype)

    def reference(self, data: Sequence[np.ndarray]) -> np.ndarray:
        return np.stack(data, self.axis)

    def compute(self, data: Sequence[Any]) -> Any:
        axis = normalized_axis(self, self.axis, len(data[0].shape) + 1)
        shape = (*data[0].shape[:axis], len(data), *data[0].shape[axis:])

        def element(*i: Any) -> Any:
            where = (*i[:axis], *i[axis + 1 :])

            def chosen(first: int, last: int) -> Any:
                if first == last:
                    return data[first](*where)
                middle = first if last - first < SHORT else (first + last) // 2
                test = i[axis].equal(first) if middle == first else i[axis] <= middle
                return build.if_then_else(test, chosen(first, middle), chosen(middle + 1, last))

            return chosen(0, len(data) - 1)

        return injective(self, shape, element)


@operator("split")
class Split(Operator):
    """A tensor cut along `axis`: into equal parts (an int) or at indices (a tuple); the result is a tuple."""

    indices_or_sections: Any = attribute(doc="number of parts, or where parts begin", convert=convert.sections)
    axis: int = attribute(0, "axis that is cut", convert=convert.integer)
    fusion = Fusion.INJECTIVE
    examples = (
        example(floats(4, 6), indices_or_sections=2), example(floats(4, 6), indices_or_sections=(1, 4), axis=1),
        example(floats(4, 6), indices_or_sections=3, axis=-1),
        bad(floats(4, 6), indices_or_sections=5, error="equal parts"),
        bad(floats(4), indices_or_sections=(3, 1), error="ascend"),
        bad(floats(4), indices_or_sections=2, axis=1, error="outside"),
    )  # fmt: skip

    def cuts(self, extent: Dimension) -> list[tuple[Dimension, Dimension]]:
        """(begin, end) of each part."""
        if isinstance(self.indices_or_sections, int):
            parts = self.indices_or_sections
            whole = known(self, extent, "the extent to split")
            if parts < 1 or whole % parts:
                refuse(self, "E-TYPE-SPLIT", f"{whole} cannot be cut into {parts} equal parts", fix="give indices")
            return [(at * (whole // parts), (at + 1) * (whole // parts)) for at in range(parts)]
        edges = [0, *self.indices_or_sections]
        bounds = [*edges, extent] if isinstance(extent, int) else edges
        if any(isinstance(a, int) and isinstance(b, int) and a > b for a, b in pairwise(bounds)):
            refuse(
                self,
                "E-TYPE-SPLIT",
                "indices must ascend within the axis",
                found=f"{self.indices_or_sections} of {extent}",
            )
        return list(zip(edges, [*edges[1:], extent], strict=True))

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        cuts = self.indices_or_sections
        return arrange.cut_in_parts(self, operands, types, cuts if isinstance(cuts, int) else len(cuts) + 1)

    def infer(self, data: TensorType) -> TupleType:
        kind = tensor(self, data, "data")
        axis = normalized_axis(self, self.axis, len(kind.shape))
        return TupleType(tuple(
            TensorType((*kind.shape[:axis], subtract(end, begin), *kind.shape[axis + 1 :]), kind.dtype)
            for begin, end in self.cuts(kind.shape[axis])
        ))  # fmt: skip

    def reference(self, data: np.ndarray) -> tuple[np.ndarray, ...]:
        axis = normalized_axis(self, self.axis, data.ndim)
        before = (slice(None),) * axis
        return tuple(np.ascontiguousarray(data[(*before, slice(*cut))]) for cut in self.cuts(data.shape[axis]))

    def compute(self, data: Any) -> list[Any]:
        axis = normalized_axis(self, self.axis, len(data.shape))
        shape = data.shape

        def part(at: int, begin: Any, end: Any) -> Any:
            extents = (*shape[:axis], subtract(end, begin), *shape[axis + 1 :])
            return injective(self, extents, lambda *i: data(*i[:axis], i[axis] + begin, *i[axis + 1 :]), f"split_{at}")

        return [part(at, begin, end) for at, (begin, end) in enumerate(self.cuts(shape[axis]))]


@operator("tile")
class Tile(Operator):
    """The tensor repeated as a whole `reps` times along each axis, as `numpy.tile`."""

    reps: tuple[int, ...] = attribute(doc="repeats of each axis", convert=convert.integers)
    fusion = Fusion.INJECTIVE
    moves = True
    precision = Precision.FOLLOW
    examples = (example(floats(2, 3), reps=(2, 1)), example(floats(3), reps=(2, 2)), example(floats(2, 3), reps=2),
                bad(floats(2), reps=(-1,), error="negative"))  # fmt: skip

    def shapes(self, shape: Shape) -> tuple[tuple[int, ...], Shape]:
        """Repeats and extents, both with leading ones up to one rank."""
        if any(count < 0 for count in self.reps):
            refuse(self, "E-TYPE-SHAPE", "repeats cannot be negative", found=self.reps)
        rank = max(len(shape), len(self.reps))
        return (1,) * (rank - len(self.reps)) + self.reps, (1,) * (rank - len(shape)) + tuple(shape)

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        reps, shape = self.shapes(kind.shape)
        return TensorType(tuple(multiply(extent, count) for extent, count in zip(shape, reps, strict=True)), kind.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        return np.tile(data, self.reps)

    def compute(self, data: Any) -> Any:
        reps, shape = self.shapes(data.shape)
        extra = len(reps) - len(data.shape)
        result = [multiply(extent, count) for extent, count in zip(shape, reps, strict=True)]
        return injective(
            self, result, lambda *i: data(*(at % extent for at, extent in zip(i[extra:], data.shape, strict=True)))
        )


@operator("repeat")
class Repeat(Operator):
    """Each slice along `axis` repeated `repeats` times in place, as `numpy.repeat`."""

    repeats: int = attribute(doc="how often", convert=convert.integer)
    axis: int = attribute(0, "along which axis", convert=convert.integer)
    fusion = Fusion.INJECTIVE
    moves = True
    precision = Precision.FOLLOW
    examples = (
        example(floats(2, 3), repeats=2), example(floats(2, 3), repeats=3, axis=-1),
        bad(floats(2), repeats=2, axis=1, error="outside"), bad(floats(2), repeats=0, error="at least once"),
    )  # fmt: skip

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        axis = normalized_axis(self, self.axis, len(kind.shape))
        if self.repeats < 1:
            refuse(self, "E-TYPE-SHAPE", "slices are repeated at least once", found=self.repeats)
        return TensorType(
            (*kind.shape[:axis], multiply(kind.shape[axis], self.repeats), *kind.shape[axis + 1 :]), kind.dtype
        )

    def reference(self, data: np.ndarray) -> np.ndarray:
        return np.repeat(data, self.repeats, self.axis)

    def compute(self, data: Any) -> Any:
        shape = self.infer(type_of(data)).shape
        axis = normalized_axis(self, self.axis, len(shape))
        return injective(self, shape, lambda *i: data(*i[:axis], i[axis] // self.repeats, *i[axis + 1 :]))


@operator("reverse")
class Reverse(Operator):
    """The order along `axis` turned around."""

    axis: tuple[int, ...] = attribute(doc="axes to turn around", convert=convert.integers)
    fusion = Fusion.INJECTIVE
    moves = True
    precision = Precision.FOLLOW
    examples = (
        example(floats(2, 3), axis=1),
        example(floats(2, 3), axis=(0, 1)),
        bad(floats(2), axis=1, error="outside"),
    )

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        normalized_axes(self, self.axis, len(kind.shape))
        return kind

    def reference(self, data: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(np.flip(data, self.axis))

    def compute(self, data: Any) -> Any:
        turned = normalized_axes(self, self.axis, len(data.shape))

        def element(*i: Any) -> Any:
            return data(*(data.shape[at] - 1 - index if at in turned else index for at, index in enumerate(i)))

        return injective(self, data.shape, element)


@operator("broadcast_to")
class BroadcastTo(Operator):
    """The tensor stretched to `shape` by NumPy's rule."""

    shape: tuple[Any, ...] = attribute(doc="shape of the result", convert=convert.shape)
    fusion = Fusion.BROADCAST
    moves = True
    precision = Precision.FOLLOW
    examples = (
        example(floats(3, 1), shape=(2, 3, 4)), example(floats(), shape=(2,)), example(ints(2, 3), shape=(2, 3)),
        bad(floats(3), shape=(2,), error="broadcast"), bad(floats(2, 2), shape=(2,), error="broadcast"),
    )  # fmt: skip

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        found = broadcast(self, kind.shape, self.shape)
        if len(found) != len(self.shape) or any(a == 1 and b != 1 for a, b in zip(self.shape, found, strict=True)
                                                if isinstance(a, int) and isinstance(b, int)):  # fmt: skip
            refuse(
                self,
                "E-TYPE-BROADCAST",
                "data does not broadcast to shape",
                found=f"{text(kind.shape)} to {text(self.shape)}",
            )
        return TensorType(self.shape, kind.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        return np.array(np.broadcast_to(data, self.shape))

    def compute(self, data: Any) -> Any:
        return emit.broadcast(self, lambda value: value, self.shape, data)


@operator("where")
class Where(Operator):
    """x where the condition holds, else y; all three broadcast."""

    fusion = Fusion.BROADCAST
    precision = Precision.FOLLOW
    examples = (
        example(bools(2, 3), floats(2, 3), floats(2, 3)), example(bools(3), floats(2, 1), floats()),
        example(ints(4, low=0, high=2), floats(4), floats(4)),
        bad(bools(2), floats(2), ints(2), error="different dtypes"),
        bad(bools(2), floats(3), floats(3), error="broadcast"),
    )  # fmt: skip

    def infer(self, condition: TensorType, x: TensorType, y: TensorType) -> TensorType:
        test, a, b = tensor(self, condition, "condition"), tensor(self, x, "x"), tensor(self, y, "y")
        return TensorType(broadcast(self, test.shape, a.shape, b.shape), same_dtype(self, a, b))

    def reference(self, condition: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(condition.astype(bool), x, y)

    def compute(self, condition: Any, x: Any, y: Any) -> Any:
        shape = broadcast(self, condition.shape, x.shape, y.shape)

        def element(test: Any, a: Any, b: Any) -> Any:
            return build.select(test if test.dtype.is_bool else test != build.const(0, test.dtype), a, b)

        return emit.broadcast(self, element, shape, condition, x, y)

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.broadcast(self, operands, types)
