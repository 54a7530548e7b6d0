"""Tensor expressions of convolutions of bytes, for instructions that add four products to each number of a vector.

Four input channels are multiplied at once, so that the last reduction is over those of a word of four bytes.  Data NCHW
are brought into such words (`data_pack`); in NHWC they lie so already.
"""

from __future__ import annotations

from typing import Any

from .. import te
from ..arith import build
from . import layout as layouts
from .compute_conv import pad_data, picture_of_pixels, unpacked
from .conv_times import filled
from .nn_conv import result_dtype
from .shapes import ceil_divide


def conv2d_bytes(op: Any, data: Any, weight: Any, width: int) -> Any:
    """nn.conv2d over a weight as OIHW16o4i, data NCHW or NHWC; `width` columns of sums, no less than the result has."""
    source, kernel = layouts.parse(op.data_layout), layouts.parse(op.kernel_layout)
    g, block, part = op.geometry(data.shape, weight.shape), kernel.factors["O"], kernel.factors["I"]
    parts, last = g.in_channels // part, source.letters[-1] == "C"
    big = pad_data(op, data, source, g, width)
    if not last:
        big = _in_words(big, part)
    rc, ri = te.reduce_axis((0, parts), name="rc"), te.reduce_axis((0, part), name="ri")
    rh, rw = te.reduce_axis((0, g.kernel[0]), name="rh"), te.reduce_axis((0, g.kernel[1]), name="rw")
    dtype = result_dtype(op.out_dtype, data.dtype)

    def element(n: Any, ob: Any, y: Any, x: Any, oi: Any) -> Any:
        row, column = y * op.strides[0] + rh.var * op.dilation[0], x * op.strides[1] + rw.var * op.dilation[1]
        if last:
            value = big(n, row, column, rc.var * part + ri.var)
        else:
            value = _byte(big(n, rc.var, row, column), ri.var, data.dtype)
        tap = weight(ob, rc.var, rh.var, rw.var, oi, ri.var)
        return te.sum(build.cast(dtype, value) * build.cast(dtype, tap), axis=[rc, rh, rw, ri])

    shape = (g.batch, ceil_divide(g.out_channels, block), g.out_height, width, block)
    conv = te.compute(shape, element, name="conv2d", tag="conv2d")
    return unpacked(conv, g, source, block)


def _in_words(data: Any, part: int) -> Any:
    """Pictures whose numbers are words of so many channels."""
    n, channels, height, width = data.shape
    return te.compute(
        (n, channels // part, height, width),
        lambda b, c, y, x: _word(lambda i: data(b, c * part + i, y, x), part), name="data_pack", tag="injective",
    )  # fmt: skip


def _word(byte: Any, count: int) -> Any:
    """Bytes in one number, the first in its lowest bits."""
    total: Any = None
    for number in range(count):
        wide = build.cast("uint32", build.cast("uint8", byte(number)))
        part = build.shift_left(wide, build.const(8 * number, "uint32")) if number else wide
        total = part if total is None else build.bitwise_or(total, part)
    return total


def _byte(word: Any, number: Any, dtype: Any) -> Any:
    """A byte of a word."""
    return build.cast(dtype, build.shift_right(word, build.cast("uint32", number * 8)))


def conv2d_byte_pixels(op: Any, data: Any, weight: Any) -> Any:
    """nn.conv2d `by_pixels` over a weight as OIHW16o4i: pixels side by side, four channels of each in a word."""
    kernel = layouts.parse(op.kernel_layout)
    g, block, part = op.geometry(data.shape, weight.shape), kernel.factors["O"], kernel.factors["I"]
    dtype = result_dtype(op.out_dtype, data.dtype)
    pixels = g.height * g.width
    whole = filled(pixels, block)

    def word(n: Any, c: Any, p: Any) -> Any:
        made = _word(lambda i: data(n, c * part + i, p // g.width, p % g.width), part)
        return made if whole == pixels else te.if_then_else(p < pixels, made, build.const(0, "uint32"))

    row = te.compute((g.batch, g.in_channels // part, whole), word, name="data_pack", tag="injective")
    rc, ri = te.reduce_axis((0, g.in_channels // part), name="rc"), te.reduce_axis((0, part), name="ri")

    def element(n: Any, ob: Any, oi: Any, p: Any) -> Any:
        value = _byte(row(n, rc.var, p), ri.var, data.dtype)
        return te.sum(build.cast(dtype, value) * build.cast(dtype, weight(ob, rc.var, 0, 0, oi, ri.var)), axis=[rc, ri])

    shape = (g.batch, ceil_divide(g.out_channels, block), block, whole)
    conv = te.compute(shape, element, name="conv2d", tag="conv2d")
    return picture_of_pixels(conv, g, block)
