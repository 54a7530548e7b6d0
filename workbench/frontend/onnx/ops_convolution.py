"""Convolutions: windows, padding rules, and one, two or three spatial dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...core.limits import limits
from ...relay.ir.expr import Expr
from .emit import call, rank_of, reshaped, shape_of
from .ops_elementwise import cast
from .site import Site
from .table import onnx_op

LAYOUTS = {1: ("NCW", "OIW", "IOW"), 2: ("NCHW", "OIHW", "IOHW"), 3: ("NCDHW", "OIDHW", "IODHW")}
"""Data, kernel and transposed kernel layouts by the number of spatial dimensions."""


@dataclass(frozen=True)
class Window:
    """A sliding window in all spatial dimensions; every tuple has one entry for each."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def padding(self) -> tuple[int, ...]:
        return (*self.before, *self.after)

    @property
    def reach(self) -> tuple[int, ...]:
        """Elements from the first to the last that one position touches."""
        return tuple((extent - 1) * step + 1 for extent, step in zip(self.kernel, self.dilations, strict=True))


def spatial(node: Site, x: Expr) -> tuple[int, ...]:
    """The spatial extents of an operand with batch and channels in front."""
    shape = shape_of(x)
    if not 3 <= len(shape) <= 5:
        raise node.refuse("the operand must have 1 to 3 spatial dimensions", f"shape {shape}", "(batch, channels, ...)")
    return shape[2:]


def per_axis(
    node: Site, given: Sequence[int] | None, default: int, count: int, what: str, least: int = 1
) -> tuple[int, ...]:
    """An attribute with one entry for each spatial dimension."""
    values = (default,) * count if given is None or not given else tuple(given)
    if len(values) != count or any(item < least for item in values):
        raise node.refuse(f"{what} does not fit", str(values), f"{count} numbers of at least {least}")
    return values


def window(
    node: Site,
    extents: tuple[int, ...],
    kernel: Sequence[int],
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    auto_pad: str,
) -> Window:
    """The window of a convolution or pooling node, automatic padding worked out.  Raises `WorkbenchError`."""
    count = len(extents)
    size = per_axis(node, kernel, 1, count, "the kernel")
    steps = per_axis(node, strides, 1, count, "strides")
    gaps = per_axis(node, dilations, 1, count, "dilations")
    made = Window(size, steps, gaps, (0,) * count, (0,) * count)
    if auto_pad in ("NOTSET", ""):
        both = per_axis(node, pads, 0, 2 * count, "pads", least=0)
        padded = [extent + both[axis] + both[count + axis] for axis, extent in enumerate(extents)]
        limits.check("tensor_bytes", math.prod(padded), f"{node.record.label}: the padded operand", node.where)
        return Window(size, steps, gaps, both[:count], both[count:])
    if auto_pad == "VALID":
        return made
    if auto_pad not in ("SAME_UPPER", "SAME_LOWER"):
        raise node.refuse("unknown auto_pad", auto_pad, "NOTSET, VALID, SAME_UPPER or SAME_LOWER")
    total = [
        max(0, (-(-extent // step) - 1) * step + reach - extent)
        for extent, step, reach in zip(extents, steps, made.reach, strict=True)
    ]
    small, large = tuple(item // 2 for item in total), tuple(item - item // 2 for item in total)
    first, last = (small, large) if auto_pad == "SAME_UPPER" else (large, small)
    return Window(size, steps, gaps, first, last)


def _kernel_of(node: Site, weight: Expr, stated: Sequence[int] | None) -> tuple[int, ...]:
    kernel = shape_of(weight)[2:]
    if stated is not None and tuple(stated) != kernel:
        raise node.refuse("kernel_shape is not that of the weights", str(tuple(stated)), str(kernel))
    return kernel


def _require_channels(node: Site, x: Expr, weight: Expr, group: int, weight_axis: int) -> None:
    if rank_of(weight) != rank_of(x):
        raise node.refuse("operand and weights differ in rank", f"{shape_of(x)} and {shape_of(weight)}", "equal ranks")
    channels, outputs, inputs = shape_of(x)[1], shape_of(weight)[0], shape_of(weight)[1]
    if group < 1 or channels % group or outputs % group:
        raise node.refuse("channels do not divide into groups", f"{channels} and {outputs} by {group}", "multiples")
    wanted = inputs * group if weight_axis else outputs
    if channels != wanted:
        raise node.refuse(
            "the operand's channels are not those of the weights",
            f"{channels} channels; weights {shape_of(weight)}, group {group}",
            f"{wanted} channels",
        )


def add_bias(value: Expr, bias: Expr | None) -> Expr:
    return value if bias is None else call("nn.bias_add", value, bias, axis=1)


@onnx_op("Conv")
def conv(
    node: Site,
    x: Expr,
    weight: Expr,
    bias: Expr | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: tuple[int, ...] | None = None,
    group: int = 1,
    kernel_shape: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Expr:
    extents = spatial(node, x)
    _require_channels(node, x, weight, group, 1)
    fit = window(node, extents, _kernel_of(node, weight, kernel_shape), strides, dilations, pads, auto_pad)
    data, kernel, _ = LAYOUTS[len(extents)]
    found = call(
        f"nn.conv{len(extents)}d",
        x,
        weight,
        strides=fit.strides,
        padding=fit.padding,
        dilation=fit.dilations,
        groups=group,
        channels=shape_of(weight)[0],
        kernel_size=fit.kernel,
        data_layout=data,
        kernel_layout=kernel,
    )
    return add_bias(found, bias)


@onnx_op("ConvInteger", since=10)
def conv_integer(
    node: Site,
    x: Expr,
    weight: Expr,
    x_zero: Expr | None = None,
    weight_zero: Expr | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: tuple[int, ...] | None = None,
    group: int = 1,
    kernel_shape: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Expr:
    """Both operands less their zero points, in int32; padding is zero after that."""
    wide = _less_zero(x, x_zero, 0)
    kernel = _less_zero(weight, weight_zero, rank_of(weight) - 1)
    return conv(
        node,
        wide,
        kernel,
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        pads=pads,
        strides=strides,
    )


def _less_zero(value: Expr, zero: Expr | None, trailing: int) -> Expr:
    wide = cast(value, "int32")
    if zero is None:
        return wide
    shift = cast(zero, "int32")
    if rank_of(zero) == 1 and trailing and shape_of(zero)[0] > 1:
        shift = reshaped(shift, (*shape_of(zero), *(1,) * trailing))
    elif rank_of(zero) == 1:
        shift = reshaped(shift, ())
    return call("subtract", wide, shift)


@onnx_op("ConvTranspose")
def conv_transpose(
    node: Site,
    x: Expr,
    weight: Expr,
    bias: Expr | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: tuple[int, ...] | None = None,
    group: int = 1,
    kernel_shape: tuple[int, ...] | None = None,
    output_padding: tuple[int, ...] | None = None,
    output_shape: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Expr:
    extents = spatial(node, x)
    count = len(extents)
    _require_channels(node, x, weight, group, 0)
    kernel = _kernel_of(node, weight, kernel_shape)
    plain = window(node, extents, kernel, strides, dilations, None, "VALID")
    extra = per_axis(node, output_padding, 0, count, "output_padding", least=0)
    before, after = _transposed_pads(node, extents, plain, extra, output_shape, pads, auto_pad)
    if any(gap != 1 for gap in plain.dilations):
        weight = _dilated(weight, plain.dilations)
    return add_bias(_transposed(x, weight, plain.strides, (before, after), extra, group), bias)


def _transposed(
    x: Expr,
    weight: Expr,
    strides: tuple[int, ...],
    pads: tuple[tuple[int, ...], tuple[int, ...]],
    extra: tuple[int, ...],
    group: int,
) -> Expr:
    """The transposed convolution; negative pads add zeros outside."""
    data, _, layout = LAYOUTS[len(strides)]
    inside = tuple(max(0, item) for side in pads for item in side)
    found = call(
        f"nn.conv{len(strides)}d_transpose",
        x,
        weight,
        strides=strides,
        padding=inside,
        output_padding=extra,
        groups=group,
        channels=shape_of(weight)[1] * group,
        kernel_size=shape_of(weight)[2:],
        data_layout=data,
        kernel_layout=layout,
    )
    outside = tuple((max(0, -first), max(0, -last)) for first, last in zip(*pads, strict=True))
    if any(item for width in outside for item in width):
        found = call("nn.pad", found, pad_width=((0, 0), (0, 0), *outside))
    return found


def _dilated(weight: Expr, gaps: tuple[int, ...]) -> Expr:
    """The kernel with gap - 1 zeros between its elements."""
    for axis, gap in enumerate(gaps, 2):
        shape = shape_of(weight)
        if gap == 1:
            continue
        widths = [(0, 0)] * (len(shape) + 1)
        widths[axis + 1] = (0, gap - 1)
        spread = call("nn.pad", reshaped(weight, (*shape[: axis + 1], 1, *shape[axis + 1 :])), pad_width=tuple(widths))
        joined = reshaped(spread, (*shape[:axis], shape[axis] * gap, *shape[axis + 1 :]))
        ends = list(shape_of(joined))
        ends[axis] -= gap - 1
        weight = call("strided_slice", joined, begin=(0,) * len(ends), end=tuple(ends), strides=(1,) * len(ends))
    return weight


def _transposed_pads(
    node: Site,
    extents: tuple[int, ...],
    fit: Window,
    extra: tuple[int, ...],
    output_shape: tuple[int, ...] | None,
    pads: tuple[int, ...] | None,
    auto_pad: str,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What is cut off the full result at each side, by the standard's formulas."""
    count = len(extents)
    if output_shape is None and auto_pad in ("NOTSET", ""):
        both = per_axis(node, pads, 0, 2 * count, "pads", least=0)
        return both[:count], both[count:]
    if output_shape is None and auto_pad == "VALID":
        return (0,) * count, (0,) * count
    wanted = tuple(output_shape or ())[-count:] or tuple(
        extent * step for extent, step in zip(extents, fit.strides, strict=True)
    )
    if len(wanted) != count:
        raise node.refuse("output_shape does not fit", str(wanted), f"{count} numbers")
    full = [
        step * (extent - 1) + more + reach
        for extent, step, more, reach in zip(extents, fit.strides, extra, fit.reach, strict=True)
    ]
    # Where more is asked for than there is, the difference is negative: zeros are added at the end.
    total = [whole - asked for whole, asked in zip(full, wanted, strict=True)]
    small = tuple(item // 2 if item > 0 else 0 for item in total)
    large = tuple(item - less for item, less in zip(total, small, strict=True))
    if any(item < 0 for item in total):
        return small, large
    return (small, large) if auto_pad == "SAME_UPPER" else (large, small)
