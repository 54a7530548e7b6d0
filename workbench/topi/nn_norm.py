"""Normalisations: nn.softmax, nn.log_softmax, nn.batch_norm, nn.layer_norm, nn.instance_norm, nn.l2_normalize, nn.lrn.

`reference` states the meaning; batch_norm, layer_norm and instance_norm become simpler operators (`decompose`).

>>> Softmax().infer(TensorType((2, 5)))
Tensor[(2, 5), float32]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import te
from ..arith import build
from ..arith.nodes import literal
from ..relay.ir.expr import Tuple, const
from ..relay.ir.operator import Fusion, Operator, Placed, Precision, attribute, bad, example, operator
from ..relay.ir.types import TensorType, TupleType, Type
from . import arrange
from . import attributes as convert
from . import calls as relay
from .deduce import along_axis
from .functions import composed
from .reduce import reduce_tensor
from .samples import floats, ints, positive
from .shapes import float_dtype, normalized_axes, normalized_axis, same_dtype, tensor, unify

AXIS = attribute(-1, "axis along which values are related", convert=convert.integer)
_EPSILON = attribute(1e-5, "added to the variance", convert=convert.real)
_CENTER = attribute(True, "add beta", convert=convert.boolean)
_SCALE = attribute(True, "multiply by gamma", convert=convert.boolean)


def axis_of(op: Any, rank: int) -> int:
    return normalized_axis(op, op.axis, rank)


def infer_along(op: Operator, data: TensorType) -> TensorType:
    kind = tensor(op, data, "data")
    float_dtype(op, kind, "data")
    axis_of(op, len(kind.shape))
    return kind


def _softmax_stages(op: Any, data: Any, name: str, power: str = "exp") -> tuple[int, Any, Any, Any]:
    """(axis, greatest, exponentials by the intrinsic `power`, their sum)."""
    axis = axis_of(op, len(data.shape))
    greatest = reduce_tensor(data, (axis,), True, te.max, f"{name}_max")
    raised = te.compute(
        data.shape,
        lambda *i: build.call(power, data(*i) - greatest(*i[:axis], 0, *i[axis + 1 :])),
        name=f"{name}_exp",
        tag="injective",
    )
    return axis, greatest, raised, reduce_tensor(raised, (axis,), True, te.sum, f"{name}_sum")


def softmax_compute(op: Any, data: Any, power: str) -> Any:
    """The stages of softmax with the exponential function `power`; a row is divided by its sum once."""
    axis, _, raised, total = _softmax_stages(op, data, "softmax", power)

    def element(*i: Any) -> Any:
        return raised(*i) * (build.const(1.0, data.dtype) / total(*i[:axis], 0, *i[axis + 1 :]))

    return te.compute(data.shape, element, name="softmax", tag="softmax_output")


@operator("nn.softmax")
class Softmax(Operator):
    """exp(x) / sum(exp(x)) along `axis`, without overflow."""

    axis: int = AXIS
    family = "softmax"
    fusion = Fusion.OPAQUE
    precision = Precision.NEVER
    fast_variant = "nn.fast_softmax"
    accumulates = True
    aliases = {"onnx": "Softmax"}
    examples = (
        example(floats(2, 5)), example(floats(2, 5, 3), axis=1), example(floats(3, 7, low=80, high=120)),
        bad(floats(2), axis=1, error="outside"), bad(ints(2), error="float dtype"),
    )  # fmt: skip

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.along_axis(self, "axis", operands, types)

    def infer(self, data: TensorType) -> TensorType:
        return infer_along(self, data)

    def reference(self, data: np.ndarray) -> np.ndarray:
        raised = np.exp(data - np.max(data, self.axis, keepdims=True))
        return raised / np.sum(raised, self.axis, keepdims=True)

    def compute(self, data: Any) -> Any:
        return softmax_compute(self, data, "exp")

    def flops(self, data: TensorType) -> int:
        return 4 * data.size


@operator("nn.log_softmax")
class LogSoftmax(Operator):
    """log(softmax(x)) along `axis`."""

    axis: int = AXIS
    family = "softmax"
    fusion = Fusion.OPAQUE
    precision = Precision.NEVER
    accumulates = True
    aliases = {"onnx": "LogSoftmax"}
    examples = (example(floats(2, 5)), example(floats(2, 5, 3), axis=1), bad(floats(2), axis=1, error="outside"))

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.along_axis(self, "axis", operands, types)

    def infer(self, data: TensorType) -> TensorType:
        return infer_along(self, data)

    def reference(self, data: np.ndarray) -> np.ndarray:
        shifted = data - np.max(data, self.axis, keepdims=True)
        return shifted - np.log(np.sum(np.exp(shifted), self.axis, keepdims=True))

    def compute(self, data: Any) -> Any:
        axis, greatest, _, total = _softmax_stages(self, data, "log_softmax")

        def element(*i: Any) -> Any:
            at = (*i[:axis], 0, *i[axis + 1 :])
            return data(*i) - greatest(*at) - te.log(total(*at))

        return te.compute(data.shape, element, name="log_softmax", tag="softmax_output")

    def flops(self, data: TensorType) -> int:
        return 4 * data.size


def along(values: Any, axis: int, rank: int) -> Any:
    """A relay vector with new axes so that it stands along `axis` of a tensor."""
    return relay.call("expand_dims", values, axis=1, num_newaxis=rank - axis - 1) if axis < rank - 1 else values


def scaled(op: Any, data: Any, gamma: Any, beta: Any, axis: int, rank: int) -> Any:
    """data * gamma + beta, as far as the operator asks for them."""
    if op.scale:
        data = relay.call("multiply", data, along(gamma, axis, rank))
    return relay.call("add", data, along(beta, axis, rank)) if op.center else data


def _spread(values: np.ndarray, axis: int, rank: int) -> np.ndarray:
    return values.reshape([-1 if at == axis else 1 for at in range(rank)])


def _check_vectors(op: Operator, kind: TensorType, axis: int, **vectors: TensorType) -> None:
    for name, value in vectors.items():
        vector = tensor(op, value, name, 1)
        same_dtype(op, kind, vector)
        unify(op, kind.shape[axis], vector.shape[0], f"{name} and axis {axis} of data")


@operator("nn.batch_norm")
class BatchNorm(Operator):
    """(data - moving_mean) / sqrt(moving_var + epsilon) * gamma + beta along `axis`.

    The result is the tuple (normalised data, moving_mean, moving_var).
    """

    axis: int = attribute(1, "axis of channels", convert=convert.integer)
    epsilon: float = _EPSILON
    center: bool = _CENTER
    scale: bool = _SCALE
    fusion = Fusion.OPAQUE
    precision = Precision.NEVER
    examples = (
        example(floats(2, 3, 4, 4), floats(3), floats(3), floats(3), positive(3)),
        example(floats(2, 4, 3), floats(3), floats(3), floats(3), positive(3), axis=-1, epsilon=1e-3),
        example(floats(2, 3), floats(3), floats(3), floats(3), positive(3), center=False, scale=False),
        bad(floats(2, 3, 4), floats(4), floats(3), floats(3), positive(3), error="gamma"),
        bad(floats(2), floats(2), floats(2), floats(2), positive(2), error="outside"),
        bad(ints(2, 3), ints(3), ints(3), ints(3), ints(3), error="float dtype"),
    )  # fmt: skip

    def deduce(self, data: Type | None, *vectors: Type | None) -> tuple[Type | None, ...]:
        return along_axis(data, self.axis, vectors)

    def infer(
        self, data: TensorType, gamma: TensorType, beta: TensorType, moving_mean: TensorType, moving_var: TensorType
    ) -> TupleType:
        kind = infer_along(self, data)
        axis = axis_of(self, len(kind.shape))
        _check_vectors(self, kind, axis, gamma=gamma, beta=beta, moving_mean=moving_mean, moving_var=moving_var)
        return TupleType((kind, moving_mean, moving_var))

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.first_of_tuple(arrange.along_axis(self, "axis", operands, types), 3)

    def reference(
        self, data: np.ndarray, gamma: np.ndarray, beta: np.ndarray, moving_mean: np.ndarray, moving_var: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        axis = axis_of(self, data.ndim)
        factor = 1 / np.sqrt(moving_var + np.asarray(self.epsilon, data.dtype))
        factor = factor * gamma if self.scale else factor
        offset = -moving_mean * factor + (beta if self.center else 0)
        found = data * _spread(factor, axis, data.ndim) + _spread(offset, axis, data.ndim)
        return found.astype(data.dtype, copy=False), moving_mean, moving_var

    def decompose(self, data: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any) -> Any:
        kind: TensorType = data.checked_type
        rank = len(kind.shape)
        axis = axis_of(self, rank)
        epsilon, one = const(self.epsilon, kind.dtype), const(1.0, kind.dtype)
        root = relay.call("sqrt", relay.call("add", moving_var, epsilon))
        factor = relay.call("divide", one, root)
        if self.scale:
            factor = relay.call("multiply", factor, gamma)
        offset = relay.call("multiply", relay.call("negative", moving_mean), factor)
        if self.center:
            offset = relay.call("add", offset, beta)
        found = relay.call("multiply", data, along(factor, axis, rank))
        return Tuple((relay.call("add", found, along(offset, axis, rank)), moving_mean, moving_var))

    def compute(self, *operands: Any) -> Any:
        return composed(self, *operands)

    def flops(self, data: TensorType, *vectors: TensorType) -> int:
        return 2 * data.size


def _standardised(data: np.ndarray, axes: tuple[int, ...], epsilon: float) -> np.ndarray:
    wide = data.astype(np.float64)
    mean = wide.mean(axes, keepdims=True)
    return (wide - mean) / np.sqrt(((wide - mean) ** 2).mean(axes, keepdims=True) + epsilon)


def _standardise(data: Any, axes: tuple[int, ...], epsilon: float) -> Any:
    """Relay for (data - mean) / sqrt(variance + epsilon) over `axes`."""
    mean = relay.call("mean", data, axis=axes, keepdims=True)
    centred = relay.call("subtract", data, mean)
    variance = relay.call("mean", relay.call("multiply", centred, centred), axis=axes, keepdims=True)
    shifted = relay.call("add", variance, const(epsilon, data.checked_type.dtype))
    return relay.call("multiply", centred, relay.call("rsqrt", shifted))


@operator("nn.layer_norm")
class LayerNorm(Operator):
    """Each slice along `axis` with mean 0 and variance 1, times gamma plus beta."""

    axis: int = AXIS
    epsilon: float = _EPSILON
    center: bool = _CENTER
    scale: bool = _SCALE
    fusion = Fusion.OPAQUE
    precision = Precision.NEVER
    accumulates = True
    examples = (
        example(floats(2, 5), floats(5), floats(5)),
        example(floats(2, 5, 3), floats(5), floats(5), axis=1, epsilon=1e-3),
        example(floats(2, 5), floats(5), floats(5), center=False),
        bad(floats(2, 5), floats(2), floats(5), error="gamma"),
    )  # fmt: skip

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.along_axis(self, "axis", operands, types)

    def deduce(self, data: Type | None, *vectors: Type | None) -> tuple[Type | None, ...]:
        return along_axis(data, self.axis, vectors)

    def infer(self, data: TensorType, gamma: TensorType, beta: TensorType) -> TensorType:
        kind = infer_along(self, data)
        _check_vectors(self, kind, axis_of(self, len(kind.shape)), gamma=gamma, beta=beta)
        return kind

    def reference(self, data: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
        axis = axis_of(self, data.ndim)
        found = _standardised(data, (axis,), self.epsilon)
        found = found * _spread(gamma, axis, data.ndim) if self.scale else found
        return (found + _spread(beta, axis, data.ndim) if self.center else found).astype(data.dtype)

    def decompose(self, data: Any, gamma: Any, beta: Any) -> Any:
        rank = len(data.checked_type.shape)
        axis = axis_of(self, rank)
        return scaled(self, _standardise(data, (axis,), self.epsilon), gamma, beta, axis, rank)

    def compute(self, *operands: Any) -> Any:
        return composed(self, *operands)

    def flops(self, data: TensorType, *vectors: TensorType) -> int:
        return 8 * data.size


@operator("nn.instance_norm")
class InstanceNorm(Operator):
    """Each channel of each sample with mean 0 and variance 1, times gamma plus beta."""

    axis: int = attribute(1, "axis of channels", convert=convert.integer)
    epsilon: float = _EPSILON
    center: bool = _CENTER
    scale: bool = _SCALE
    fusion = Fusion.OPAQUE
    precision = Precision.NEVER
    accumulates = True
    examples = (
        example(floats(2, 3, 4, 4), floats(3), floats(3)), example(floats(2, 4, 3), floats(3), floats(3), axis=2),
        bad(floats(2, 3, 4), floats(4), floats(3), error="gamma"),
    )  # fmt: skip

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        placed = operands[0]
        if isinstance(placed, Placed) and arrange.place(placed, 0) != 0:
            return None  # the first axis is that of samples, by its place
        return arrange.along_axis(self, "axis", operands, types)

    def axes(self, rank: int) -> tuple[int, ...]:
        channel = axis_of(self, rank)
        return tuple(axis for axis in range(1, rank) if axis != channel)

    def deduce(self, data: Type | None, *vectors: Type | None) -> tuple[Type | None, ...]:
        return along_axis(data, self.axis, vectors)

    def infer(self, data: TensorType, gamma: TensorType, beta: TensorType) -> TensorType:
        kind = infer_along(self, data)
        _check_vectors(self, kind, axis_of(self, len(kind.shape)), gamma=gamma, beta=beta)
        return kind

    def reference(self, data: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
        axis = axis_of(self, data.ndim)
        found = _standardised(data, self.axes(data.ndim), self.epsilon)
        found = found * _spread(gamma, axis, data.ndim) if self.scale else found
        return (found + _spread(beta, axis, data.ndim) if self.center else found).astype(data.dtype)

    def decompose(self, data: Any, gamma: Any, beta: Any) -> Any:
        rank = len(data.checked_type.shape)
        return scaled(self, _standardise(data, self.axes(rank), self.epsilon), gamma, beta, axis_of(self, rank), rank)

    def compute(self, *operands: Any) -> Any:
        return composed(self, *operands)

    def flops(self, data: TensorType, *vectors: TensorType) -> int:
        return 8 * data.size


@operator("nn.l2_normalize")
class L2Normalize(Operator):
    """data / sqrt(max(sum(data^2), eps)) over `axis`."""

    eps: float = attribute(1e-12, "least sum of squares", convert=convert.real)
    axis: tuple[int, ...] | None = attribute(
        None, "axes summed over; None: all", convert=convert.optional(convert.integers)
    )
    fusion = Fusion.OPAQUE
    precision = Precision.NEVER
    accumulates = True
    examples = (
        example(floats(2, 5), axis=1), example(floats(2, 3, 4), axis=(1, 2)), example(floats(2, 3, 4)),
        bad(floats(2), axis=1, error="outside"),
    )  # fmt: skip

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        float_dtype(self, kind, "data")
        if self.axis is not None:
            normalized_axes(self, self.axis, len(kind.shape))
        return kind

    def reference(self, data: np.ndarray) -> np.ndarray:
        total = np.sum(data * data, self.axis, keepdims=True)
        return data / np.sqrt(np.maximum(total, np.asarray(self.eps, data.dtype)))

    def decompose(self, data: Any) -> Any:
        total = relay.call("sum", relay.call("multiply", data, data), axis=self.axis, keepdims=True)
        least = relay.call("maximum", total, const(self.eps, data.checked_type.dtype))
        return relay.call("divide", data, relay.call("sqrt", least))

    def compute(self, *operands: Any) -> Any:
        return composed(self, *operands)

    def flops(self, data: TensorType) -> int:
        return 3 * data.size


def _power(base: Any, exponent: float) -> Any:
    """base ** exponent; by square roots where they give it, which are instructions (networks have 0.75)."""
    if exponent not in (0.25, 0.5, 0.75, 1.0):
        return te.power(base, build.const(exponent, base.dtype))
    root = te.sqrt(base)
    return {0.25: te.sqrt(root), 0.5: root, 0.75: root * te.sqrt(root), 1.0: base}[exponent]


@operator("nn.lrn")
class LocalResponseNorm(Operator):
    """data / (bias + alpha/size * sum of squares over a window of `size` along `axis`) ** beta."""

    size: int = attribute(5, "extent of the window", convert=convert.integer)
    axis: int = attribute(1, "axis of the window", convert=convert.integer)
    bias: float = attribute(2.0, "offset", convert=convert.real)
    alpha: float = attribute(1e-5, "scale", convert=convert.real)
    beta: float = attribute(0.75, "exponent", convert=convert.real)
    fusion = Fusion.OPAQUE
    accumulates = True
    precision = Precision.NEVER
    parameters = ("data", "size", "axis", "bias", "alpha", "beta")
    examples = (
        example(floats(1, 7, 2, 2), size=3, alpha=0.5, bias=1.0),
        example(floats(2, 4), size=4, alpha=0.1),
        example(floats(1, 5, 3), size=3, alpha=0.5, beta=0.5),
        example(floats(1, 5, 3), size=3, alpha=0.5, beta=0.6),
        example(floats(1, 5, 3), size=3, alpha=0.5, beta=1.0),
        bad(floats(2), error="outside"),
    )

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.along_axis(self, "axis", operands, types)

    def infer(self, data: TensorType) -> TensorType:
        return infer_along(self, data)

    def window(self, extent: Any) -> tuple[int, int]:
        """How far the window reaches before and after (ONNX: floor and ceil of (size - 1) / 2), within the axis."""
        known = literal(extent, extent)
        most = max(known, 1) - 1 if isinstance(known, int) else self.size
        return min((self.size - 1) // 2, most), min(self.size // 2, most)

    def reference(self, data: np.ndarray) -> np.ndarray:
        axis = axis_of(self, data.ndim)
        before, after = self.window(data.shape[axis])
        moved = np.moveaxis(data, axis, -1).astype(np.float64)
        padded = np.pad(moved * moved, [(0, 0)] * (data.ndim - 1) + [(before, after)])
        total = np.lib.stride_tricks.sliding_window_view(padded, before + 1 + after, -1).sum(-1)
        found = moved / (self.bias + self.alpha / self.size * total) ** self.beta
        return np.ascontiguousarray(np.moveaxis(found, -1, axis)).astype(data.dtype)

    def compute(self, data: Any) -> Any:
        axis = axis_of(self, len(data.shape))
        before, after = self.window(data.shape[axis])
        k = te.reduce_axis((0, before + 1 + after), name="k")

        def square(*i: Any) -> Any:
            at = i[axis] + k.var - before
            value = data(*i[:axis], at, *i[axis + 1 :])
            inside = te.all(at >= 0, at < data.shape[axis])
            return te.sum(te.if_then_else(inside, value * value, build.const(0.0, data.dtype)), axis=k)

        total = te.compute(data.shape, square, name="lrn_sum", tag="comm_reduce")

        def element(*i: Any) -> Any:
            base = total(*i) * build.const(self.alpha / self.size, data.dtype) + build.const(self.bias, data.dtype)
            return data(*i) / _power(base, self.beta)

        return te.compute(data.shape, element, name="lrn", tag="injective")

    def flops(self, data: TensorType) -> int:
        before, after = self.window(data.shape[axis_of(self, len(data.shape))])
        return data.size * (2 * (before + 1 + after) + 4)
