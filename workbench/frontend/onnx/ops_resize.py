"""Resize and Upsample: linear maps along each axis, with coordinates and weights worked out in NumPy at import.

Every output element along an axis is a weighted sum of a few input elements (one for nearest, two for linear, four for
cubic); indices and weights are constants, so the program gathers, multiplies and adds.  Antialiasing included.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...relay.ir.expr import Expr
from .emit import call, constant, dtype_of, rank_of, shape_of
from .ops_elementwise import cast
from .ops_shaping import checked_shape
from .site import Site
from .table import onnx_op


@dataclass(frozen=True)
class Style:
    """How a Resize node computes coordinates and weights."""

    mode: str
    coordinates: str
    nearest: str = "round_prefer_floor"
    cubic: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False
    extrapolation: float = 0.0
    next_if_smaller: bool = False
    """Whether the nearest element is the next one along axes that shrink."""


def source_positions(style: Style, inputs: int, outputs: int, scale: float, roi: tuple[float, float]) -> np.ndarray:
    """Where each output element lies on the input axis (the standard's coordinate transformations)."""
    x = np.arange(outputs, dtype=np.float64)
    begin, end = roi
    length = inputs * scale
    formulas: dict[str, Callable[[], Any]] = {
        "half_pixel": lambda: (x + 0.5) / scale - 0.5,
        "half_pixel_symmetric": lambda: _symmetric(x, inputs, outputs, scale),
        "pytorch_half_pixel": lambda: (x + 0.5) / scale - 0.5 if outputs > 1 else np.zeros_like(x),
        "align_corners": lambda: x * (inputs - 1) / (length - 1) if length > 1 else np.zeros_like(x),
        "asymmetric": lambda: x / scale,
        "tf_half_pixel_for_nn": lambda: (x + 0.5) / scale,
        "tf_crop_and_resize": lambda: (
            begin * (inputs - 1)
            + (x * (end - begin) * (inputs - 1) / (outputs - 1) if outputs > 1 else 0.5 * (end - begin) * (inputs - 1))
        ),
    }
    return formulas[style.coordinates]() + np.zeros_like(x)


def _symmetric(x: np.ndarray, inputs: int, outputs: int, scale: float) -> np.ndarray:
    adjustment = outputs / (scale * inputs)
    centre = inputs / 2
    return centre * (1 - adjustment) + (x + 0.5) / scale - 0.5


_ROUNDING: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}
COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)


def _linear(distance: np.ndarray) -> np.ndarray:
    return np.maximum(0.0, 1.0 - distance)


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    """Keys' cubic convolution kernel (1981) with parameter `a`."""
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = a * (((distance - 5) * distance + 8) * distance - 4)
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


def taps(style: Style, positions: np.ndarray, inputs: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """(indices, weights), both of shape (outputs, taps)."""
    if style.mode == "nearest":
        picked = _ROUNDING["ceil" if style.next_if_smaller and scale < 1 else style.nearest](positions)
        return np.clip(picked, 0, inputs - 1).astype(np.int64)[:, None], np.ones((len(positions), 1))
    support = 2 if style.mode == "cubic" else 1
    shrink = min(1.0, scale) if style.antialias else 1.0
    radius = math.ceil(support / shrink)
    first = np.floor(positions) - radius + 1
    indices = first[:, None] + np.arange(2 * radius)
    distance = np.abs(indices - positions[:, None]) * shrink
    weights = _cubic(distance, style.cubic) if style.mode == "cubic" else _linear(distance)
    if style.exclude_outside:
        weights = np.where((indices < 0) | (indices >= inputs), 0.0, weights)
    if style.exclude_outside or style.antialias:
        weights = weights / weights.sum(1, keepdims=True)
    return np.clip(indices, 0, inputs - 1).astype(np.int64), weights


def _resized_axis(
    node: Site, x: Expr, axis: int, outputs: int, scale: float, style: Style, roi: tuple[float, float]
) -> Expr:
    inputs = shape_of(x)[axis]
    if inputs == 0:
        raise node.refuse(f"axis {axis} is empty and cannot be resized", "extent 0", "at least 1")
    positions = source_positions(style, inputs, outputs, scale, roi)
    indices, weights = taps(style, positions, inputs, scale)
    along = (outputs,) + (1,) * (rank_of(x) - axis - 1)
    total: Expr | None = None
    for tap in range(indices.shape[1]):
        picked = call("take", x, constant(indices[:, tap]), axis=axis)
        if style.mode != "nearest":
            picked = call("multiply", picked, constant(weights[:, tap].reshape(along), dtype_of(x)))
        total = picked if total is None else call("add", total, picked)
    assert total is not None
    if style.coordinates == "tf_crop_and_resize":
        inside = constant(((positions >= 0) & (positions <= inputs - 1)).reshape(along))
        total = call("where", inside, total, constant(np.asarray(style.extrapolation), dtype_of(x)))
    return total


def resized(
    node: Site,
    x: Expr,
    outputs: tuple[int, ...],
    scales: tuple[float, ...],
    style: Style,
    roi: tuple[tuple[float, float], ...],
) -> Expr:
    """`x` resized along every axis whose extent or region changes."""
    checked_shape(node, outputs, dtype_of(x), "the result")
    original = dtype_of(x)
    if style.mode != "nearest" and not original.is_float:
        x = cast(x, "float32")
    for axis, count in enumerate(outputs):
        same = count == shape_of(x)[axis] and scales[axis] == 1.0 and style.coordinates != "tf_crop_and_resize"
        if not same:
            x = _resized_axis(node, x, axis, count, scales[axis], style, roi[axis])
    if dtype_of(x) != original:
        low, high = original.limits()
        x = cast(call("clip", call("round", x), a_min=float(low), a_max=float(high)), original)
    return x


def _style(node: Site, style: Style) -> Style:
    for value, known, what in (
        (style.mode, ("nearest", "linear", "cubic"), "mode"),
        (style.coordinates, COORDINATES, "coordinate_transformation_mode"),
        (style.nearest, tuple(_ROUNDING), "nearest_mode"),
    ):
        if value not in known:
            raise node.refuse(f"unknown {what}", value, ", ".join(known))
    return style


@onnx_op("Upsample", since=7, until=8)
def upsample_by_attribute(node: Site, x: Expr, *, scales: tuple[float, ...], mode: str = "nearest") -> Expr:
    return _scaled(node, x, scales, Style(mode, "asymmetric", "floor"))


@onnx_op("Upsample", since=9)
def upsample(node: Site, x: Expr, scales: Expr, *, mode: str = "nearest") -> Expr:
    factors = tuple(float(item) for item in node.constant(scales, "scales").reshape(-1))
    return _scaled(node, x, factors, Style(mode, "asymmetric", "floor"))


@onnx_op("Resize", since=10, until=10)
def resize_10(node: Site, x: Expr, scales: Expr, *, mode: str = "nearest") -> Expr:
    """As Upsample; but of an axis that shrinks, the next element is the nearest, as in the standard's tests."""
    factors = tuple(float(item) for item in node.constant(scales, "scales").reshape(-1))
    return _scaled(node, x, factors, Style(mode, "asymmetric", "floor", next_if_smaller=True))


def _scaled(node: Site, x: Expr, factors: tuple[float, ...], style: Style) -> Expr:
    _style(node, style)
    old = shape_of(x)
    if len(factors) != len(old) or any(not factor > 0 or math.isinf(factor) for factor in factors):
        raise node.refuse("scales do not fit", str(factors), f"{len(old)} positive numbers")
    outputs = tuple(math.floor(extent * factor) for extent, factor in zip(old, factors, strict=True))
    return resized(node, x, outputs, factors, style, ((0.0, 1.0),) * len(old))


@onnx_op("Resize", since=11)
def resize(
    node: Site,
    x: Expr,
    roi: Expr | None = None,
    scales: Expr | None = None,
    sizes: Expr | None = None,
    *,
    antialias: int = 0,
    axes: tuple[int, ...] | None = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Expr:
    style = _style(
        node,
        Style(
            mode,
            coordinate_transformation_mode,
            nearest_mode,
            cubic_coeff_a,
            bool(exclude_outside),
            bool(antialias) and mode != "nearest",
            extrapolation_value,
        ),
    )
    old = shape_of(x)
    chosen = node.axes(axes, len(old)) if axes is not None else tuple(range(len(old)))
    region = _region(node, roi, chosen, len(old))
    if scales is not None and shape_of(scales) != (0,):
        factors, outputs = _from_scales(node, old, chosen, scales)
    elif sizes is not None:
        factors, outputs = _from_sizes(node, old, chosen, sizes, keep_aspect_ratio_policy)
    else:
        raise node.refuse("neither scales nor sizes are given", "none", "one of them")
    return resized(node, x, outputs, factors, style, region)


def _region(node: Site, roi: Expr | None, chosen: tuple[int, ...], rank: int) -> tuple[tuple[float, float], ...]:
    found = [(0.0, 1.0)] * rank
    values = [float(item) for item in node.constant(roi, "roi").reshape(-1)] if roi is not None else []
    if len(values) == 2 * len(chosen):
        for position, axis in enumerate(chosen):
            found[axis] = (values[position], values[position + len(chosen)])
    return tuple(found)


def _from_scales(
    node: Site, old: tuple[int, ...], chosen: tuple[int, ...], scales: Expr
) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Of a cropped region too, all of an axis is scaled: so do shape inference, the reference and onnxruntime, though
    the standard's text scales the region's length."""
    given = [float(item) for item in node.constant(scales, "scales").reshape(-1)]
    if len(given) != len(chosen) or any(not item > 0 or math.isinf(item) for item in given):
        raise node.refuse("scales do not fit", str(given), f"{len(chosen)} positive numbers")
    factors = [1.0] * len(old)
    for axis, factor in zip(chosen, given, strict=True):
        factors[axis] = factor
    return tuple(factors), tuple(math.floor(extent * factor) for extent, factor in zip(old, factors, strict=True))


def _from_sizes(
    node: Site, old: tuple[int, ...], chosen: tuple[int, ...], sizes: Expr, policy: str
) -> tuple[tuple[float, ...], tuple[int, ...]]:
    given = node.ints(sizes, "sizes")
    if len(given) != len(chosen) or any(item < 0 for item in given):
        raise node.refuse("sizes do not fit", str(given), f"{len(chosen)} numbers of at least 0")
    outputs = list(old)
    factors = [1.0] * len(old)
    ratios = [size / old[axis] if old[axis] else 1.0 for size, axis in zip(given, chosen, strict=True)]
    if policy in ("not_larger", "not_smaller"):
        ratio = min(ratios) if policy == "not_larger" else max(ratios)
        ratios = [ratio] * len(ratios)
        given = tuple(math.floor(old[axis] * ratio + 0.5) for axis in chosen)
    elif policy != "stretch":
        raise node.refuse("unknown keep_aspect_ratio_policy", policy, "stretch, not_larger or not_smaller")
    for axis, size, ratio in zip(chosen, given, ratios, strict=True):
        outputs[axis], factors[axis] = size, ratio
    return tuple(factors), tuple(outputs)
