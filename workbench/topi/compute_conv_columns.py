"""nn.conv2d over pictures NCHW with vectors along their rows.

`data_pad` is the data with zeros around it, wide enough for whole vectors.  Where columns are strided, those that one
tap reads lie side by side in `data_pack`: column x * stride + phase is at [phase, x].
"""

from __future__ import annotations

from typing import Any, Final

from .. import te
from ..arith import build
from . import layout as layouts
from .compute_conv import channel_of_group, pad_data, padded, reach
from .nn_conv import NCHW, result_dtype

EVEN: Final = 16
"""What the columns of a phase beyond those of the sums are filled up to, so that they are whole vectors."""


def conv2d_columns(op: Any, data: Any, weight: Any, channels: int, width: int) -> Any:
    """The sums are [n, `channels`, y, `width`], at least those of the result; the weight lies as OIHW or in blocks of
    output channels (OIHW16o)."""
    kernel = layouts.parse(op.kernel_layout)
    g = op.geometry(data.shape, weight.shape)
    block = kernel.factors.get("O", 1)
    dtype, stride = result_dtype(op.out_dtype, data.dtype), op.strides[1]
    big = pad_data(op, data, NCHW, g, width) if stride == 1 else in_phases(op, data, g, width)
    per_group = g.in_channels // op.groups
    rc = te.reduce_axis((0, per_group), name="rc")
    rh, rw = te.reduce_axis((0, g.kernel[0]), name="rh"), te.reduce_axis((0, g.kernel[1]), name="rw")

    def element(n: Any, o: Any, y: Any, x: Any) -> Any:
        row, tap = y * op.strides[0] + rh.var * op.dilation[0], rw.var * op.dilation[1]
        channel = channel_of_group(op, g, o, rc.var, per_group)
        value = big(n, channel, row, x + tap) if stride == 1 else big(n, channel, row, tap % stride, x + tap // stride)
        place = {("O", 0): o if block == 1 else o // block, ("I", 0): rc.var, ("H", 0): rh.var, ("W", 0): rw.var}
        if block > 1:
            place["O", block] = o % block
        number = weight(*(place[axis] for axis in kernel.axes))
        return te.sum(build.cast(dtype, value) * build.cast(dtype, number), axis=[rc, rh, rw])

    conv = te.compute((g.batch, channels, g.out_height, width), element, name="conv2d", tag="conv2d")
    return te.compute(
        (g.batch, g.out_channels, g.out_height, g.out_width), lambda n, o, y, x: conv(n, o, y, x),
        name="conv2d_output", tag="injective",
    )  # fmt: skip


def in_phases(op: Any, data: Any, g: Any, width: int) -> Any:
    """`data` NCHW with zeros around it as [n, c, row, phase, column]: the columns of one phase side by side."""
    stride, span = op.strides[1], (g.kernel[1] - 1) * op.dilation[1]
    rows = reach(g.out_height, op.strides[0], g.kernel[0], op.dilation[0])
    columns = width + -(-(span // stride) // EVEN) * EVEN
    big = padded(data, op.padding[:2], (rows, stride * columns), (2, 3))
    shape = (g.batch, g.in_channels, rows, min(stride, span + 1), columns)
    return te.compute(
        shape, lambda n, c, y, phase, x: big(n, c, y, x * stride + phase), name="data_pack", tag="injective"
    )
