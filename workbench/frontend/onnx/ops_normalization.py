"""Normalisations, by means and variances of simple operators where relay has no operator of its own."""

from __future__ import annotations

import math

import numpy as np

from ...relay.ir.expr import Expr
from .emit import call, constant, dtype_of, like, rank_of, reshaped, shape_of, unpack
from .ops_elementwise import cast, in_float32
from .site import Site
from .table import onnx_op
from .tensors import dtype_of as dtype_of_number


def _per_channel(value: Expr, rank: int) -> Expr:
    """A vector over axis 1, shaped to broadcast over a tensor of `rank` axes."""
    return reshaped(value, (shape_of(value)[0],) + (1,) * (rank - 2))


@onnx_op("BatchNormalization", since=7)
def batch_normalization(
    node: Site,
    x: Expr,
    scale: Expr,
    bias: Expr,
    mean: Expr,
    variance: Expr,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    spatial: int = 1,
    training_mode: int = 0,
) -> Expr | tuple[Expr, ...]:
    if rank_of(x) == 1:  # samples of one channel
        statistics = (scale, bias, mean, variance)
        made = batch_normalization(
            node, reshaped(x, (*shape_of(x), 1)), *statistics,
            epsilon=epsilon, momentum=momentum, training_mode=training_mode,
        )  # fmt: skip
        parts = made if isinstance(made, tuple) else (made,)
        return (reshaped(parts[0], shape_of(x)), *parts[1:])
    if training_mode:
        return _trained_batch(node, x, scale, bias, mean, variance, epsilon, momentum)
    for part in (scale, bias, mean, variance):
        if shape_of(part) != (shape_of(x)[1],):
            raise node.refuse("a statistic does not fit the channels", str(shape_of(part)), str((shape_of(x)[1],)))
    kinds = [dtype_of(part) for part in (scale, bias, mean, variance)]
    if any(kind != dtype_of(x) for kind in kinds):
        return _by_statistics(x, scale, bias, mean, variance, epsilon)
    made = call("nn.batch_norm", x, scale, bias, mean, variance, axis=1, epsilon=epsilon, center=True, scale=True)
    return unpack(made)[0]


def _by_statistics(x: Expr, scale: Expr, bias: Expr, mean: Expr, variance: Expr, epsilon: float) -> Expr:
    rank, kind = rank_of(x), dtype_of(x)
    wide = "float32" if kind.bits < 32 else kind
    parts = [_per_channel(cast(part, wide), rank) for part in (scale, bias, mean, variance)]
    centred = call("subtract", cast(x, wide), parts[2])
    root = call("sqrt", call("add", parts[3], like(epsilon, parts[3])))
    return cast(call("add", call("multiply", call("divide", centred, root), parts[0]), parts[1]), kind)


def _trained_batch(
    node: Site, x: Expr, scale: Expr, bias: Expr, mean: Expr, variance: Expr, epsilon: float, momentum: float
) -> tuple[Expr, ...]:
    """Statistics of this batch, and the running ones moved towards them."""
    axes = (0, *range(2, rank_of(x)))
    now = call("mean", x, axis=axes, keepdims=False)
    centred = call("subtract", x, _per_channel(now, rank_of(x)))
    spread = call("mean", call("multiply", centred, centred), axis=axes, keepdims=False)
    moved = [
        call("add", call("multiply", old, like(momentum, old)), call("multiply", new, like(1 - momentum, new)))
        for old, new in ((mean, cast(now, dtype_of(mean))), (variance, cast(spread, dtype_of(variance))))
    ]
    return (_by_statistics(x, scale, bias, now, spread, epsilon), *moved)


def normalized(x: Expr, axes: tuple[int, ...], epsilon: float) -> tuple[Expr, Expr, Expr]:
    """(x less its mean, over its deviation; the mean; one over the deviation), along `axes`."""
    mean = call("mean", x, axis=axes, keepdims=True)
    centred = call("subtract", x, mean)
    variance = call("mean", call("multiply", centred, centred), axis=axes, keepdims=True)
    inverse = call("divide", like(1, x), call("sqrt", call("add", variance, like(epsilon, x))))
    return call("multiply", centred, inverse), mean, inverse


@onnx_op("InstanceNormalization", since=6)
def instance_normalization(node: Site, x: Expr, scale: Expr, bias: Expr, *, epsilon: float = 1e-5) -> Expr:
    _require_vectors(node, x, scale, bias)
    rank = rank_of(x)
    found = in_float32(x, lambda wide: normalized(wide, tuple(range(2, rank)), epsilon)[0])
    return call("add", call("multiply", found, _per_channel(scale, rank)), _per_channel(bias, rank))


@onnx_op("LayerNormalization", since=17)
def layer_normalization(
    node: Site,
    x: Expr,
    scale: Expr,
    bias: Expr | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
) -> tuple[Expr, ...]:
    rank, kind = rank_of(x), dtype_of(x)
    axis = node.axis(axis, rank)
    last = axis == rank - 1 and bias is not None and shape_of(scale) == shape_of(x)[-1:] == shape_of(bias)
    if last and node.output_count == 1 and kind == "float32" and bias is not None:
        return (call("nn.layer_norm", x, scale, bias, axis=-1, epsilon=epsilon, center=True, scale=True),)
    wide = dtype_of_number(stash_type, node.where)
    found, mean, inverse = normalized(cast(x, wide), tuple(range(axis, rank)), epsilon)
    made = call("multiply", cast(found, kind), scale)
    return (made if bias is None else call("add", made, bias), mean, inverse)


@onnx_op("RMSNormalization", since=23)
def rms_normalization(
    node: Site, x: Expr, scale: Expr, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Expr:
    rank, kind = rank_of(x), dtype_of(x)
    axes = tuple(range(node.axis(axis, rank), rank))
    wide = cast(x, dtype_of_number(stash_type, node.where))
    square = call("mean", call("multiply", wide, wide), axis=axes, keepdims=True)
    found = call("divide", wide, call("sqrt", call("add", square, like(epsilon, square))))
    return call("multiply", cast(found, kind), scale)


def _require_vectors(node: Site, x: Expr, scale: Expr, bias: Expr) -> None:
    if rank_of(x) < 2 or rank_of(scale) != 1 or shape_of(scale) != shape_of(bias):
        shapes = f"{shape_of(x)}, {shape_of(scale)}, {shape_of(bias)}"
        raise node.refuse("scale and bias do not fit the operand", shapes, "a tensor of channels, and two vectors")


@onnx_op("GroupNormalization", since=18, until=20)
def group_normalization_by_group(
    node: Site, x: Expr, scale: Expr, bias: Expr, *, epsilon: float = 1e-5, num_groups: int
) -> Expr:
    """Before opset 21, scale and bias had one number for each group."""
    _require_vectors(node, x, scale, bias)
    times = shape_of(x)[1] // max(1, num_groups)
    wide = [call("repeat", part, repeats=times, axis=0) for part in (scale, bias)]
    return group_normalization(node, x, *wide, epsilon=epsilon, num_groups=num_groups)


@onnx_op("GroupNormalization", since=21)
def group_normalization(
    node: Site, x: Expr, scale: Expr, bias: Expr, *, epsilon: float = 1e-5, num_groups: int, stash_type: int = 1
) -> Expr:
    _require_vectors(node, x, scale, bias)
    shape, kind = shape_of(x), dtype_of(x)
    if num_groups < 1 or shape[1] % num_groups:
        raise node.refuse("channels do not divide into groups", f"{shape[1]} by {num_groups}", "a multiple")
    wide = cast(x, dtype_of_number(stash_type, node.where))
    grouped = reshaped(wide, (shape[0], num_groups, math.prod(shape[1:]) // num_groups))
    found, _, _ = normalized(grouped, (2,), epsilon)
    found = cast(reshaped(found, shape), kind)
    return call("add", call("multiply", found, _per_channel(scale, len(shape))), _per_channel(bias, len(shape)))


@onnx_op("LRN")
def lrn(node: Site, x: Expr, *, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0, size: int) -> Expr:
    if size < 1:
        raise node.refuse("size must be positive", str(size), "at least 1")
    if rank_of(x) < 2:
        raise node.refuse("there is no axis of channels", f"data of rank {rank_of(x)}", "data of rank 2 or more")
    return call("nn.lrn", x, size=size, axis=1, bias=bias, alpha=alpha, beta=beta)


@onnx_op("LpNormalization")
def lp_normalization(node: Site, x: Expr, *, axis: int = -1, p: int = 2) -> Expr:
    return in_float32(x, lambda wide: _lp_normalized(node, wide, axis, p))


def _lp_normalized(node: Site, x: Expr, axis: int, p: int) -> Expr:
    along = (node.axis(axis, rank_of(x)),)
    if p == 1:
        norm = call("sum", call("abs", x), axis=along, keepdims=True)
    elif p == 2:
        norm = call("sqrt", call("sum", call("multiply", x, x), axis=along, keepdims=True))
    else:
        raise node.refuse("only the first and second norm exist", str(p), "1 or 2")
    zero = call("equal", norm, like(0, norm))
    return call("divide", x, call("where", zero, like(1, norm), norm))


@onnx_op("MeanVarianceNormalization", since=9)
def mean_variance_normalization(node: Site, x: Expr, *, axes: tuple[int, ...] = (0, 2, 3)) -> Expr:
    return in_float32(x, lambda wide: _mean_variance_normalized(node, wide, axes))


def _mean_variance_normalized(node: Site, x: Expr, axes: tuple[int, ...]) -> Expr:
    chosen = tuple(sorted(node.axes(axes, rank_of(x))))
    mean = call("mean", x, axis=chosen, keepdims=True)
    centred = call("subtract", x, mean)
    spread = call("sqrt", call("mean", call("multiply", centred, centred), axis=chosen, keepdims=True))
    return call("divide", centred, call("add", spread, like(1e-9, x)))


def _hardmax(node: Site, x: Expr, axis: int) -> Expr:
    """1 at the first greatest element along `axis`, else 0."""
    extent = shape_of(x)[axis]
    if extent == 0:
        return x
    first = call("argmax", x, axis=(axis,), keepdims=True, select_last_index=False)
    numbers = np.arange(extent).reshape((extent,) + (1,) * (rank_of(x) - axis - 1))
    return cast(call("equal", cast(first, "int64"), constant(numbers.astype(np.int64))), dtype_of(x))


@onnx_op("Hardmax", since=13)
def hardmax(node: Site, x: Expr, *, axis: int = -1) -> Expr:
    return _hardmax(node, x, node.axis(axis, rank_of(x)))


@onnx_op("Hardmax", since=1, until=12)
def hardmax_joined(node: Site, x: Expr, *, axis: int = 1) -> Expr:
    shape = shape_of(x)
    axis = node.axis(axis, len(shape))
    flat = reshaped(x, (math.prod(shape[:axis]), math.prod(shape[axis:])))
    return reshaped(_hardmax(node, flat, 1), shape)
