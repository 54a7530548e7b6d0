"""Pooling.  `ceil_mode` and windows that start beyond the end follow the standard, by extra padding at the end."""

from __future__ import annotations

import math

import numpy as np

from ...relay.ir.expr import Expr
from .emit import call, constant, dtype_of, like, rank_of, shape_of, unpack
from .ops_convolution import Window, spatial, window
from .ops_elementwise import in_float32
from .site import Site
from .table import onnx_op


def _end_padding(extents: tuple[int, ...], fit: Window, ceil_mode: int) -> tuple[int, ...]:
    """Padding after the end such that a pooling that rounds down gives what rounding up would."""
    if not ceil_mode:
        return fit.after
    grown: list[int] = []
    for axis, extent in enumerate(extents):
        step, reach, before, after = fit.strides[axis], fit.reach[axis], fit.before[axis], fit.after[axis]
        count = -(-(extent + before + after - reach) // step) + 1
        if (count - 1) * step >= extent + before:
            count -= 1
        grown.append(max(after, (count - 1) * step + reach - extent - before))
    return tuple(grown)


def _fitting(node: Site, extents: tuple[int, ...], fit: Window) -> None:
    for extent, before, after, reach in zip(extents, fit.before, fit.after, fit.reach, strict=True):
        if extent + before + after < reach:
            raise node.refuse(
                "the window is larger than the padded operand", f"{extent}+{before}+{after}", f"at least {reach}"
            )


def _pool(name: str, x: Expr, fit: Window, after: tuple[int, ...], **more: bool) -> Expr:
    return call(
        f"nn.{name}{len(fit.kernel)}d",
        x,
        pool_size=fit.kernel,
        strides=fit.strides,
        dilation=fit.dilations,
        padding=(*fit.before, *after),
        **more,
    )


@onnx_op("MaxPool")
def max_pool(
    node: Site,
    x: Expr,
    *,
    kernel_shape: tuple[int, ...],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    storage_order: int = 0,
    strides: tuple[int, ...] | None = None,
) -> Expr | tuple[Expr, ...]:
    extents = spatial(node, x)
    fit = window(node, extents, kernel_shape, strides, dilations, pads, auto_pad)
    _fitting(node, extents, fit)
    after = _end_padding(extents, fit, ceil_mode)
    if node.output_count < 2:
        return _pool("max_pool", x, fit, after)
    both = call(
        "nn.max_pool_indices",
        x,
        pool_size=fit.kernel,
        strides=fit.strides,
        dilation=fit.dilations,
        padding=(*fit.before, *after),
        column_major=bool(storage_order),
    )
    return unpack(both)


@onnx_op("AveragePool")
def average_pool(
    node: Site,
    x: Expr,
    *,
    kernel_shape: tuple[int, ...],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Expr:
    """With `count_include_pad`, the padding that ceil_mode adds does not count: such sums are divided by hand."""
    extents = spatial(node, x)
    fit = window(node, extents, kernel_shape, strides, dilations, pads, auto_pad)
    _fitting(node, extents, fit)
    after = _end_padding(extents, fit, ceil_mode)
    if not count_include_pad or after == fit.after:
        return _pool("avg_pool", x, fit, after, count_include_pad=bool(count_include_pad))
    mean = _pool("avg_pool", x, fit, after, count_include_pad=True)
    counted = _window_counts(extents, fit, shape_of(mean)[2:])
    return call("multiply", mean, constant(math.prod(fit.kernel) / counted, dtype_of(x)))


def _window_counts(extents: tuple[int, ...], fit: Window, outputs: tuple[int, ...]) -> np.ndarray:
    """For each output position, the number of window elements within operand and stated padding."""
    counts = np.ones((), np.float64)
    for axis, count in enumerate(outputs):
        last = extents[axis] + fit.before[axis] + fit.after[axis]
        starts = np.arange(count) * fit.strides[axis]
        taps = starts[:, None] + np.arange(fit.kernel[axis]) * fit.dilations[axis]
        counts = counts[..., None] * (taps < last).sum(1)
    return counts


@onnx_op("LpPool", since=2)
def lp_pool(
    node: Site,
    x: Expr,
    *,
    kernel_shape: tuple[int, ...],
    p: int = 2,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Expr:
    """The p-norm of each window: the mean of powers, times the window's size, rooted."""
    if p < 1:
        raise node.refuse("there is no such norm", f"p={p}", "at least 1")
    extents = spatial(node, x)
    fit = window(node, extents, kernel_shape, strides, dilations, pads, auto_pad)
    _fitting(node, extents, fit)

    def norm(x: Expr) -> Expr:
        powers = call("power", call("abs", x), like(p, x))
        mean = _pool("avg_pool", powers, fit, _end_padding(extents, fit, ceil_mode), count_include_pad=True)
        total = call("multiply", mean, like(math.prod(fit.kernel), x))
        return call("power", total, like(1.0 / p, x))

    return in_float32(x, norm)


def _global(node: Site, x: Expr, name: str) -> Expr:
    return call(name, x, axis=tuple(range(2, rank_of(x))), keepdims=True)


@onnx_op("GlobalAveragePool")
def global_average_pool(node: Site, x: Expr) -> Expr:
    return call("nn.global_avg_pool2d", x) if rank_of(x) == 4 else _global(node, x, "mean")


@onnx_op("GlobalMaxPool")
def global_max_pool(node: Site, x: Expr) -> Expr:
    return call("nn.global_max_pool2d", x) if rank_of(x) == 4 else _global(node, x, "max")


@onnx_op("GlobalLpPool", since=2)
def global_lp_pool(node: Site, x: Expr, *, p: int = 2) -> Expr:
    def norm(x: Expr) -> Expr:
        total = _global(node, call("power", call("abs", x), like(p, x)), "sum")
        return call("power", total, like(1.0 / p, x))

    return in_float32(x, norm)
