"""Deformable convolution: the places that each tap reads are data.

>>> kinds = [TensorType(shape) for shape in ((1, 2, 5, 5), (1, 8, 4, 4), (3, 2, 2, 2))]
>>> DeformableConv2D().infer(*kinds)
Tensor[(1, 3, 4, 4), float32]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import te
from ..arith import build
from ..relay.ir.operator import Fusion, Operator, attribute, bad, example, operator
from ..relay.ir.types import TensorType
from . import attributes as convert
from .samples import floats
from .sampling import NO_PIXELS, bilinear, bilinear_numpy
from .shapes import float_dtype, known_shape, refuse, same_dtype, some_elements, tensor


@operator("nn.deformable_conv2d")
class DeformableConv2D(Operator):
    """A convolution whose taps are moved by `offset` and weighted by `mask` (Zhu et al., Deformable ConvNets v2, 2018).

    offset (n, 2 * groups * kh * kw, h', w') holds (y, x) for each tap; mask (n, groups * kh * kw, h', w'); 1 if
    left out.
    """

    strides: tuple[int, int] = attribute((1, 1), "steps of the window", convert=convert.pair)
    padding: tuple[int, int, int, int] = attribute((0, 0, 0, 0), "zeros around data", convert=convert.padding4)
    dilation: tuple[int, int] = attribute((1, 1), "distances of taps", convert=convert.pair)
    deformable_groups: int = attribute(1, "groups of channels with offsets of their own", convert=convert.integer)
    groups: int = attribute(1, "groups of channels", convert=convert.integer)
    channels: int | None = attribute(
        None, "output channels, as the weight has", convert=convert.optional(convert.integer)
    )
    kernel_size: tuple[int, int] | None = attribute(
        None, "extents of the window, as the weight has", convert=convert.optional(convert.pair)
    )
    data_layout: str = attribute("NCHW", "layout of data", choices=("NCHW",))
    kernel_layout: str = attribute("OIHW", "layout of weight", choices=("OIHW",))
    out_layout: str = attribute("", "layout of the result; data's if empty", choices=("", "NCHW"))
    out_dtype: str = attribute("", "dtype of the result; data's if empty", convert=convert.dtype_or_same)
    fusion = Fusion.OPAQUE
    accumulates = True
    parameters = (
        "data", "offset", "weight", "strides", "padding", "dilation", "deformable_groups", "groups", "channels",
        "kernel_size", "data_layout", "kernel_layout", "out_layout", "out_dtype", "mask",
    )  # fmt: skip
    examples = (
        example(floats(1, 2, 5, 5), floats(1, 8, 4, 4), floats(3, 2, 2, 2), floats(1, 4, 4, 4)),
        example(floats(1, 2, 5, 5), floats(1, 8, 4, 4), floats(3, 2, 2, 2), channels=3, kernel_size=2),
        example(floats(1, 4, 5, 5), floats(1, 16, 3, 3), floats(2, 2, 2, 2), floats(1, 8, 3, 3), groups=2,
                deformable_groups=2, strides=2, padding=1),
        bad(floats(1, 2, 5, 5), floats(1, 7, 4, 4), floats(3, 2, 2, 2), floats(1, 4, 4, 4), error="offset"),
        bad(floats(1, 2, 5, 5), floats(1, 8, 4, 4), floats(3, 2, 2, 2), floats(1, 3, 4, 4), error="mask"),
        bad(floats(1, 3, 5, 5), floats(1, 8, 4, 4), floats(3, 2, 2, 2), floats(1, 4, 4, 4), error="channels"),
        bad(floats(1, 2, 5, 5), floats(1, 8, 4, 4), floats(3, 2, 2, 2), channels=4, error="the weight has others"),
        bad(floats(1, 2, 5, 5), floats(1, 8, 4, 4), floats(3, 2, 2, 2), data_layout="NHWC", error="one of"),
        bad(floats(1, 2, 5, 5), floats(1, 8, 4, 4), floats(3, 2, 2, 2), out_dtype="float64", error="out_dtype"),
    )  # fmt: skip

    def infer(
        self, data: TensorType, offset: TensorType, weight: TensorType, mask: TensorType | None = None
    ) -> TensorType:
        operands = ((data, "data"), (offset, "offset"), (weight, "weight"), (mask, "mask"))
        kinds = [tensor(self, item, name, 4) for item, name in operands if item is not None]
        dtype = same_dtype(self, *kinds)
        float_dtype(self, kinds[0], "data")
        n, channels, h, w = known_shape(self, data, "data")
        some_elements(self, kinds[0], (2, 3), NO_PIXELS)
        outputs, per_group, kh, kw = known_shape(self, weight, "weight")
        if per_group * self.groups != channels or outputs % self.groups or channels % self.deformable_groups:
            refuse(self, "E-TYPE-SHAPE", "channels do not fit the weight and groups", found=f"{channels} channels")
        if self.channels not in (None, outputs) or self.kernel_size not in (None, (kh, kw)):
            refuse(self, "E-TYPE-SHAPE", "the weight has others",
                   expected=f"channels={outputs}, kernel_size={(kh, kw)}",
                   found=f"channels={self.channels}, kernel_size={self.kernel_size}")  # fmt: skip
        if self.out_dtype not in ("", dtype):
            refuse(
                self, "E-TYPE-DTYPE", "the result has data's dtype", found=f"out_dtype={self.out_dtype}", expected=dtype
            )
        top, left, bottom, right = self.padding
        rows = (h + top + bottom - (kh - 1) * self.dilation[0] - 1) // self.strides[0] + 1
        columns = (w + left + right - (kw - 1) * self.dilation[1] - 1) // self.strides[1] + 1
        taps = self.deformable_groups * kh * kw
        for kind, name, count in ((offset, "offset", 2 * taps), (mask, "mask", taps)):
            if kind is not None and tuple(kind.shape) != (n, count, rows, columns):
                refuse(self, "E-TYPE-SHAPE", f"{name} does not fit", found=kind.shape,
                       expected=(n, count, rows, columns))  # fmt: skip
        return TensorType((n, outputs, rows, columns), dtype)

    def reference(
        self, data: np.ndarray, offset: np.ndarray, weight: np.ndarray, mask: np.ndarray | None = None
    ) -> np.ndarray:
        n, channels = data.shape[:2]
        outputs, per_group, kh, kw = weight.shape
        rows, columns = offset.shape[2:]
        moves = offset.reshape(n, self.deformable_groups, kh, kw, 2, rows, columns).astype(np.float64)
        shares = (n, self.deformable_groups, kh, kw, rows, columns)
        share = np.ones(shares) if mask is None else mask.reshape(shares).astype(np.float64)
        read = np.zeros((n, channels, kh, kw, rows, columns))
        for b, c, i, j, y, x in np.ndindex(*read.shape):
            group = c * self.deformable_groups // channels
            at = [k * d + o * s - p + moves[b, group, i, j, axis, y, x]
                  for axis, (k, d, o, s, p) in enumerate(zip((i, j), self.dilation, (y, x), self.strides,
                                                             self.padding[:2], strict=True))]  # fmt: skip
            total = sum(w * v for w, v in bilinear_numpy(data[b, c], at[0], at[1], "zero"))
            read[b, c, i, j, y, x] = total * share[b, group, i, j, y, x]
        parts = read.reshape(n, self.groups, per_group, kh, kw, rows, columns)
        kernel = weight.reshape(self.groups, outputs // self.groups, per_group, kh, kw).astype(np.float64)
        found = np.einsum("ngcijyx,gocij->ngoyx", parts, kernel)
        return found.reshape(n, outputs, rows, columns).astype(data.dtype)

    def compute(self, data: Any, offset: Any, weight: Any, mask: Any = None) -> Any:
        n, channels, height, width = data.shape
        outputs, per_group, kh, kw = weight.shape
        rows, columns = offset.shape[2:]

        def read(b: Any, c: Any, i: Any, j: Any, y: Any, x: Any) -> Any:
            tap = (c * self.deformable_groups // channels) * (kh * kw) + i * kw + j
            at_y = build.cast(data.dtype, y * self.strides[0] - self.padding[0] + i * self.dilation[0])
            at_x = build.cast(data.dtype, x * self.strides[1] - self.padding[1] + j * self.dilation[1])
            at_y, at_x = at_y + offset(b, tap * 2, y, x), at_x + offset(b, tap * 2 + 1, y, x)
            found = bilinear(lambda *p: data(b, c, *p), at_y, at_x, (height, width), "zero")
            total = found[0][0] * found[0][1]
            for share, value in found[1:]:
                total = total + share * value
            return total if mask is None else total * mask(b, tap, y, x)

        columns_read = te.compute((n, channels, kh, kw, rows, columns), read, name="deform_read", tag="injective")
        rc = te.reduce_axis((0, per_group), name="rc")
        rh, rw = te.reduce_axis((0, kh), name="rh"), te.reduce_axis((0, kw), name="rw")

        def element(b: Any, o: Any, y: Any, x: Any) -> Any:
            group = o // (outputs // self.groups)
            value = columns_read(b, group * per_group + rc.var, rh.var, rw.var, y, x)
            return te.sum(value * weight(o, rc.var, rh.var, rw.var), axis=[rc, rh, rw])

        return te.compute((n, outputs, rows, columns), element, name="deformable_conv2d", tag="comm_reduce")

    def flops(self, data: TensorType, offset: TensorType, weight: TensorType, mask: TensorType | None = None) -> int:
        return 2 * weight.size * data.size // int(data.shape[1])  # type: ignore[call-overload]
