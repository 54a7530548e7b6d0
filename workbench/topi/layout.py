"""Layouts: what each axis of a tensor is ("NCHW", "OIHW16o"), and the operator that moves data between them.

Capital letters are axes; a number with a small letter is the inner part of a split axis: "OIHW16o" has axes O/16, I,
H, W and 16 consecutive o.  A split axis whose extent is not a multiple is filled up with zeros, and cut again on the
way back, where the wanted extent is known.

>>> Layout("OIHW16o").factors
{'O': 16}
>>> transformed_shape(Layout("OIHW"), Layout("OIHW16o"), (24, 3, 1, 1))
(2, 3, 1, 1, 16)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..arith import build
from ..core.errors import WorkbenchError
from ..relay.ir.operator import ChannelAxes, Fusion, Operator, Precision, attribute, bad, example, operator
from ..relay.ir.types import Dimension, TensorType
from .emit import injective
from .samples import floats
from .shapes import Shape, ceil_divide, multiply, refuse, same_dimension, tensor

_PART = re.compile(r"(\d*)([A-Za-z])")


class Layout:
    """A parsed layout: `axes` lists (letter, factor) by place, factor 0 for the outer (or only) part of an axis."""

    def __init__(self, text: str) -> None:
        parts = _PART.findall(text)
        self.text = text
        self.axes: tuple[tuple[str, int], ...] = tuple((letter.upper(), int(count or 0)) for count, letter in parts)
        self.factors: dict[str, int] = {letter: count for letter, count in self.axes if count}
        self.letters: tuple[str, ...] = tuple(letter for letter, count in self.axes if not count)
        inner = [letter for count, letter in parts if count]
        sound = (
            "".join(count + letter for count, letter in parts) == text
            and all(letter.isupper() for count, letter in parts if not count)
            and all(letter.islower() and letter.upper() in self.letters for letter in inner)
            and len(set(self.letters)) == len(self.letters)
            and len(set(inner)) == len(inner)
        )
        if not sound or not parts:
            raise WorkbenchError(
                "E-LAYOUT",
                f"{text!r} is not a layout",
                expected='axis letters with inner parts, as "NCHW" or "OIHW16o"',
            )

    def index_of(self, letter: str) -> int:
        """The place of the outer part of an axis.  Raises `WorkbenchError` if there is none."""
        if (letter, 0) not in self.axes:
            raise WorkbenchError("E-LAYOUT", f"layout {self.text} has no axis {letter}")
        return self.axes.index((letter, 0))

    def inner_of(self, letter: str) -> int | None:
        """The place of the inner part, if the axis is split."""
        factor = self.factors.get(letter)
        return None if factor is None else self.axes.index((letter, factor))

    def extent(self, shape: Sequence[Dimension], letter: str) -> Dimension:
        """The extent of a whole axis in a tensor of this layout (filled-up elements included).

        Raises `WorkbenchError` where the blocks of the tensor have another size.
        """
        inner = self.inner_of(letter)
        if inner is not None and isinstance(shape[inner], int) and shape[inner] != self.factors[letter]:
            raise WorkbenchError(
                "E-LAYOUT", f"a tensor of layout {self.text} has blocks of {self.factors[letter]} along {letter}",
                found=f"{shape[inner]} in {tuple(shape)}",
            )  # fmt: skip
        return multiply(shape[self.index_of(letter)], self.factors.get(letter, 1))


@lru_cache(maxsize=256)
def parse(text: str) -> Layout:
    return Layout(text)


def convolution_axes(op: Any) -> ChannelAxes | None:
    """Where the channels of a convolution lie, from its layouts; None where some axis is split."""
    data, weight = parse(op.data_layout), parse(op.kernel_layout)
    result = parse(op.out_layout or op.data_layout)
    if data.factors or weight.factors or result.factors:
        return None
    places = weight.index_of("I"), weight.index_of("O")
    return ChannelAxes(data.index_of("C"), result.index_of("C"), *places, op.groups)


def transposed_axes(op: Any) -> ChannelAxes | None:
    """As above for a transposed convolution, whose weight is (inputs, outputs of a group, ...) by any name."""
    data, result = parse(op.data_layout), parse(op.out_layout or op.data_layout)
    return ChannelAxes(data.index_of("C"), result.index_of("C"), 0, 1) if op.groups == 1 else None


def transformed_shape(source: Layout, target: Layout, shape: Shape, whole: dict[str, int] | None = None) -> Shape:
    """The shape in `target`; `whole` gives extents of axes without what was filled up."""
    result: list[Dimension] = []
    for letter, factor in target.axes:
        extent = (whole or {}).get(letter, source.extent(shape, letter))
        split = target.factors.get(letter)
        result.append(factor or (extent if split is None else ceil_divide(extent, split)))
    return tuple(result)


def transform_numpy(
    data: np.ndarray, source: Layout, target: Layout, whole: dict[str, int] | None = None
) -> np.ndarray:
    """`data` moved from one layout to another."""
    if source.axes == target.axes and not whole:
        return data
    plain = _plain(data, source)
    cuts = tuple(slice((whole or {}).get(letter)) for letter in source.letters)
    plain = plain[cuts]
    plain = plain.transpose([source.letters.index(letter) for letter in target.letters])
    pads = [
        (0, -extent % target.factors.get(letter, 1)) for letter, extent in zip(target.letters, plain.shape, strict=True)
    ]
    if any(after for _, after in pads):
        plain = np.pad(plain, pads)
    split: list[int] = []
    places: dict[tuple[str, int], int] = {}
    for letter, extent in zip(target.letters, plain.shape, strict=True):
        factor = target.factors.get(letter)
        places[(letter, 0)] = len(split)
        split.append(extent // (factor or 1))
        if factor:
            places[(letter, factor)] = len(split)
            split.append(factor)
    return np.ascontiguousarray(plain.reshape(split).transpose([places[axis] for axis in target.axes]))


def _plain(data: np.ndarray, source: Layout) -> np.ndarray:
    """`data` with the inner parts joined, axes in the order of `source.letters`."""
    order: list[int] = []
    extents: list[int] = []
    for letter in source.letters:
        inner = source.inner_of(letter)
        order.append(source.index_of(letter))
        extents.append(data.shape[order[-1]] * source.factors.get(letter, 1))
        if inner is not None:
            order.append(inner)
    return data.transpose(order).reshape(extents)


def transform_indices(indices: Sequence[Any], source: Layout, target: Layout) -> list[Any]:
    """Where, in a tensor of `source`, the element at `indices` of `target` stands."""
    whole: dict[str, Any] = {}
    for letter in target.letters:
        inner, factor = target.inner_of(letter), target.factors.get(letter, 1)
        outer = indices[target.index_of(letter)]
        whole[letter] = outer if inner is None else outer * factor + indices[inner]
    found: list[Any] = []
    for letter, factor in source.axes:
        split = source.factors.get(letter)
        found.append(whole[letter] % factor if factor else whole[letter] // split if split else whole[letter])
    return found


def fits(source: Layout, target: Layout, shape: Shape, indices: Sequence[Any]) -> Any:
    """The condition that an element of `target` exists in `source`, or None if all do."""
    conditions: list[Any] = []
    for letter in target.letters:
        factor, extent = target.factors.get(letter), source.extent(shape, letter)
        if factor is None or (isinstance(extent, int) and extent % factor == 0):
            continue
        inner: Any = target.inner_of(letter)
        conditions.append(indices[target.index_of(letter)] * factor + indices[inner] < extent)
    return build.all_of(*conditions) if conditions else None


@operator("layout_transform")
class LayoutTransform(Operator):
    """Data moved from `src_layout` to `dst_layout`; split axes are filled up with zeros."""

    src_layout: str = attribute(doc='layout of data, as "NCHW"', convert=str)
    dst_layout: str = attribute(doc='layout of the result, as "NCHW16c"', convert=str)
    fusion = Fusion.INJECTIVE
    precision = Precision.FOLLOW
    examples = (
        example(floats(1, 3, 4, 5), src_layout="NCHW", dst_layout="NHWC"),
        example(floats(1, 8, 2, 3), src_layout="NCHW", dst_layout="NCHW4c"),
        example(floats(6, 3, 2, 2), src_layout="OIHW", dst_layout="OIHW4o"),
        example(floats(2, 3, 2, 2, 4), src_layout="OIHW4o", dst_layout="OIHW"),
        example(floats(1, 2, 2, 3, 4), src_layout="NCHW4c", dst_layout="NCHW8c"),
        example(floats(5, 7), src_layout="NC", dst_layout="NC4n"),
        bad(floats(1, 3), src_layout="NCHW", dst_layout="NHWC", error="4 axes"),
        bad(floats(1, 3), src_layout="NC", dst_layout="NH", error="same axes"),
        bad(floats(1, 3), src_layout="NC", dst_layout="N4", error="not a layout"),
        bad(floats(1, 3, 5), src_layout="NC4c", dst_layout="NC", error="inner part"),
    )  # fmt: skip

    def layouts(self) -> tuple[Layout, Layout]:
        source, target = parse(self.src_layout), parse(self.dst_layout)
        if set(source.letters) != set(target.letters):
            refuse(self, "E-LAYOUT", "both layouts must have the same axes", found=f"{source.text} and {target.text}")
        return source, target

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        from .arrange import relabelled

        return relabelled(self, operands, types)

    def infer(self, data: TensorType) -> TensorType:
        source, target = self.layouts()
        kind = tensor(self, data, "data", len(source.axes))
        for extent, (letter, factor) in zip(kind.shape, source.axes, strict=True):
            if factor and same_dimension(extent, factor) is False:
                refuse(self, "E-LAYOUT", f"the inner part of {letter} has {extent} elements", expected=factor)
        return TensorType(transformed_shape(source, target, kind.shape), kind.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        found = transform_numpy(data, *self.layouts())
        return found.copy() if found is data else found

    def order(self) -> list[int] | None:
        """The axes of the data as they lie in the result; None where one is split."""
        source, target = self.layouts()
        if source.factors or target.factors:
            return None
        return [source.letters.index(letter) for letter in target.letters]

    def compute(self, data: Any) -> Any:
        source, target = self.layouts()
        shape = transformed_shape(source, target, data.shape)

        def element(*i: Any) -> Any:
            value = data(*transform_indices(i, source, target))
            inside = fits(source, target, data.shape, i)
            return value if inside is None else build.if_then_else(inside, value, build.const(0, data.dtype))

        return injective(self, shape, element)
