"""Convolutions of other ranks: nn.conv3d, nn.conv1d_transpose, nn.conv3d_transpose; and nn.dilate.

They are written for any number of spatial axes; nn.conv2d and its like have files of their own, because schedules
know them by their stages.

>>> Conv3D().infer(TensorType((1, 2, 4, 4, 4)), TensorType((3, 2, 3, 3, 3)))
Tensor[(1, 3, 2, 2, 2), float32]
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from .. import te
from ..arith import build
from ..core.dtype import DataType
from ..relay.ir.operator import ChannelAxes, Fusion, Operator, Precision, attribute, bad, example, operator
from ..relay.ir.types import Dimension, TensorType, Type
from . import attributes as convert
from . import layout as layouts
from .compute_conv import padded
from .deduce import convolution_weight
from .emit import injective, stage_name
from .nn_conv import accumulating, check_positive, result_dtype, window_extent
from .samples import floats, ints
from .shapes import Shape, add, factor_dtype, known, multiply, refuse, same_dimension, subtract, tensor

_GROUPS = attribute(1, "independent groups of channels", convert=convert.integer)
_CHANNELS = attribute(None, "output channels; from the weight if None", convert=convert.optional(convert.integer))
_OUT_DTYPE = attribute("", "dtype of accumulation and result; data's if empty", convert=convert.dtype_or_same)


class SpatialConv(Operator):
    """The base of convolutions over `rank` spatial axes; padding is all before, then all after."""

    __slots__ = ()
    fusion = Fusion.OUT_ELEMWISE_FUSABLE
    accumulates = True
    multiplies_and_adds = True
    rank: ClassVar[int]
    transposed: ClassVar[bool] = False

    def steps(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """(strides, dilation, pads before, pads after)."""
        own: Any = self
        check_positive(self, strides=own.strides, dilation=own.dilation, groups=own.groups)
        return own.strides, own.dilation, own.padding[: self.rank], own.padding[self.rank :]

    def sizes(self, data: Shape, weight: Shape) -> tuple[int, tuple[int, ...]]:
        """(output channels, kernel extents).  Raises `WorkbenchError` when the operands do not fit."""
        own: Any = self
        self.steps()
        first, second = (known(self, weight[at], "the weight's channels") for at in (0, 1))
        out, wanted = (second * own.groups, first) if self.transposed else (first, second * own.groups)
        if same_dimension(data[1], wanted) is False or first % own.groups:
            refuse(self, "E-TYPE-SHAPE", "channels of data and weight do not agree (check groups)",
                   found=f"data has {data[1]}, weight asks for {wanted} in {own.groups} groups")  # fmt: skip
        if own.channels is not None and own.channels != out:
            refuse(self, "E-TYPE-SHAPE", "weight does not have that many channels", found=out, expected=own.channels)
        kernel = tuple(known(self, extent, "the kernel's size") for extent in weight[2:])
        check_positive(self, kernel=kernel)
        if own.kernel_size is not None and own.kernel_size != kernel:
            refuse(self, "E-TYPE-SHAPE", "weight does not have kernel_size", found=kernel, expected=own.kernel_size)
        return out, kernel

    def out_extent(self, extent: Dimension, at: int, kernel: int) -> Dimension:
        """The result's extent along spatial axis `at`."""
        strides, dilation, before, after = self.steps()
        if not self.transposed:
            return window_extent(self, extent, before[at] + after[at], kernel, strides[at], dilation[at])
        own: Any = self
        if not 0 <= own.output_padding[at] < max(strides[at], dilation[at]):
            refuse(
                self, "E-OPERATOR-ATTRIBUTE", "output_padding must be less than the stride", found=own.output_padding
            )
        reach = (kernel - 1) * dilation[at] + 1
        grown = multiply(subtract(extent, 1), strides[at])
        found = add(grown, reach - before[at] - after[at] + own.output_padding[at])
        if isinstance(found, int) and found < 1:
            refuse(self, "E-TYPE-WINDOW", "the result would be empty", found=found)
        return found

    def shape(self, data: Shape, weight: Shape) -> Shape:
        out, kernel = self.sizes(data, weight)
        extents = (self.out_extent(data[2 + at], at, size) for at, size in enumerate(kernel))
        return (data[0], out, *extents)

    def deduce(self, data: Type | None, weight: Type | None) -> tuple[Type | None, ...]:
        return convolution_weight(self, data, weight, self.transposed)

    def channel_axes(self) -> ChannelAxes | None:
        return layouts.transposed_axes(self) if self.transposed else layouts.convolution_axes(self)

    def infer(self, data: TensorType, weight: TensorType) -> TensorType:
        own: Any = self
        kind, taps = tensor(self, data, "data", self.rank + 2), tensor(self, weight, "weight", self.rank + 2)
        factor_dtype(self, kind, taps)
        return TensorType(self.shape(kind.shape, taps.shape), result_dtype(own.out_dtype, kind.dtype))

    def reference(self, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        own: Any = self
        dtype = result_dtype(own.out_dtype, DataType(data.dtype.name)).to_numpy()
        work = accumulating(dtype)
        shape = tuple(int(extent) for extent in self.shape(data.shape, weight.shape))  # type: ignore[arg-type]
        function = _transposed_numpy if self.transposed else _convolved_numpy
        return function(self, data.astype(work), weight.astype(work), shape).astype(dtype, copy=False)

    def compute(self, data: Any, weight: Any) -> Any:
        return _transposed(self, data, weight) if self.transposed else _convolved(self, data, weight)

    def flops(self, data: TensorType, weight: TensorType) -> int:
        out, kernel = self.sizes(data.shape, weight.shape)
        moving = data if self.transposed else TensorType(self.shape(data.shape, weight.shape), data.dtype)
        per_point = known(self, weight.shape[1], "channels") if not self.transposed else out
        return 2 * moving.size * per_point * math.prod(kernel)


def _grouped(op: Any, data: np.ndarray) -> np.ndarray:
    return data.reshape(data.shape[0], op.groups, data.shape[1] // op.groups, *data.shape[2:])


def _convolved_numpy(op: Any, data: np.ndarray, weight: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    strides, dilation, before, after = op.steps()
    wide = _grouped(op, np.pad(data, ((0, 0), (0, 0), *zip(before, after, strict=True))))
    taps = weight.reshape(op.groups, weight.shape[0] // op.groups, *weight.shape[1:])
    total = np.zeros((shape[0], op.groups, taps.shape[1], *shape[2:]), data.dtype)
    for tap in np.ndindex(*weight.shape[2:]):
        cut = tuple(
            slice(at * gap, at * gap + (extent - 1) * step + 1, step)
            for at, gap, step, extent in zip(tap, dilation, strides, shape[2:], strict=True)
        )
        total += np.einsum("ngc...,goc->ngo...", wide[(slice(None), slice(None), slice(None), *cut)], taps[(..., *tap)])
    return total.reshape(shape)


def _transposed_numpy(op: Any, data: np.ndarray, weight: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    strides, dilation, before, after = op.steps()
    points = _grouped(op, data)
    taps = weight.reshape(op.groups, weight.shape[0] // op.groups, *weight.shape[1:])
    full = [extent + front + back for extent, front, back in zip(shape[2:], before, after, strict=True)]
    total = np.zeros((shape[0], op.groups, taps.shape[2], *full), data.dtype)
    for tap in np.ndindex(*weight.shape[2:]):
        cut = tuple(
            slice(at * gap, at * gap + (extent - 1) * step + 1, step)
            for at, gap, step, extent in zip(tap, dilation, strides, data.shape[2:], strict=True)
        )
        total[(slice(None), slice(None), slice(None), *cut)] += np.einsum(
            "ngc...,gco->ngo...", points, taps[(..., *tap)]
        )
    inside = tuple(slice(front, front + extent) for front, extent in zip(before, shape[2:], strict=True))
    return np.ascontiguousarray(total[(slice(None), slice(None), slice(None), *inside)]).reshape(shape)


def _reduce_axes(kernel: tuple[int, ...], channels: Any) -> tuple[Any, list[Any]]:
    return te.reduce_axis((0, channels), name="rc"), [
        te.reduce_axis((0, size), name=f"r{at}") for at, size in enumerate(kernel)
    ]


def _convolved(op: Any, data: Any, weight: Any) -> Any:
    strides, dilation, before, after = op.steps()
    out, kernel = op.sizes(data.shape, weight.shape)
    per_group, dtype = weight.shape[1], result_dtype(op.out_dtype, data.dtype)
    extents = [add(extent, front + back) for extent, front, back in zip(data.shape[2:], before, after, strict=True)]
    big = padded(data, before, extents, range(2, 2 + op.rank))
    rc, taps = _reduce_axes(kernel, per_group)

    def element(n: Any, o: Any, *at: Any) -> Any:
        channel = rc.var if op.groups == 1 else o // (out // op.groups) * per_group + rc.var
        where = [i * step + tap.var * gap for i, step, tap, gap in zip(at, strides, taps, dilation, strict=True)]
        value, tap = big(n, channel, *where), weight(o, rc.var, *(axis.var for axis in taps))
        return te.sum(build.cast(dtype, value) * build.cast(dtype, tap), axis=[rc, *taps])

    name = stage_name(op)
    return te.compute(op.shape(data.shape, weight.shape), element, name=name, tag=name)


def _transposed(op: Any, data: Any, weight: Any) -> Any:
    strides, dilation, before, _ = op.steps()
    out, kernel = op.sizes(data.shape, weight.shape)
    outputs, dtype = out // op.groups, result_dtype(op.out_dtype, data.dtype)
    shape = op.shape(data.shape, weight.shape)
    reach = [(size - 1) * gap for size, gap in zip(kernel, dilation, strict=True)]

    def spread(n: Any, c: Any, *at: Any) -> Any:
        where, tests = [], []
        for axis, index in enumerate(at):
            place, step = index - (reach[axis] - before[axis]), strides[axis]
            tests += [place >= 0, place < (data.shape[2 + axis] - 1) * step + 1]
            tests += [(place % step).equal(0)] if step > 1 else []
            where.append(place // step)
        return te.if_then_else(te.all(*tests), data(n, c, *where), build.const(0, data.dtype))

    extents = [add(extent, more) for extent, more in zip(shape[2:], reach, strict=True)]
    big = te.compute((*data.shape[:2], *extents), spread, name="data_dilate", tag="injective")
    per_group = data.shape[1] // op.groups
    rc, taps = _reduce_axes(kernel, per_group)

    def element(n: Any, o: Any, *at: Any) -> Any:
        channel = rc.var if op.groups == 1 else o // outputs * per_group + rc.var
        where = [i + tap.var * gap for i, tap, gap in zip(at, taps, dilation, strict=True)]
        turned = [size - 1 - tap.var for size, tap in zip(kernel, taps, strict=True)]
        value = big(n, channel, *where)
        tap = weight(channel, o if op.groups == 1 else o % outputs, *turned)
        return te.sum(build.cast(dtype, value) * build.cast(dtype, tap), axis=[rc, *taps])

    name = stage_name(op)
    return te.compute(shape, element, name=name, tag=name)


@operator("nn.conv3d")
class Conv3D(SpatialConv):
    """Convolution of data (N, C, D, H, W) with weight (O, C/groups, KD, KH, KW)."""

    strides: tuple[int, ...] = attribute((1, 1, 1), "steps of the window", convert=convert.triple)
    padding: tuple[int, ...] = attribute((0,) * 6, "zeros: three before, three after", convert=convert.padding6)
    dilation: tuple[int, ...] = attribute((1, 1, 1), "distance between taps", convert=convert.triple)
    groups: int = _GROUPS
    channels: int | None = _CHANNELS
    kernel_size: tuple[int, ...] | None = attribute(
        None, "from the weight if None", convert=convert.optional(convert.triple)
    )
    data_layout: str = attribute("NCDHW", "layout of data", choices=("NCDHW",))
    kernel_layout: str = attribute("OIDHW", "layout of weight", choices=("OIDHW",))
    out_layout: str = attribute("", "layout of the result", choices=("", "NCDHW"))
    out_dtype: str = _OUT_DTYPE
    precision = Precision.ALWAYS
    rank = 3
    padding_value = 0.0
    examples = (
        example(floats(1, 2, 4, 4, 5), floats(3, 2, 3, 3, 3)),
        example(floats(1, 4, 4, 5, 4), floats(4, 2, 2, 3, 2), groups=2, padding=(0, 1, 1, 1, 1, 0), strides=(1, 2, 1)),
        example(floats(1, 1, 5, 5, 5), floats(2, 1, 2, 2, 2), dilation=(2, 1, 2)),
        bad(floats(1, 2, 2, 2, 2), floats(3, 2, 3, 3, 3), error="larger"),
        bad(floats(1, 2, 4, 4), floats(3, 2, 3, 3), error="5 axes"),
        bad(floats(1, 2, 4, 4, 4), floats(3, 3, 3, 3, 3), error="channels"),
    )  # fmt: skip


@operator("nn.conv1d_transpose")
class Conv1DTranspose(SpatialConv):
    """Transposed convolution of data (N, C, W) with weight (C, O/groups, K)."""

    strides: tuple[int, ...] = attribute((1,), "step of the output", convert=convert.single)
    padding: tuple[int, ...] = attribute((0, 0), "cut away before and after", convert=convert.padding2)
    dilation: tuple[int, ...] = attribute((1,), "distance between taps", convert=convert.single)
    groups: int = _GROUPS
    channels: int | None = _CHANNELS
    kernel_size: tuple[int, ...] | None = attribute(
        None, "from the weight if None", convert=convert.optional(convert.single)
    )
    data_layout: str = attribute("NCW", "layout of data", choices=("NCW",))
    kernel_layout: str = attribute("IOW", "layout of weight", choices=("IOW", "OIW"))
    out_layout: str = attribute("", "layout of the result", choices=("", "NCW"))
    output_padding: tuple[int, ...] = attribute((0,), "added at the end", convert=convert.single)
    out_dtype: str = _OUT_DTYPE
    precision = Precision.ALWAYS
    rank = 1
    transposed = True
    examples = (
        example(floats(1, 3, 5), floats(3, 2, 3)),
        example(floats(1, 4, 5), floats(4, 2, 3), strides=2, padding=1, groups=2, output_padding=1),
        example(floats(1, 2, 4), floats(2, 2, 3), dilation=2, padding=(0, 1)),
        bad(floats(1, 3, 5), floats(2, 2, 3), error="channels"),
        bad(floats(1, 3, 5), floats(3, 2, 3), output_padding=1, error="output_padding"),
    )  # fmt: skip


@operator("nn.conv3d_transpose")
class Conv3DTranspose(SpatialConv):
    """Transposed convolution of data (N, C, D, H, W) with weight (C, O/groups, KD, KH, KW)."""

    strides: tuple[int, ...] = attribute((1, 1, 1), "steps of the output", convert=convert.triple)
    padding: tuple[int, ...] = attribute((0,) * 6, "cut away: three before, three after", convert=convert.padding6)
    dilation: tuple[int, ...] = attribute((1, 1, 1), "distance between taps", convert=convert.triple)
    groups: int = _GROUPS
    channels: int | None = _CHANNELS
    kernel_size: tuple[int, ...] | None = attribute(
        None, "from the weight if None", convert=convert.optional(convert.triple)
    )
    data_layout: str = attribute("NCDHW", "layout of data", choices=("NCDHW",))
    kernel_layout: str = attribute("IODHW", "layout of weight", choices=("IODHW", "OIDHW"))
    out_layout: str = attribute("", "layout of the result", choices=("", "NCDHW"))
    output_padding: tuple[int, ...] = attribute((0, 0, 0), "added at the end", convert=convert.triple)
    out_dtype: str = _OUT_DTYPE
    precision = Precision.ALWAYS
    rank = 3
    transposed = True
    examples = (
        example(floats(1, 2, 2, 3, 3), floats(2, 2, 2, 3, 2)),
        example(floats(1, 2, 2, 3, 2), floats(2, 1, 3, 3, 3), strides=2, padding=1, groups=2, output_padding=(1, 0, 1)),
        bad(floats(1, 3, 2, 2, 2), floats(2, 2, 3, 3, 3), error="channels"),
        bad(floats(1, 2, 1, 1, 1), floats(2, 2, 1, 1, 1), padding=1, error="empty"),
    )  # fmt: skip


@operator("nn.dilate")
class Dilate(Operator):
    """`strides - 1` elements of `dilation_value` put between the elements of each axis."""

    strides: tuple[int, ...] = attribute(doc="distance of neighbours in the result, by axis", convert=convert.integers)
    dilation_value: float = attribute(0.0, "what is put between", convert=convert.number)
    fusion = Fusion.INJECTIVE
    examples = (
        example(floats(2, 3), strides=(1, 2)), example(floats(3, 2), strides=(2, 3), dilation_value=-1.0),
        example(ints(4), strides=(3,), dilation_value=7), bad(floats(2, 3), strides=(2,), error="each axis"),
        bad(floats(2), strides=(0,), error="positive"),
    )  # fmt: skip

    def shape(self, shape: Shape) -> Shape:
        if len(self.strides) != len(shape):
            refuse(
                self,
                "E-TYPE-RANK",
                "strides must have one entry for each axis",
                found=self.strides,
                expected=len(shape),
            )
        check_positive(self, strides=self.strides)
        return tuple(
            add(multiply(subtract(extent, 1), step), 1) for extent, step in zip(shape, self.strides, strict=True)
        )

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        return TensorType(self.shape(kind.shape), kind.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        result = np.full(self.shape(data.shape), self.dilation_value, data.dtype)  # type: ignore[arg-type]
        result[tuple(slice(None, None, step) for step in self.strides)] = data
        return result

    def compute(self, data: Any) -> Any:
        def element(*i: Any) -> Any:
            tests = [(index % step).equal(0) for index, step in zip(i, self.strides, strict=True) if step > 1]
            value = data(*(index // step for index, step in zip(i, self.strides, strict=True)))
            return te.if_then_else(te.all(*tests), value, build.const(self.dilation_value, data.dtype))

        return injective(self, self.shape(data.shape), element)
