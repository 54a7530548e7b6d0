"""Convolutions: nn.conv2d, nn.conv1d, nn.conv2d_transpose.

>>> op = Conv2D(padding=(1, 1))
>>> op.infer(TensorType((1, 3, 8, 8)), TensorType((16, 3, 3, 3)))
Tensor[(1, 16, 8, 8), float32]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.dtype import DataType
from ..relay.ir.operator import ChannelAxes, Fusion, Operator, Precision, attribute, bad, example, operator
from ..relay.ir.types import Dimension, TensorType, Type
from . import arrange, packing, packing_bytes
from . import attributes as convert
from . import layout as layouts
from .deduce import convolution_weight
from .samples import floats, ints
from .shapes import (
    Shape,
    add,
    factor_dtype,
    floor_divide,
    known,
    multiply,
    product,
    refuse,
    same_dimension,
    same_dtype,
    subtract,
    tensor,
)

NCHW, OIHW, IOHW = layouts.parse("NCHW"), layouts.parse("OIHW"), layouts.parse("IOHW")


@dataclass(frozen=True)
class Geometry:
    """The sizes of one convolution: extents may be symbolic, the rest is known."""

    batch: Dimension
    in_channels: Dimension
    height: Dimension
    width: Dimension
    out_channels: int
    kernel: tuple[int, int]
    out_height: Dimension
    out_width: Dimension


def result_dtype(out_dtype: str, data: DataType) -> DataType:
    """The dtype of accumulation and result: that of the operand unless one is given."""
    return DataType(out_dtype) if out_dtype else data


def window_extent(op: Operator, extent: Dimension, pads: int, kernel: int, stride: int, dilation: int) -> Dimension:
    """How many windows fit along an axis."""
    reach = (kernel - 1) * dilation + 1
    padded = add(extent, pads)
    if isinstance(padded, int) and padded < reach:
        refuse(op, "E-TYPE-WINDOW", "the window is larger than the padded data", found=f"{reach} on {padded}")
    return add(floor_divide(subtract(padded, reach), stride), 1)


def check_positive(op: Operator, **values: Any) -> None:
    """Refuse strides, dilations and sizes below one."""
    for name, value in values.items():
        if any(item < 1 for item in (value if isinstance(value, tuple) else (value,))):
            refuse(op, "E-OPERATOR-ATTRIBUTE", f"{name} must be positive", found=value)


def output_channels(op: Any, filled: Dimension, kernel: layouts.Layout) -> int:
    """`op.channels`, or those of the weight, which is filled up to whole blocks.  Refuses numbers that do not agree."""
    count, block = known(op, filled, "the number of output channels"), kernel.factors.get("O", 1)
    out = count if op.channels is None else op.channels
    if -(-out // block) * block != count:
        refuse(op, "E-TYPE-SHAPE", "weight does not have that many output channels", found=count, expected=out)
    return out


@operator("nn.conv2d")
class Conv2D(Operator):
    """Two-dimensional convolution (cross-correlation) of data (N, C, H, W) with weight (O, C/groups, KH, KW).

    padding is (top, left, bottom, right).  kernel_layout may be packed ("OIHW16o"); then `channels` is needed.
    """

    strides: tuple[int, int] = attribute((1, 1), "steps of the window", convert=convert.pair)
    padding: tuple[int, ...] = attribute(
        (0, 0, 0, 0), "zeros around: top, left, bottom, right", convert=convert.padding4
    )
    dilation: tuple[int, int] = attribute((1, 1), "distance between taps", convert=convert.pair)
    groups: int = attribute(1, "independent groups of channels", convert=convert.integer)
    channels: int | None = attribute(
        None, "output channels; from the weight if None", convert=convert.optional(convert.integer)
    )
    kernel_size: tuple[int, int] | None = attribute(
        None, "from the weight if None", convert=convert.optional(convert.pair)
    )
    data_layout: str = attribute("NCHW", "layout of data", convert=str)
    kernel_layout: str = attribute("OIHW", "layout of weight", convert=str)
    out_layout: str = attribute("", "layout of the result; data's if empty", convert=str)
    out_dtype: str = attribute("", "dtype of accumulation and result; data's if empty", convert=convert.dtype_or_same)
    family = "conv2d"
    fusion = Fusion.OUT_ELEMWISE_FUSABLE
    precision = Precision.ALWAYS
    accumulates = True
    multiplies_and_adds = True
    padding_value = 0.0
    examples = (
        example(floats(1, 3, 6, 7), floats(4, 3, 3, 3)),
        example(floats(2, 3, 6, 7), floats(4, 3, 3, 3), strides=2, padding=1),
        example(floats(1, 3, 7, 6), floats(4, 3, 3, 2), strides=(2, 1), padding=(0, 1, 2, 3)),
        example(floats(1, 4, 6, 6), floats(6, 2, 3, 3), groups=2, padding=(1, 1)),
        example(floats(1, 4, 6, 6), floats(4, 1, 3, 3), groups=4, padding=(1, 1), strides=(2, 2)),
        example(floats(1, 2, 6, 6), floats(4, 1, 3, 3), groups=2, padding=(1, 1)),
        example(floats(1, 2, 8, 8), floats(3, 2, 3, 3), dilation=(2, 2)),
        example(floats(1, 2, 5, 5), floats(3, 2, 1, 1)),
        example(floats(1, 6, 6, 2), floats(3, 3, 2, 4), data_layout="NHWC", kernel_layout="HWIO", padding=(1, 1)),
        example(floats(1, 3, 5, 6), floats(2, 3, 3, 3, 4), kernel_layout="OIHW4o", channels=6, padding=(1, 1)),
        example(floats(1, 2, 5, 17), floats(1, 2, 3, 3, 8), kernel_layout="OIHW8o", channels=8, padding=1, strides=2),
        example(floats(1, 8, 5, 6), floats(2, 1, 3, 3, 4), kernel_layout="OIHW4o", groups=8, padding=(1, 0, 1, 2)),
        example(floats(1, 6, 5, 5), floats(2, 1, 3, 3, 4), kernel_layout="OIHW4o", channels=6, groups=6, padding=1),
        example(floats(1, 4, 5, 5), floats(2, 2, 3, 3, 4), kernel_layout="OIHW4o", groups=2, dilation=2),
        example(floats(1, 4, 5, 5), floats(2, 2, 1, 1, 4), kernel_layout="OIHW4o", channels=6, groups=2),
        example(floats(1, 3, 6, 6), floats(2, 3, 1, 1, 4), kernel_layout="OIHW4o", channels=6),
        example(floats(2, 4, 5, 6), floats(1, 4, 1, 1, 4), kernel_layout="OIHW4o", channels=4, strides=2),
        example(floats(1, 5, 6, 3), floats(2, 3, 3, 3, 4), data_layout="NHWC", kernel_layout="OIHW4o", padding=1),
        example(floats(1, 2, 5, 5, 4), floats(8, 8, 3, 3), data_layout="NCHW4c", padding=1),
        example(floats(1, 1, 5, 5, 8), floats(2, 1, 3, 3, 8), data_layout="NCHW8c", kernel_layout="OIHW8o", groups=8,
                channels=16),
        example(floats(1, 8, 4, 4), floats(2, 8, 1, 1, 10), kernel_layout="OIHW10o", channels=20),
        example(floats(1, 4, 5, 5), floats(6, 4, 3, 3), out_layout="NHWC"),
        example(ints(1, 2, 4, 4, dtype="int8"), ints(3, 2, 3, 3, dtype="int8"), out_dtype="int32"),
        example(ints(1, 3, 4, 4, dtype="uint8"), ints(2, 3, 3, 3, dtype="int8"), padding=1, out_dtype="int32"),
        example(ints(1, 8, 5, 6, dtype="uint8"), ints(2, 2, 3, 3, 16, 4, dtype="int8"), kernel_layout="OIHW16o4i",
                channels=20, padding=1, out_dtype="int32"),
        example(ints(1, 7, 6, 8, dtype="uint8"), ints(1, 2, 3, 2, 16, 4, dtype="int8"), data_layout="NHWC",
                kernel_layout="OIHW16o4i", channels=16, padding=(1, 0, 0, 1), strides=2, out_dtype="int32"),
        example(ints(2, 4, 3, 5, dtype="uint8"), ints(3, 1, 1, 1, 8, 4, dtype="int8"), kernel_layout="OIHW8o4i",
                channels=24, out_dtype="int32"),
        example(ints(1, 4, 3, 5, dtype="int8"), ints(2, 1, 2, 1, 4, 4, dtype="int8"), kernel_layout="OIHW4o4i",
                channels=7, out_dtype="int32"),
        example(floats(1, 3, 6, 7, dtype="float64"), floats(4, 3, 3, 3, dtype="float64")),
        bad(floats(1, 3, 6, 6), floats(4, 2, 3, 3), error="channels"),
        bad(ints(1, 3, 4, 4, dtype="uint8"), ints(2, 3, 3, 3, dtype="int8"), error="different dtypes"),
        bad(floats(1, 3, 2, 2), floats(4, 3, 3, 3), error="larger"),
        bad(floats(1, 3, 6), floats(4, 3, 3, 3), error="4 axes"),
        bad(floats(1, 3, 6, 6), floats(4, 3, 3, 3), strides=0, error="positive"),
        bad(floats(1, 3, 6, 6), floats(4, 3, 3, 3), padding=(1, 2, 3), error="four ints"),
        bad(floats(1, 3, 6, 6), floats(4, 3, 3, 3), channels=5, error="channels"),
        bad(floats(1, 3, 6, 6), floats(4, 3, 3, 3), groups=2, error="groups"),
        bad(floats(1, 3, 6, 6), ints(4, 3, 3, 3), error="different dtypes"),
        bad(floats(1, 3, 5, 5), floats(2, 3, 3, 3, 5), kernel_layout="OIHW4o", error="blocks of 4"),
        bad(floats(1, 2, 5, 5, 3), floats(8, 8, 3, 3), data_layout="NCHW4c", error="blocks of 4"),
    )  # fmt: skip

    def geometry(self, data: Any, weight: Any) -> Geometry:
        """Sizes from the operands' shapes.  Raises `WorkbenchError` when they do not fit."""
        source, kernel = layouts.parse(self.data_layout), layouts.parse(self.kernel_layout)
        check_positive(self, strides=self.strides, dilation=self.dilation, groups=self.groups)
        n, c, h, w = (source.extent(data, letter) for letter in "NCHW")
        filled, per_group = kernel.extent(weight, "O"), kernel.extent(weight, "I")
        kh, kw = (known(self, kernel.extent(weight, letter), "the kernel's size") for letter in "HW")
        out = output_channels(self, filled, kernel)
        self._check_channels(c, per_group, out)
        if self.kernel_size is not None and self.kernel_size != (kh, kw):
            refuse(
                self, "E-TYPE-SHAPE", "weight does not have kernel_size", found=f"{(kh, kw)}", expected=self.kernel_size
            )
        top, left, bottom, right = self.padding
        return Geometry(
            n, c, h, w, out, (kh, kw),
            window_extent(self, h, top + bottom, kh, self.strides[0], self.dilation[0]),
            window_extent(self, w, left + right, kw, self.strides[1], self.dilation[1]),
        )  # fmt: skip

    def _check_channels(self, channels: Dimension, per_group: Dimension, out: int) -> None:
        if same_dimension(channels, multiply(per_group, self.groups)) is False:
            refuse(
                self, "E-TYPE-SHAPE", "channels of data and weight do not agree (check groups)",
                found=f"data has {channels}, weight {per_group} for each of {self.groups} groups",
            )  # fmt: skip
        if out % self.groups:
            refuse(
                self, "E-TYPE-SHAPE", "output channels must be a multiple of groups", found=f"{out} and {self.groups}"
            )

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.convolution(self, types, wish)

    def deduce(self, data: Type | None, weight: Type | None) -> tuple[Type | None, ...]:
        return convolution_weight(self, data, weight)

    def channel_axes(self) -> ChannelAxes | None:
        return layouts.convolution_axes(self)

    def packed(self, lanes: int, *operands: Any) -> Any:
        return packing.convolution(self, lanes, *operands)

    def packed_bytes(self, lanes: int, dot: tuple[str, str], *operands: Any) -> Any:
        return packing_bytes.convolution(self, lanes, dot, *operands)

    def tiled(self, lanes: int, *operands: Any) -> Any:
        return packing.by_tiles(self, lanes, *operands)

    def infer(self, data: TensorType, weight: TensorType) -> TensorType:
        source, kernel = layouts.parse(self.data_layout), layouts.parse(self.kernel_layout)
        kind = tensor(self, data, "data", len(source.axes))
        taps = tensor(self, weight, "weight", len(kernel.axes))
        factor_dtype(self, kind, taps)
        g = self.geometry(kind.shape, taps.shape)
        plain = (g.batch, g.out_channels, g.out_height, g.out_width)
        target = layouts.parse(self.out_layout or self.data_layout)
        return TensorType(layouts.transformed_shape(NCHW, target, plain), result_dtype(self.out_dtype, kind.dtype))

    def reference(self, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        g = self.geometry(data.shape, weight.shape)
        source = layouts.parse(self.data_layout)
        plain = layouts.transform_numpy(data, source, NCHW)
        taps = layouts.transform_numpy(weight, layouts.parse(self.kernel_layout), OIHW, {"O": g.out_channels})
        dtype = result_dtype(self.out_dtype, DataType(data.dtype.name)).to_numpy()
        found = convolve(plain, taps, self.strides, self.padding, self.dilation, self.groups, dtype)
        return layouts.transform_numpy(found, NCHW, layouts.parse(self.out_layout or self.data_layout))

    def compute(self, data: Any, weight: Any) -> Any:
        from .compute_conv import conv2d

        return conv2d(self, data, weight)

    def flops(self, data: TensorType, weight: TensorType) -> int:
        g = self.geometry(data.shape, weight.shape)
        per_group = known(self, g.in_channels, "channels") // self.groups
        points = product((g.batch, g.out_height, g.out_width))
        return 2 * g.out_channels * per_group * g.kernel[0] * g.kernel[1] * known(self, points, "the output")


def accumulating(dtype: np.dtype) -> np.dtype:
    """The dtype to add up in: small floats are summed in float32."""
    return np.dtype(np.float32) if dtype.itemsize < 4 and dtype.kind not in "iub" else dtype


def convolve(
    data: np.ndarray,
    weight: np.ndarray,
    strides: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
    dtype: np.dtype,
) -> np.ndarray:
    """Convolution of NCHW data with OIHW weights in NumPy: one matrix product for each tap of the window."""
    work = accumulating(dtype)
    top, left, bottom, right = padding
    padded = np.pad(data, ((0, 0), (0, 0), (top, bottom), (left, right))).astype(work, copy=False)
    n, c = padded.shape[:2]
    o, per_group, kh, kw = weight.shape
    oh = (padded.shape[2] - (kh - 1) * dilation[0] - 1) // strides[0] + 1
    ow = (padded.shape[3] - (kw - 1) * dilation[1] - 1) // strides[1] + 1
    result = np.zeros((n, groups, o // groups, oh * ow), work)
    taps = weight.reshape(groups, o // groups, per_group, kh, kw).astype(work, copy=False)
    for i, j in np.ndindex(kh, kw):
        y, x = i * dilation[0], j * dilation[1]
        seen = padded[
            :, :, y : y + (oh - 1) * strides[0] + 1 : strides[0], x : x + (ow - 1) * strides[1] + 1 : strides[1]
        ]
        columns = seen.reshape(n, groups, c // groups, oh * ow)
        if per_group == 1:
            result += taps[:, :, :, i, j] * columns
        else:
            result += np.matmul(taps[:, :, :, i, j], columns)
    return result.reshape(n, o, oh, ow).astype(dtype, copy=False)


@operator("nn.conv1d")
class Conv1D(Operator):
    """One-dimensional convolution of data (N, C, W) with weight (O, C/groups, K); padding is (left, right)."""

    strides: tuple[int] = attribute((1,), "step of the window", convert=convert.single)
    padding: tuple[int, int] = attribute((0, 0), "zeros before and after", convert=convert.padding2)
    dilation: tuple[int] = attribute((1,), "distance between taps", convert=convert.single)
    groups: int = attribute(1, "independent groups of channels", convert=convert.integer)
    channels: int | None = attribute(
        None, "output channels; from the weight if None", convert=convert.optional(convert.integer)
    )
    kernel_size: tuple[int] | None = attribute(
        None, "from the weight if None", convert=convert.optional(convert.single)
    )
    data_layout: str = attribute("NCW", "layout of data", choices=("NCW",))
    kernel_layout: str = attribute("OIW", "layout of weight", choices=("OIW",))
    out_layout: str = attribute("", "layout of the result", choices=("", "NCW"))
    out_dtype: str = attribute("", "dtype of accumulation and result; data's if empty", convert=convert.dtype_or_same)
    fusion = Fusion.OUT_ELEMWISE_FUSABLE
    precision = Precision.ALWAYS
    accumulates = True
    multiplies_and_adds = True
    padding_value = 0.0
    examples = (
        example(floats(1, 3, 8), floats(4, 3, 3)),
        example(floats(1, 4, 8), floats(4, 2, 3), groups=2, padding=(1, 2), strides=2),
        example(floats(1, 3, 9), floats(4, 3, 3), dilation=2), bad(floats(1, 3, 2), floats(4, 3, 3), error="larger"),
        bad(floats(1, 3, 8), floats(4, 2, 3), error="channels"), bad(floats(3, 8), floats(4, 2, 3), error="3 axes"),
    )  # fmt: skip

    def wide(self) -> Conv2D:
        """The same as a two-dimensional convolution over data of height 1."""
        left, right = self.padding
        size = None if self.kernel_size is None else (1, *self.kernel_size)
        return Conv2D(
            strides=(1, *self.strides),
            padding=(0, left, 0, right),
            dilation=(1, *self.dilation),
            groups=self.groups,
            channels=self.channels,
            kernel_size=size,
            data_layout="NCHW",
            kernel_layout="OIHW",
            out_layout="",
            out_dtype=self.out_dtype,
        )

    def deduce(self, data: Type | None, weight: Type | None) -> tuple[Type | None, ...]:
        return convolution_weight(self, data, weight)

    def channel_axes(self) -> ChannelAxes | None:
        return layouts.convolution_axes(self)

    def packed(self, lanes: int, *operands: Any) -> Any:
        return packing.sequence(self, lanes, *operands)

    def infer(self, data: TensorType, weight: TensorType) -> TensorType:
        kind, taps = tensor(self, data, "data", 3), tensor(self, weight, "weight", 3)
        found = self.wide().infer(
            TensorType((*kind.shape[:2], 1, kind.shape[2]), kind.dtype),
            TensorType((*taps.shape[:2], 1, taps.shape[2]), taps.dtype),
        )
        return TensorType((*found.shape[:2], found.shape[3]), found.dtype)

    def reference(self, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return self.wide().reference(data[:, :, None], weight[:, :, None])[:, :, 0]

    def compute(self, data: Any, weight: Any) -> Any:
        from .compute_conv import conv1d

        return conv1d(self, data, weight)

    def flops(self, data: TensorType, weight: TensorType) -> int:
        wide_data = TensorType((*data.shape[:2], 1, data.shape[2]), data.dtype)
        return self.wide().flops(wide_data, TensorType((*weight.shape[:2], 1, weight.shape[2]), weight.dtype))


@operator("nn.conv2d_transpose")
class Conv2DTranspose(Operator):
    """Transposed convolution of data (N, C, H, W) with weight (C, O/groups, KH, KW) (classic layout "IOHW").

    The output extent is (in - 1) * stride - pads + (kernel - 1) * dilation + 1 + output_padding.
    """

    strides: tuple[int, int] = attribute((1, 1), "steps of the output", convert=convert.pair)
    padding: tuple[int, ...] = attribute((0, 0, 0, 0), "cut away: top, left, bottom, right", convert=convert.padding4)
    dilation: tuple[int, int] = attribute((1, 1), "distance between taps", convert=convert.pair)
    groups: int = attribute(1, "independent groups of channels", convert=convert.integer)
    channels: int | None = attribute(
        None, "output channels; from the weight if None", convert=convert.optional(convert.integer)
    )
    kernel_size: tuple[int, int] | None = attribute(
        None, "from the weight if None", convert=convert.optional(convert.pair)
    )
    data_layout: str = attribute("NCHW", "layout of data and result", choices=("NCHW", "NHWC"))
    kernel_layout: str = attribute("IOHW", "layout of weight", choices=("IOHW", "OIHW"))
    out_layout: str = attribute("", "layout of the result: that of data", choices=("", "NCHW", "NHWC"))
    output_padding: tuple[int, int] = attribute((0, 0), "rows and columns added at the end", convert=convert.pair)
    out_dtype: str = attribute("", "dtype of accumulation and result; data's if empty", convert=convert.dtype_or_same)
    fast_layout = "NCHW"
    fusion = Fusion.OUT_ELEMWISE_FUSABLE
    precision = Precision.ALWAYS
    accumulates = True
    multiplies_and_adds = True
    examples = (
        example(floats(1, 3, 4, 5), floats(3, 2, 3, 3)),
        example(floats(1, 3, 4, 5), floats(3, 2, 3, 3), strides=2, padding=1, output_padding=1),
        example(floats(1, 4, 4, 4), floats(4, 3, 2, 2), strides=2, groups=2),
        example(floats(1, 2, 4, 4), floats(2, 2, 3, 3), dilation=2, padding=(0, 1, 1, 2)),
        example(floats(1, 4, 5, 3), floats(3, 2, 3, 3), strides=2, padding=1, data_layout="NHWC"),
        bad(floats(1, 3, 4, 4), floats(3, 2, 3, 3), out_layout="NHWC", error="layout"),
        bad(floats(1, 3, 4, 4), floats(2, 3, 3, 3), error="channels"),
        bad(floats(1, 3, 4, 4), floats(3, 2, 3, 3), strides=2, output_padding=2, error="output_padding"),
        bad(floats(1, 3, 1, 1), floats(3, 2, 1, 1), padding=1, error="empty"),
    )  # fmt: skip

    def out_extent(self, extent: Dimension, axis: int, kernel: int) -> Dimension:
        """The output's extent along height (0) or width (1)."""
        pads = self.padding[axis] + self.padding[axis + 2]
        reach = (kernel - 1) * self.dilation[axis] + 1
        grown = multiply(subtract(extent, 1), self.strides[axis])
        found = add(grown, reach - pads + self.output_padding[axis])
        if isinstance(found, int) and found < 1:
            refuse(self, "E-TYPE-WINDOW", "the result would be empty", found=found)
        return found

    def sizes(self, data: Any, weight: Any) -> tuple[int, int, int]:
        """(output channels per group, kernel height, kernel width)."""
        check_positive(self, strides=self.strides, dilation=self.dilation, groups=self.groups)
        c, o = (0, 1)
        if same_dimension(data[1], weight[c]) is False or known(self, weight[c], "channels") % self.groups:
            refuse(self, "E-TYPE-SHAPE", "channels of data and weight do not agree", found=f"{data[1]} and {weight[c]}")
        limit = tuple(max(a, b) for a, b in zip(self.strides, self.dilation, strict=True))
        if any(more < 0 or more >= most for more, most in zip(self.output_padding, limit, strict=True)):
            refuse(
                self, "E-OPERATOR-ATTRIBUTE", "output_padding must be less than the stride", found=self.output_padding
            )
        out, kh, kw = (known(self, extent, "the weight's shape") for extent in (weight[o], weight[2], weight[3]))
        if self.channels is not None and self.channels != out * self.groups:
            refuse(
                self,
                "E-TYPE-SHAPE",
                "weight does not have that many channels",
                found=out * self.groups,
                expected=self.channels,
            )
        return out, kh, kw

    def deduce(self, data: Type | None, weight: Type | None) -> tuple[Type | None, ...]:
        return convolution_weight(self, data, weight, transposed=True)

    def channel_axes(self) -> ChannelAxes | None:
        return layouts.transposed_axes(self)

    def packed(self, lanes: int, *operands: Any) -> Any:
        return packing.tiles(self, lanes, *operands)

    def infer(self, data: TensorType, weight: TensorType) -> TensorType:
        kind, taps = tensor(self, data, "data", 4), tensor(self, weight, "weight", 4)
        same_dtype(self, kind, taps)
        return TensorType(self.shape(kind.shape, taps.shape), result_dtype(self.out_dtype, kind.dtype))

    def shape(self, data: Shape, weight: Shape) -> Shape:
        """The result's shape, in the layout of data."""
        if self.out_layout not in ("", self.data_layout):
            refuse(self, "E-LAYOUT", "the result has the layout of data", found=self.out_layout)
        source = layouts.parse(self.data_layout)
        plain = layouts.transformed_shape(source, NCHW, data)
        out, kh, kw = self.sizes(plain, weight)
        extents = (self.out_extent(plain[2], 0, kh), self.out_extent(plain[3], 1, kw))
        return layouts.transformed_shape(NCHW, source, (plain[0], out * self.groups, *extents))

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.by_layout(self, "data_layout", operands, types, wish)

    def reference(self, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        source = layouts.parse(self.data_layout)
        plain = self._plain_reference(layouts.transform_numpy(data, source, NCHW), weight)
        return layouts.transform_numpy(plain, NCHW, source)

    def _plain_reference(self, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        out, kh, kw = self.sizes(data.shape, weight.shape)
        dtype = result_dtype(self.out_dtype, DataType(data.dtype.name)).to_numpy()
        work = accumulating(dtype)
        n, c, h, w = data.shape
        (sh, sw), (dh, dw), groups = self.strides, self.dilation, self.groups
        full = np.zeros((n, groups, out, (h - 1) * sh + (kh - 1) * dh + 1 + self.output_padding[0],
                         (w - 1) * sw + (kw - 1) * dw + 1 + self.output_padding[1]), work)  # fmt: skip
        columns = data.reshape(n, groups, c // groups, h * w).astype(work)
        taps = weight.reshape(groups, c // groups, out, kh, kw).astype(work)
        for i, j in np.ndindex(kh, kw):
            part = np.matmul(np.swapaxes(taps[:, :, :, i, j], 1, 2), columns).reshape(n, groups, out, h, w)
            y, x = i * dh, j * dw
            full[:, :, :, y : y + (h - 1) * sh + 1 : sh, x : x + (w - 1) * sw + 1 : sw] += part
        top, left, bottom, right = self.padding
        cut = full[:, :, :, top : full.shape[3] - bottom, left : full.shape[4] - right]
        return np.ascontiguousarray(cut.reshape(n, groups * out, *cut.shape[3:])).astype(dtype, copy=False)

    def compute(self, data: Any, weight: Any) -> Any:
        from .compute_conv import conv2d_transpose

        return conv2d_transpose(self, data, weight)

    def flops(self, data: TensorType, weight: TensorType) -> int:
        plain = layouts.transformed_shape(layouts.parse(self.data_layout), NCHW, data.shape)
        out, kh, kw = self.sizes(plain, weight.shape)
        return 2 * data.size * out * kh * kw
