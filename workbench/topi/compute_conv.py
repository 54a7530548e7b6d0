"""Tensor expressions of convolutions.

Stages of a convolution over n spatial axes:
  data_pad       data with zeros around it; only where there is padding (or columns to fill up)
  conv2d         the reduction
  conv2d_output  only for a packed kernel: back from blocks of output channels

`conv2d_blocks` is for a packed kernel ("OIHW16o"): the reduction runs over [n, o/16, h, w', 16], where w' is the
output's width, filled up so that schedules need no remainders; a depthwise convolution has its data in blocks of
channels too (`data_pack`), unless they lie so or as NHWC.  `conv2d_pixels` runs over [n, o/16, 16, pixels], and
`data_pack` are the pictures as rows of pixels.  Which of them computes an operator is not said here
(`lower.implementations`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from .. import te
from ..arith import build
from ..arith.nodes import literal
from . import layout as layouts
from .conv_times import filled
from .nn_conv import NCHW, OIHW, result_dtype
from .shapes import ceil_divide


def padded(data: Any, before: Sequence[int], extents: Sequence[Any], axes: Sequence[int]) -> Any:
    """`data` with zeros around it: `axes` grow to `extents`, `before` zeros in front; itself if none are needed."""
    shape = list(data.shape)
    for axis, extent in zip(axes, extents, strict=True):
        shape[axis] = extent
    if not any(before) and all(_equal(new, old) for new, old in zip(shape, data.shape, strict=True)):
        return data

    def element(*i: Any) -> Any:
        where = list(i)
        tests: list[Any] = []
        for axis, front in zip(axes, before, strict=True):
            where[axis] = i[axis] - front
            tests += [where[axis] >= 0] if front > 0 else []
            if not _equal(shape[axis], build.convert(data.shape[axis]) + front):
                tests.append(where[axis] < data.shape[axis])
        return te.if_then_else(te.all(*tests), data(*where), build.const(0, data.dtype))

    return te.compute(shape, element, name="data_pad", tag="injective,pad")


def _equal(a: Any, b: Any) -> bool:
    a, b = literal(a, a), literal(b, b)
    if isinstance(a, int) or isinstance(b, int):
        return isinstance(a, int) and isinstance(b, int) and a == b
    return a is b


def reach(outputs: Any, stride: int, taps: int, dilation: int) -> Any:
    """The extent of data that `outputs` windows touch."""
    last = (outputs - 1) * stride + (taps - 1) * dilation + 1
    return literal(last, last)


def pad_data(op: Any, data: Any, source: layouts.Layout, g: Any, width: int | None) -> Any:
    """The padding stage for an output `width` columns wide."""
    top, left, bottom, right = op.padding
    full = (g.height + top + bottom, g.width + left + right)
    columns = full[1] if width is None else max(full[1], reach(width, op.strides[1], g.kernel[1], op.dilation[1]))
    axes = (source.index_of("H"), source.index_of("W"))
    return padded(data, (top, left), (full[0], columns), axes)


def _taps(op: Any, g: Any, per_group: Any) -> tuple[list[Any], Any, Any, Any]:
    """(reduction axes, input channel, row, column); one channel a group needs no axis."""
    one = literal(per_group, per_group) == 1
    axes = [] if one else [te.reduce_axis((0, per_group), name="rc")]
    kh, kw = te.reduce_axis((0, g.kernel[0]), name="rh"), te.reduce_axis((0, g.kernel[1]), name="rw")
    return [*axes, kh, kw], (0 if one else axes[0].var), kh.var, kw.var


def channel_of_group(op: Any, g: Any, out: Any, inner: Any, per_group: Any) -> Any:
    """The input channel of output channel `out` and channel `inner` of its group."""
    if op.groups == 1:
        return inner
    outputs = g.out_channels // op.groups
    group = out if outputs == 1 else out // outputs
    return group if literal(per_group, per_group) == 1 else group * per_group + inner


def conv2d(op: Any, data: Any, weight: Any) -> Any:
    """nn.conv2d for every data and kernel layout, each element by itself."""
    source, kernel = layouts.parse(op.data_layout), layouts.parse(op.kernel_layout)
    g = op.geometry(data.shape, weight.shape)
    per_group = kernel.extent(weight.shape, "I")
    dtype = result_dtype(op.out_dtype, data.dtype)
    big = data if source.factors else pad_data(op, data, source, g, None)
    target = layouts.parse(op.out_layout or op.data_layout)
    axes, rc, rh, rw = _taps(op, g, per_group)
    top, left = op.padding[:2]

    def element(*i: Any) -> Any:
        n, o, y, x = layouts.transform_indices(i, NCHW, target)
        row, column = y * op.strides[0] + rh * op.dilation[0], x * op.strides[1] + rw * op.dilation[1]
        where = (n, channel_of_group(op, g, o, rc, per_group))
        if source.factors:
            value = _guarded(data, source, g, (*where, row - top, column - left))
        else:
            value = big(*layouts.transform_indices((*where, row, column), source, NCHW))
        tap = weight(*layouts.transform_indices((o, rc, rh, rw), kernel, OIHW))
        return te.sum(build.cast(dtype, value) * build.cast(dtype, tap), axis=axes)

    shape = layouts.transformed_shape(NCHW, target, (g.batch, g.out_channels, g.out_height, g.out_width))
    return te.compute(shape, element, name="conv2d", tag="conv2d")


def _guarded(data: Any, source: layouts.Layout, g: Any, where: Sequence[Any]) -> Any:
    """An element of data, or zero outside."""
    _, _, row, column = where
    inside = te.all(row >= 0, row < g.height, column >= 0, column < g.width)
    return te.if_then_else(inside, data(*layouts.transform_indices(where, source, NCHW)), build.const(0, data.dtype))


def conv2d_blocks(op: Any, data: Any, weight: Any, width: int) -> Any:
    """nn.conv2d over a weight in blocks of output channels; `width` columns of sums, at least those of the result."""
    source, kernel = layouts.parse(op.data_layout), layouts.parse(op.kernel_layout)
    g, block = op.geometry(data.shape, weight.shape), kernel.factors["O"]
    per_group = kernel.extent(weight.shape, "I")
    dtype = result_dtype(op.out_dtype, data.dtype)
    blocks = ceil_divide(g.out_channels, block)
    by_lane = bool(op.groups == g.out_channels and per_group == 1)
    big = pad_data(op, data, source, g, width)
    in_order = source.letters[-1] == "C" and g.out_channels % block == 0  # channels lie side by side already
    if by_lane and not (in_order or source.factors):
        big = _in_blocks(big, source, blocks, block, g.out_channels)
    axes, rc, rh, rw = _taps(op, g, per_group)
    if source.factors:
        return _blocked_both(op, big, weight, (g, width, by_lane))

    def element(n: Any, ob: Any, y: Any, x: Any, oi: Any) -> Any:
        row, column = y * op.strides[0] + rh * op.dilation[0], x * op.strides[1] + rw * op.dilation[1]
        if by_lane and in_order:
            value = big(*layouts.transform_indices((n, ob * block + oi, row, column), source, NCHW))
        elif by_lane:
            value = big(n, ob, row, column, oi)
        else:
            channel = _packed_channel(op, g, ob, oi, rc, per_group, block)
            value = big(*layouts.transform_indices((n, channel, row, column), source, NCHW))
        place = {("O", 0): ob, ("O", block): oi, ("I", 0): rc, ("H", 0): rh, ("W", 0): rw}
        tap = weight(*(place[axis] for axis in kernel.axes))
        return te.sum(build.cast(dtype, value) * build.cast(dtype, tap), axis=axes)

    conv = te.compute((g.batch, blocks, g.out_height, width, block), element, name="conv2d", tag="conv2d")
    return unpacked(conv, g, source, block)


def unpacked(conv: Any, g: Any, source: layouts.Layout, block: int) -> Any:
    """Sums [n, o/block, y, x, block] as the data lie."""

    def element(*i: Any) -> Any:
        n, o, y, x = layouts.transform_indices(i, NCHW, source)
        return conv(n, o // block, y, x, o % block)

    shape = layouts.transformed_shape(NCHW, source, (g.batch, g.out_channels, g.out_height, g.out_width))
    return te.compute(shape, element, name="conv2d_output", tag="injective")


def _blocked_both(op: Any, big: Any, weight: Any, known: tuple[Any, int, bool]) -> Any:
    """The same where data and result lie in blocks of channels as well, as NCHW16c: nothing is moved."""
    source, kernel = layouts.parse(op.data_layout), layouts.parse(op.kernel_layout)
    (g, width, by_lane), block = known, kernel.factors["O"]
    dtype = result_dtype(op.out_dtype, big.dtype)
    outer, inner = te.reduce_axis((0, g.in_channels // block), name="rc"), te.reduce_axis((0, block), name="ri")
    rh, rw = te.reduce_axis((0, g.kernel[0]), name="rh"), te.reduce_axis((0, g.kernel[1]), name="rw")

    def at(n: Any, outer: Any, row: Any, column: Any, inner: Any) -> list[Any]:
        place = {("N", 0): n, ("C", 0): outer, ("C", block): inner, ("H", 0): row, ("W", 0): column}
        return [place[axis] for axis in source.axes]

    def element(n: Any, ob: Any, y: Any, x: Any, oi: Any) -> Any:
        row, column = (
            place * step + tap.var * gap
            for place, step, tap, gap in zip((y, x), op.strides, (rh, rw), op.dilation, strict=True)
        )
        value = big(*(at(n, ob, row, column, oi) if by_lane else at(n, outer.var, row, column, inner.var)))
        channel = 0 if by_lane else outer.var * block + inner.var
        place = {("O", 0): ob, ("O", block): oi, ("I", 0): channel, ("H", 0): rh.var, ("W", 0): rw.var}
        tap = weight(*(place[axis] for axis in kernel.axes))
        axes = [rh, rw] if by_lane else [outer, rh, rw, inner]
        return te.sum(build.cast(dtype, value) * build.cast(dtype, tap), axis=axes)

    blocks = ceil_divide(g.out_channels, block)
    conv = te.compute((g.batch, blocks, g.out_height, width, block), element, name="conv2d", tag="conv2d")
    shape = layouts.transformed_shape(NCHW, source, (g.batch, g.out_channels, g.out_height, g.out_width))
    order = [source.axes.index(axis) for axis in (("N", 0), ("C", 0), ("H", 0), ("W", 0), ("C", block))]
    return te.compute(shape, lambda *i: conv(*(i[axis] for axis in order)), name="conv2d_output", tag="injective")


def conv2d_pixels(op: Any, data: Any, weight: Any) -> Any:
    """nn.conv2d `by_pixels`: a product of the weight with the pixels of a picture, side by side in memory."""
    kernel = layouts.parse(op.kernel_layout)
    g, block = op.geometry(data.shape, weight.shape), kernel.factors["O"]
    dtype = result_dtype(op.out_dtype, data.dtype)
    pixels = g.height * g.width
    whole = filled(pixels, block)

    def pixel(n: Any, c: Any, p: Any) -> Any:
        value = data(n, c, p // g.width, p % g.width)
        return value if whole == pixels else te.if_then_else(p < pixels, value, build.const(0, data.dtype))

    row = te.compute((g.batch, g.in_channels, whole), pixel, name="data_pack", tag="injective")
    rc = te.reduce_axis((0, g.in_channels), name="rc")

    def element(n: Any, ob: Any, oi: Any, p: Any) -> Any:
        place = {("O", 0): ob, ("O", block): oi, ("I", 0): rc.var, ("H", 0): 0, ("W", 0): 0}
        tap = weight(*(place[axis] for axis in kernel.axes))
        return te.sum(build.cast(dtype, row(n, rc.var, p)) * build.cast(dtype, tap), axis=[rc])

    shape = (g.batch, ceil_divide(g.out_channels, block), block, whole)
    conv = te.compute(shape, element, name="conv2d", tag="conv2d")
    return picture_of_pixels(conv, g, block)


def picture_of_pixels(conv: Any, g: Any, block: int) -> Any:
    """The result NCHW of a convolution `by_pixels`: (batch, blocks of channels, block, pixels)."""
    return te.compute(
        (g.batch, g.out_channels, g.height, g.width),
        lambda n, o, y, x: conv(n, o // block, o % block, y * g.width + x), name="conv2d_output", tag="injective",
    )  # fmt: skip


def _packed_channel(op: Any, g: Any, ob: Any, oi: Any, rc: Any, per_group: Any, block: int) -> Any:
    """The input channel; where groups are whole blocks it does not depend on the lane."""
    if op.groups == 1:
        return rc
    outputs = g.out_channels // op.groups
    group = ob // (outputs // block) if outputs % block == 0 else (ob * block + oi) // outputs
    if g.out_channels % block and outputs % block:
        group = build.minimum(group, op.groups - 1)
    return group * per_group + rc


def _in_blocks(data: Any, source: layouts.Layout, blocks: Any, block: int, channels: int) -> Any:
    """Data as [n, c/block, h, w, block]; channels that do not exist are zero."""

    def element(n: Any, cb: Any, y: Any, x: Any, ci: Any) -> Any:
        value = data(*layouts.transform_indices((n, cb * block + ci, y, x), source, NCHW))
        if channels % block == 0:
            return value
        return te.if_then_else(cb * block + ci < channels, value, build.const(0, data.dtype))

    n, height, width = (source.extent(data.shape, letter) for letter in "NHW")
    return te.compute((n, blocks, height, width, block), element, name="data_pack", tag="injective")


def conv1d(op: Any, data: Any, weight: Any) -> Any:
    """nn.conv1d."""
    wide = op.wide()
    g = wide.geometry((*data.shape[:2], 1, data.shape[2]), (*weight.shape[:2], 1, weight.shape[2]))
    per_group, dtype = weight.shape[1], result_dtype(op.out_dtype, data.dtype)
    left, right = op.padding
    big = padded(data, (left,), (g.width + left + right,), (2,))
    rc, rw = te.reduce_axis((0, per_group), name="rc"), te.reduce_axis((0, g.kernel[1]), name="rw")

    def element(n: Any, o: Any, x: Any) -> Any:
        channel = channel_of_group(wide, g, o, rc.var, per_group) if per_group != 1 or op.groups > 1 else rc.var
        value = big(n, channel, x * op.strides[0] + rw.var * op.dilation[0])
        return te.sum(build.cast(dtype, value) * build.cast(dtype, weight(o, rc.var, rw.var)), axis=[rc, rw])

    shape = (g.batch, g.out_channels, g.out_width)
    return te.compute(shape, element, name="conv1d", tag="conv1d")


def conv2d_transpose(op: Any, data: Any, weight: Any) -> Any:
    """nn.conv2d_transpose: data spread out by the strides, convolved with the kernel turned around."""
    source = layouts.parse(op.data_layout)
    n, channels, h, w = cast("tuple[Any, ...]", layouts.transformed_shape(source, NCHW, data.shape))
    outputs, kh, kw = op.sizes((n, channels, h, w), weight.shape)
    (sh, sw), (dh, dw) = op.strides, op.dilation
    rows, columns = op.out_extent(h, 0, kh), op.out_extent(w, 1, kw)
    front = ((kh - 1) * dh - op.padding[0], (kw - 1) * dw - op.padding[1])
    dtype = result_dtype(op.out_dtype, data.dtype)

    def spread(b: Any, c: Any, y: Any, x: Any) -> Any:
        row, column = y - front[0], x - front[1]
        tests = [row >= 0, row < (h - 1) * sh + 1, column >= 0, column < (w - 1) * sw + 1]
        tests += [(row % sh).equal(0)] if sh > 1 else []
        tests += [(column % sw).equal(0)] if sw > 1 else []
        value = data(*layouts.transform_indices((b, c, row // sh, column // sw), source, NCHW))
        return te.if_then_else(te.all(*tests), value, build.const(0, data.dtype))

    extents = (rows + (kh - 1) * dh, columns + (kw - 1) * dw)
    big = te.compute((n, channels, *extents), spread, name="data_dilate", tag="injective")
    per_group = channels // op.groups
    rc = te.reduce_axis((0, per_group), name="rc")
    rh, rw = te.reduce_axis((0, kh), name="rh"), te.reduce_axis((0, kw), name="rw")

    def element(*i: Any) -> Any:
        b, o, y, x = layouts.transform_indices(i, NCHW, source)
        group = 0 if op.groups == 1 else o // outputs
        channel = rc.var if op.groups == 1 else group * per_group + rc.var
        value = big(b, channel, y + rh.var * dh, x + rw.var * dw)
        tap = weight(channel, o if op.groups == 1 else o % outputs, kh - 1 - rh.var, kw - 1 - rw.var)
        return te.sum(build.cast(dtype, value) * build.cast(dtype, tap), axis=[rc, rh, rw])

    shape = op.shape(data.shape, weight.shape)
    return te.compute(shape, element, name="conv2d_transpose", tag="conv2d_transpose")
