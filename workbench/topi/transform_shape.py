"""Operators that change a tensor's shape and keep its elements in order, or permute axes.

reshape, transpose, expand_dims, squeeze, nn.batch_flatten, shape_of.

>>> Reshape(newshape=(0, -1)).infer(TensorType((2, 3, 4)))
Tensor[(2, 12), float32]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arith import build
from ..core.dtype import DataType
from ..relay.ir.operator import Fusion, Operator, Precision, attribute, bad, example, operator
from ..relay.ir.types import Dimension, TensorType
from . import arrange
from . import attributes as convert
from .emit import injective, row_major, unravel
from .samples import floats, ints
from .shapes import (
    Shape,
    floor_divide,
    is_any,
    known,
    multiply,
    normalized_axes,
    product,
    refuse,
    same_dimension,
    tensor,
    text,
    whole,
)


def reshaped(op: Operator, shape: Shape, wanted: tuple[Any, ...], allowzero: bool = False) -> Shape:
    """The shape that `reshape` gives.

    Codes in `wanted`: 0 copies the extent at this place (unless `allowzero`), -1 is worked out from the rest, -2
    copies all extents that remain, -3 joins the next two, -4 splits the next into the following two (one may be -1).
    """
    result: list[Dimension] = []
    infer_at: int | None = None
    source = 0
    codes = list(wanted)
    while codes:
        code = codes.pop(0)
        if not isinstance(code, int) or code > 0 or (code == 0 and allowzero):
            result.append(code)
            source += 1
        elif code == -1:
            if infer_at is not None:
                refuse(op, "E-TYPE-RESHAPE", "only one extent may be -1", found=wanted)
            infer_at = len(result)
            result.append(1)
            source += 1
        elif code == -2:
            result.extend(shape[source:])
            source = len(shape)
        else:
            source = _copy_join_split(op, shape, wanted, code, source, codes, result)
    if infer_at is None:
        _check_count(op, shape, tuple(result))
        return tuple(result)
    result[infer_at] = _missing(op, shape, tuple(result))
    return tuple(result)


def _copy_join_split(
    op: Operator, shape: Shape, wanted: Any, code: int, source: int, codes: list[Any], result: list[Dimension]
) -> int:
    """Codes 0, -3 and -4: returns the next place in `shape`."""
    uses = 2 if code == -3 else 1
    if code < -4 or source + uses > len(shape) or (code == -4 and len(codes) < 2):
        refuse(op, "E-TYPE-RESHAPE", f"code {code} does not fit", found=f"{wanted} on {text(shape)}")
    if code == 0:
        result.append(shape[source])
    elif code == -3:
        result.append(multiply(shape[source], shape[source + 1]))
    else:
        first, second = codes.pop(0), codes.pop(0)
        if first == -1:
            first = floor_divide(shape[source], second)
        elif second == -1:
            second = floor_divide(shape[source], first)
        result.extend((first, second))
    return source + uses


def _check_count(op: Operator, shape: Shape, result: Shape) -> None:
    if same_dimension(product(shape), product(result)) is False:
        refuse(
            op, "E-TYPE-RESHAPE", "the number of elements would change",
            found=f"{text(shape)} has {product(shape)}, {text(result)} has {product(result)}",
            fix="use -1 for one extent to have it worked out",
        )  # fmt: skip


def _missing(op: Operator, shape: Shape, rest: Shape) -> Dimension:
    """The extent of -1: what is left of the elements; common factors cancel, so that symbols stay readable."""
    above, below = list(shape), list(rest)
    for extent in rest:
        match = next((item for item in above if item is extent or same_dimension(item, extent)), None)
        if match is not None and not is_any(extent):
            _remove(above, match)
            _remove(below, extent)
    total, other = product(above), product(below)
    if isinstance(total, int) and isinstance(other, int):
        if other == 0 or total % other:
            refuse(op, "E-TYPE-RESHAPE", "no extent fits the place of -1", found=f"{text(shape)} to {text(rest)}")
        return total // other
    return floor_divide(total, other)


def _remove(items: list[Dimension], wanted: Dimension) -> None:
    for position, item in enumerate(items):
        if item is wanted or (isinstance(item, int) and isinstance(wanted, int) and item == wanted):
            del items[position]
            return


def reshape_tensor(op: Operator, data: Any, shape: Shape, name: str = "") -> Any:
    """The te stage that reads `data` in memory order into another shape."""
    if not data.shape:
        return injective(op, shape, lambda *i: data(), name)
    return injective(op, shape, lambda *i: data(*unravel(row_major(i, shape), data.shape)), name)


@operator("reshape")
class Reshape(Operator):
    """The same elements, in memory order, in another shape; see `reshaped` for the codes 0, -1, -2, -3, -4."""

    newshape: tuple[Any, ...] = attribute(doc="extents and codes", convert=convert.shape)
    allowzero: bool = attribute(False, "0 means an extent of zero", convert=convert.boolean)
    fusion = Fusion.INJECTIVE
    precision = Precision.FOLLOW
    aliasing = 0
    examples = (
        example(floats(2, 3, 4), newshape=(4, 6)), example(floats(2, 3, 4), newshape=(0, -1)),
        example(floats(2, 3, 4), newshape=[-1]), example(floats(2, 3, 4), newshape=(-3, 4)),
        example(floats(2, 6), newshape=(0, -4, 2, -1)), example(floats(2, 3, 4), newshape=(2, -2, 1)),
        example(floats(1), newshape=()), example(floats(), newshape=(1, 1)),
        bad(floats(2, 3), newshape=(4, 2), error="number of elements"),
        bad(floats(2, 3), newshape=(4, -1), error="no extent"),
        bad(floats(2, 3), newshape=(-1, -1), error="only one"),
        bad(floats(2), newshape=(0, 0, 2), error="does not fit"),
    )  # fmt: skip

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        return TensorType(reshaped(self, kind.shape, self.newshape, self.allowzero), kind.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        return data.reshape(concrete(reshaped(self, data.shape, self.newshape, self.allowzero), data.size))

    def compute(self, data: Any) -> Any:
        return reshape_tensor(self, data, reshaped(self, data.shape, self.newshape, self.allowzero))


def concrete(shape: Shape, size: int) -> tuple[int, ...]:
    """A shape of a run: one unknown extent is what is left of `size` elements."""
    unknown = sum(not isinstance(extent, int) for extent in shape)
    if unknown > 1:
        raise ValueError(f"shape {text(shape)} has more than one unknown extent")
    return tuple(extent if isinstance(extent, int) else -1 for extent in shape)


@operator("nn.batch_flatten")
class BatchFlatten(Operator):
    """All axes after the first joined into one."""

    fusion = Fusion.INJECTIVE
    precision = Precision.FOLLOW
    aliasing = 0
    examples = (example(floats(2, 3, 4)), example(floats(5)), bad(floats(), error="at least one axis"))

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        if not kind.shape:
            refuse(self, "E-TYPE-RANK", "data must have at least one axis", found=kind)
        return TensorType((kind.shape[0], product(kind.shape[1:])), kind.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        return data.reshape(data.shape[0], int(np.prod(data.shape[1:])))

    def compute(self, data: Any) -> Any:
        return reshape_tensor(self, data, (data.shape[0], product(data.shape[1:])))


@operator("transpose")
class Transpose(Operator):
    """Axes in another order; by default reversed."""

    axes: tuple[int, ...] | None = attribute(
        None, "old axis at each new place", convert=convert.optional(convert.integers)
    )
    fusion = Fusion.INJECTIVE
    moves = True
    precision = Precision.FOLLOW
    examples = (
        example(floats(2, 3, 4)), example(floats(2, 3, 4), axes=(0, 2, 1)), example(floats(2, 3), axes=[-1, 0]),
        bad(floats(2, 3), axes=(0, 1, 2), error="outside"), bad(floats(2, 3), axes=(0,), error="every axis"),
        bad(floats(2, 3), axes=(1, 1), error="twice"),
    )  # fmt: skip

    def order(self, rank: int) -> tuple[int, ...]:
        """The old axis at each new place."""
        if self.axes is None:
            return tuple(reversed(range(rank)))
        found = normalized_axes(self, self.axes, rank)
        if len(found) != rank:
            refuse(self, "E-TYPE-AXIS", "every axis must be named once", found=self.axes, expected=f"{rank} axes")
        return found

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.turned(self, operands, self.order(len(types[0].shape)))

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        return TensorType(tuple(kind.shape[axis] for axis in self.order(len(kind.shape))), kind.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        return np.require(np.transpose(data, self.order(data.ndim)), requirements="C")

    def compute(self, data: Any) -> Any:
        order = self.order(len(data.shape))
        place = {axis: position for position, axis in enumerate(order)}
        shape = [data.shape[axis] for axis in order]
        return injective(self, shape, lambda *i: data(*(i[place[axis]] for axis in range(len(order)))))


@operator("expand_dims")
class ExpandDims(Operator):
    """`num_newaxis` new axes of extent 1 at `axis`."""

    axis: int = attribute(doc="place of the first new axis in the result", convert=convert.integer)
    num_newaxis: int = attribute(1, "how many", convert=convert.integer)
    fusion = Fusion.BROADCAST
    precision = Precision.FOLLOW
    aliasing = 0
    examples = (
        example(floats(2, 3), axis=1), example(floats(2, 3), axis=-1), example(floats(2, 3), axis=0, num_newaxis=2),
        example(floats(), axis=0), bad(floats(2), axis=4, error="axis 4"),
        bad(floats(2), axis=0, num_newaxis=-1, error="negative"),
    )  # fmt: skip

    def place(self, rank: int) -> int:
        """The first new axis, from the front."""
        if self.num_newaxis < 0:
            refuse(self, "E-TYPE-AXIS", "num_newaxis cannot be negative", found=self.num_newaxis)
        if not -rank - 1 <= self.axis <= rank:
            refuse(
                self, "E-TYPE-AXIS", f"axis {self.axis} is no place in {rank} axes", expected=f"{-rank - 1} to {rank}"
            )
        return self.axis + rank + 1 if self.axis < 0 else self.axis

    def shape(self, shape: Shape) -> Shape:
        at = self.place(len(shape))
        return (*shape[:at], *(1,) * self.num_newaxis, *shape[at:])

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        return TensorType(self.shape(kind.shape), kind.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        return data.reshape(whole(self.shape(data.shape)))

    def compute(self, data: Any) -> Any:
        at, more = self.place(len(data.shape)), self.num_newaxis
        return injective(self, self.shape(data.shape), lambda *i: data(*i[:at], *i[at + more :]))


@operator("squeeze")
class Squeeze(Operator):
    """Axes of extent 1 removed: those named, or all."""

    axis: tuple[int, ...] | None = attribute(
        None, "axes to remove; None: all of extent 1", convert=convert.optional(convert.integers)
    )
    fusion = Fusion.INJECTIVE
    precision = Precision.FOLLOW
    aliasing = 0
    examples = (
        example(floats(1, 3, 1)), example(floats(1, 3, 1), axis=0), example(floats(1, 3, 1), axis=(0, -1)),
        bad(floats(2, 3), axis=0, error="extent 1"), bad(floats(2, 3), axis=5, error="outside"),
    )  # fmt: skip

    def axes(self, shape: Shape) -> tuple[int, ...]:
        """The axes that are removed."""
        if self.axis is None:
            return tuple(at for at, extent in enumerate(shape) if known(self, extent, "the shape") == 1)
        found = normalized_axes(self, self.axis, len(shape))
        for axis in found:
            extent = shape[axis]
            if isinstance(extent, int) and extent != 1:
                refuse(self, "E-TYPE-SHAPE", f"axis {axis} does not have extent 1", found=text(shape))
        return found

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        gone = self.axes(kind.shape)
        return TensorType(tuple(extent for at, extent in enumerate(kind.shape) if at not in gone), kind.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        return np.squeeze(data, self.axes(data.shape))

    def compute(self, data: Any) -> Any:
        gone = self.axes(data.shape)
        shape = [extent for at, extent in enumerate(data.shape) if at not in gone]

        def element(*i: Any) -> Any:
            kept = iter(i)
            return data(*(0 if at in gone else next(kept) for at in range(len(data.shape))))

        return injective(self, shape, element)


@operator("shape_of")
class ShapeOf(Operator):
    """The operand's extents as a vector."""

    dtype: DataType = attribute("int32", "dtype of the result", convert=convert.dtype)
    fusion = Fusion.OPAQUE
    examples = (example(floats(2, 3)), example(floats(), dtype="int64"), example(ints(4), dtype="int64"))

    def infer(self, data: TensorType) -> TensorType:
        return TensorType((len(tensor(self, data, "data").shape),), self.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        return np.array(data.shape, self.dtype)

    def compute(self, data: Any) -> Any:
        def element(i: Any) -> Any:
            found: Any = build.const(0, self.dtype)
            for axis, extent in enumerate(data.shape):
                found = build.select(i.equal(axis), build.cast(self.dtype, extent), found)
            return found

        return injective(self, (len(data.shape),), element)
