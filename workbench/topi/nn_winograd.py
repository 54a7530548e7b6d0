"""Convolutions by Winograd's minimal filtering: the weight's transform, and the rest (`winograd.py`).

    R.nn.conv2d(x, w)   ->   u = R.nn.contrib_conv2d_winograd_weight_transform(w, tile_size=4)
                             R.nn.contrib_conv2d_winograd_without_weight_transform(x, u, tile_size=4)

The classic names.  The first is folded where the weight is a constant.

>>> op = WinogradConv2D(tile_size=4, padding=(1, 1))
>>> op.infer(TensorType((1, 3, 8, 8)), TensorType((6, 6, 16, 3)))
Tensor[(1, 16, 8, 8), float32]
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..relay.ir.operator import Fusion, Operator, Precision, attribute, bad, example, operator
from ..relay.ir.types import TensorType
from . import attributes as convert
from . import layout as layouts
from .compute_winograd import weight_transform, without_weight_transform
from .nn_conv import NCHW, Geometry, output_channels, result_dtype, window_extent
from .samples import floats, ints
from .shapes import ceil_divide, known, product, refuse, same_dimension, same_dtype, tensor
from .winograd import LARGEST, Matrix, growth, matrices

HWOI = layouts.parse("HWOI")
FLOATS = ("float32", "float64")
CANCELS = 2e-4
"""Relative tolerance of examples: numbers of a transformed weight that come from no kernel cancel each other."""


def _kernel_layout(value: Any) -> str:
    """OIHW is the classic way to name the layout of the weight before its transform."""
    return "HWOI" if value == "OIHW" else str(value)


def _tile(op: Any, taps: int) -> None:
    """Refuse a tile for which there is no transform."""
    if op.tile_size < 1 or taps < 1 or op.tile_size + taps - 1 > LARGEST:
        refuse(
            op, "E-OPERATOR-ATTRIBUTE", f"tile_size {op.tile_size} does not fit a kernel of {taps} taps",
            found=f"{op.tile_size + taps - 1} inputs a tile", expected=f"tile_size + taps - 1 from 1 to {LARGEST}",
        )  # fmt: skip


def _float(op: Operator, kind: TensorType) -> None:
    """Refuse numbers in which the transforms' fractions do not exist, or cost too much."""
    if str(kind.dtype) not in FLOATS:
        refuse(op, "E-TYPE-DTYPE", "Winograd's transforms need float32 or float64", found=str(kind.dtype))


def _rows(matrix: Matrix, values: np.ndarray) -> np.ndarray:
    """matrix @ values over the first axis; a zero of the matrix takes no part."""
    found, product = np.zeros((len(matrix), *values.shape[1:])), np.empty(values.shape[1:])
    for row, total in zip(matrix, found, strict=True):
        for factor, part in zip(row, values, strict=True):
            if factor:
                total += np.multiply(part, float(factor), out=product)
    return found


def _around(matrix: Matrix, values: np.ndarray) -> np.ndarray:
    """matrix @ values @ matrix^T over the first two axes, in float64."""
    inner = _rows(matrix, values.astype(np.float64, order="C"))
    return _rows(matrix, inner.swapaxes(0, 1)).swapaxes(0, 1)


def _both(matrix: Matrix, values: np.ndarray) -> np.ndarray:
    """The same over the last two axes."""
    found = _around(matrix, np.moveaxis(values, (-2, -1), (0, 1)))
    return np.ascontiguousarray(np.moveaxis(found, (0, 1), (-2, -1)))


_BLOCK: Final = 1 << 16
"""Elements of a weight that are transformed at a time: what lies between stays in the nearer caches."""


@operator("nn.contrib_conv2d_winograd_weight_transform")
class WinogradWeightTransform(Operator):
    """The Winograd transform G g G^T of a convolution's weight (O, C, K, K): (a, a, O, C), a = tile_size + K - 1."""

    tile_size: int = attribute(doc="rows and columns of outputs that a tile has", convert=convert.integer)
    fusion = Fusion.INJECTIVE
    precision = Precision.NEVER
    examples = (
        example(floats(3, 2, 3, 3), tile_size=2),
        example(floats(3, 2, 3, 3), tile_size=4),
        example(floats(2, 3, 5, 5), tile_size=2),
        example(floats(2, 1, 3, 3, dtype="float64"), tile_size=6),
        bad(floats(3, 2, 3, 3), tile_size=7, error="tile_size 7"),
        bad(floats(3, 2, 3, 3), tile_size=0, error="tile_size 0"),
        bad(floats(3, 2, 3, 1), tile_size=2, error="square"),
        bad(ints(3, 2, 3, 3), tile_size=2, error="float32"),
        bad(floats(3, 2, 3), tile_size=2, error="4 axes"),
    )

    def infer(self, weight: TensorType) -> TensorType:
        kind = tensor(self, weight, "weight", 4)
        _float(self, kind)
        out, inner, *kernel = kind.shape
        high, wide = (known(self, extent, "the kernel's size") for extent in kernel)
        if high != wide:
            refuse(self, "E-TYPE-SHAPE", "the kernel must be square", found=f"{high} by {wide}")
        _tile(self, high)
        size = self.tile_size + high - 1
        return TensorType((size, size, out, inner), kind.dtype)

    def reference(self, weight: np.ndarray) -> np.ndarray:
        matrix = matrices(self.tile_size, weight.shape[-1]).filter
        found = np.empty((len(matrix), len(matrix), *weight.shape[:2]), weight.dtype)
        block = max(1, _BLOCK // max(1, weight[:1].size))
        for start in range(0, len(weight), block):
            part = slice(start, start + block)
            found[:, :, part] = _around(matrix, weight[part].transpose(2, 3, 0, 1))
        return found

    def compute(self, weight: Any) -> Any:
        return weight_transform(self, weight)


@operator("nn.contrib_conv2d_winograd_without_weight_transform")
class WinogradConv2D(Operator):
    """Two-dimensional convolution with stride 1 over a weight from `nn.contrib_conv2d_winograd_weight_transform`.

    Data as in nn.conv2d.  kernel_layout "HWOI16o" is (a, a, O/16, C, 16); then `channels` is needed where O was filled
    up.  The result differs from nn.conv2d's by roundings: for tile_size 4 and 3 x 3 taps they are about four times as
    large, as a part of the greatest sum of absolute products in a tile (`winograd.growth`).  What is not finite
    spreads over its tile.
    """

    tile_size: int = attribute(doc="rows and columns of outputs that a tile has", convert=convert.integer)
    strides: tuple[int, int] = attribute((1, 1), "1: what Winograd can do", convert=convert.pair)
    padding: tuple[int, ...] = attribute(
        (0, 0, 0, 0), "zeros around: top, left, bottom, right", convert=convert.padding4
    )
    dilation: tuple[int, int] = attribute((1, 1), "1: what Winograd can do", convert=convert.pair)
    groups: int = attribute(1, "1: what Winograd can do", convert=convert.integer)
    channels: int | None = attribute(
        None, "output channels; from the weight if None", convert=convert.optional(convert.integer)
    )
    kernel_size: tuple[int, int] | None = attribute(
        None, "of the weight before its transform; from the weight if None", convert=convert.optional(convert.pair)
    )
    data_layout: str = attribute("NCHW", "layout of data", choices=("NCHW", "NHWC"))
    kernel_layout: str = attribute("HWOI", "layout of weight; OIHW stands for HWOI", convert=_kernel_layout)
    out_layout: str = attribute("", "layout of the result; data's if empty", convert=str)
    out_dtype: str = attribute("", "dtype of the result: data's", convert=convert.dtype_or_same)
    family = "winograd"
    fusion = Fusion.OUT_ELEMWISE_FUSABLE
    precision = Precision.NEVER
    accumulates = True
    multiplies_and_adds = True
    padding_value = 0.0
    examples = (
        example(floats(1, 3, 6, 7), floats(4, 4, 4, 3), tile_size=2),
        example(floats(2, 3, 6, 9), floats(6, 6, 4, 3), tile_size=4, padding=1, kernel_layout="OIHW",
                tolerance=CANCELS),
        example(floats(1, 2, 8, 8), floats(6, 6, 3, 2), tile_size=2, padding=(0, 1, 2, 3), kernel_size=(5, 5)),
        example(floats(1, 5, 7, 3), floats(4, 4, 4, 3), tile_size=2, padding=1, data_layout="NHWC"),
        example(floats(1, 8, 8, 3), floats(6, 6, 2, 3, 4), tile_size=4, data_layout="NHWC", padding=1,
                kernel_layout="HWOI4o", tolerance=CANCELS),
        example(floats(1, 3, 9, 6), floats(4, 4, 2, 3, 4), tile_size=2, padding=1, kernel_layout="HWOI4o", channels=6),
        example(floats(1, 2, 5, 5, dtype="float64"), floats(6, 6, 3, 2, dtype="float64"), tile_size=4, padding=1),
        bad(floats(1, 3, 6, 6), floats(4, 4, 4, 2), tile_size=2, error="channels"),
        bad(floats(1, 3, 6, 6), floats(4, 5, 4, 3), tile_size=2, error="square"),
        bad(floats(1, 3, 6, 6), floats(4, 4, 4, 3), tile_size=5, error="tile_size 5"),
        bad(floats(1, 3, 6, 6), floats(4, 4, 4, 3), tile_size=2, strides=2, error="strides"),
        bad(floats(1, 3, 6, 6), floats(4, 4, 4, 3), tile_size=2, dilation=2, error="dilation"),
        bad(floats(1, 3, 6, 6), floats(4, 4, 4, 3), tile_size=2, groups=3, error="groups"),
        bad(floats(1, 3, 6, 6), floats(4, 4, 4, 3), tile_size=2, channels=5, error="channels"),
        bad(floats(1, 3, 6, 6), floats(4, 4, 4, 3), tile_size=2, kernel_size=5, error="kernel_size"),
        bad(floats(1, 3, 6, 6), floats(4, 4, 4, 3), tile_size=2, kernel_layout="HWIO", error="HWOI"),
        bad(floats(1, 3, 6, 6), floats(4, 4, 4, 3), tile_size=2, out_layout="NHWC", error="out_layout"),
        bad(floats(1, 3, 2, 2), floats(4, 4, 4, 3), tile_size=2, error="larger"),
        bad(ints(1, 3, 6, 6), ints(4, 4, 4, 3), tile_size=2, error="float32"),
        bad(floats(1, 3, 6, 6), floats(4, 4, 4, 3), tile_size=2, out_dtype="float64", error="out_dtype"),
    )  # fmt: skip

    def geometry(self, data: Any, weight: Any) -> Geometry:
        """Sizes from the operands' shapes.  Raises `WorkbenchError` when they do not fit."""
        source, kernel = layouts.parse(self.data_layout), layouts.parse(self.kernel_layout)
        n, c, h, w = (source.extent(data, letter) for letter in "NCHW")
        high, wide = (known(self, kernel.extent(weight, letter), "the tile's size") for letter in "HW")
        if high != wide:
            refuse(self, "E-TYPE-SHAPE", "the transformed kernel must be square", found=f"{high} by {wide}")
        taps = high - self.tile_size + 1
        _tile(self, taps)
        if self.kernel_size not in (None, (taps, taps)):
            refuse(self, "E-TYPE-SHAPE", "weight does not come from a kernel of kernel_size", found=f"{(taps, taps)}")
        inner = kernel.extent(weight, "I")
        if same_dimension(c, inner) is False:
            refuse(self, "E-TYPE-SHAPE", "channels of data and weight do not agree", found=f"{c} and {inner}")
        out = output_channels(self, kernel.extent(weight, "O"), kernel)
        top, left, bottom, right = self.padding
        extents = (window_extent(self, h, top + bottom, taps, 1, 1), window_extent(self, w, left + right, taps, 1, 1))
        return Geometry(n, c, h, w, out, (taps, taps), *extents)

    def rounding(self, data: TensorType, weight: TensorType) -> float:
        return growth(self.tile_size, weight.concrete_shape[0] + 1 - self.tile_size)

    def infer(self, data: TensorType, weight: TensorType) -> TensorType:
        source, kernel = layouts.parse(self.data_layout), layouts.parse(self.kernel_layout)
        if kernel.text not in (HWOI.text, f"HWOI{kernel.factors.get('O')}o"):
            refuse(self, "E-LAYOUT", "no such layout of a transformed weight", found=self.kernel_layout,
                   expected="HWOI, or in blocks as HWOI16o")  # fmt: skip
        kind, taps = tensor(self, data, "data", 4), tensor(self, weight, "weight", len(kernel.axes))
        _float(self, kind)
        dtype = same_dtype(self, kind, taps)
        for name, ones in (("strides", (1, 1)), ("dilation", (1, 1)), ("groups", 1)):
            if getattr(self, name) != ones:
                refuse(self, "E-OPERATOR-ATTRIBUTE", f"{name} must be 1", found=getattr(self, name))
        if self.out_layout not in ("", self.data_layout):
            refuse(self, "E-OPERATOR-ATTRIBUTE", "out_layout must be data_layout", found=self.out_layout)
        if result_dtype(self.out_dtype, dtype) != dtype:
            refuse(self, "E-OPERATOR-ATTRIBUTE", "out_dtype must be that of the operands", found=self.out_dtype)
        g = self.geometry(kind.shape, taps.shape)
        plain = (g.batch, g.out_channels, g.out_height, g.out_width)
        return TensorType(layouts.transformed_shape(NCHW, source, plain), dtype)

    def reference(self, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        g: Any = self.geometry(data.shape, weight.shape)
        m, source = self.tile_size, layouts.parse(self.data_layout)
        plain = layouts.transform_numpy(data, source, NCHW)
        taps = layouts.transform_numpy(weight, layouts.parse(self.kernel_layout), HWOI, {"O": g.out_channels})
        size, own = taps.shape[0], matrices(m, g.kernel[0])
        top, left = self.padding[:2]
        tall, wide = -(-g.out_height // m), -(-g.out_width // m)
        reach = (tall * m + size - m, wide * m + size - m)
        big = np.pad(plain, ((0, 0), (0, 0), (top, reach[0]), (left, reach[1])))[:, :, : reach[0], : reach[1]]
        windows = np.lib.stride_tricks.sliding_window_view(big, (size, size), axis=(2, 3))[:, :, ::m, ::m]
        products = np.einsum("ncyxij,ijoc->noyxij", _both(own.data, windows), taps.astype(np.float64))
        tiles = _both(own.output, products).transpose(0, 1, 2, 4, 3, 5)
        whole = tiles.reshape(*tiles.shape[:2], tall * m, wide * m)[:, :, : g.out_height, : g.out_width]
        return layouts.transform_numpy(whole.astype(data.dtype), NCHW, source)

    def compute(self, data: Any, weight: Any) -> Any:
        return without_weight_transform(self, data, weight)

    def flops(self, data: TensorType, weight: TensorType) -> int:
        """Multiply-adds of the products between the transforms, two operations each."""
        g, m = self.geometry(data.shape, weight.shape), self.tile_size
        tiles = product((g.batch, ceil_divide(g.out_height, m), ceil_divide(g.out_width, m)))
        size = g.kernel[0] + m - 1
        return 2 * size * size * g.out_channels * known(self, g.in_channels, "channels") * known(self, tiles, "tiles")
