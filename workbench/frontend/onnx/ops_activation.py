"""Activation functions, written with simple operators in their numerically stable form."""

from __future__ import annotations

import math

from ...relay.ir.expr import Expr
from .emit import call, dtype_of, like, rank_of, reshaped, shape_of
from .ops_elementwise import cast
from .site import Site
from .table import onnx_op


@onnx_op("Relu")
def relu(node: Site, x: Expr) -> Expr:
    return call("nn.relu", x)


@onnx_op("LeakyRelu")
def leaky_relu(node: Site, x: Expr, *, alpha: float = 0.01) -> Expr:
    return call("nn.leaky_relu", x, alpha=alpha)


@onnx_op("PRelu")
def prelu(node: Site, x: Expr, slope: Expr) -> Expr:
    return call("where", call("less", x, like(0, x)), call("multiply", x, slope), x)


def _minus_one_exp(x: Expr, scale: float) -> Expr:
    """scale * (exp(min(x, 0)) - 1): no overflow where it is not used."""
    grown = call("exp", call("minimum", x, like(0, x)))
    return call("multiply", call("subtract", grown, like(1, x)), like(scale, x))


@onnx_op("Elu")
def elu(node: Site, x: Expr, *, alpha: float = 1.0) -> Expr:
    return call("where", call("less", x, like(0, x)), _minus_one_exp(x, alpha), x)


@onnx_op("Celu", since=12)
def celu(node: Site, x: Expr, *, alpha: float = 1.0) -> Expr:
    below = _minus_one_exp(call("divide", x, like(alpha, x)), alpha)
    return call("where", call("less", x, like(0, x)), below, x)


@onnx_op("Selu")
def selu(node: Site, x: Expr, *, alpha: float = 1.6732632423543772, gamma: float = 1.0507009873554805) -> Expr:
    return call("multiply", elu(node, x, alpha=alpha), like(gamma, x))


@onnx_op("ThresholdedRelu", since=10)
def thresholded_relu(node: Site, x: Expr, *, alpha: float = 1.0) -> Expr:
    return call("where", call("greater", x, like(alpha, x)), x, like(0, x))


@onnx_op("HardSigmoid")
def hard_sigmoid(node: Site, x: Expr, *, alpha: float = 0.2, beta: float = 0.5) -> Expr:
    line = call("add", call("multiply", x, like(alpha, x)), like(beta, x))
    return call("clip", line, a_min=0.0, a_max=1.0)


@onnx_op("HardSwish", since=14)
def hard_swish(node: Site, x: Expr) -> Expr:
    return call("multiply", x, hard_sigmoid(node, x, alpha=1 / 6, beta=0.5))


@onnx_op("Softplus")
def softplus(node: Site, x: Expr) -> Expr:
    """max(x, 0) + log(1 + exp(-|x|))."""
    tail = call("log", call("add", call("exp", call("negative", call("abs", x))), like(1, x)))
    return call("add", call("maximum", x, like(0, x)), tail)


@onnx_op("Softsign")
def softsign(node: Site, x: Expr) -> Expr:
    return call("divide", x, call("add", call("abs", x), like(1, x)))


@onnx_op("Mish", since=18)
def mish(node: Site, x: Expr) -> Expr:
    return call("multiply", x, call("tanh", softplus(node, x)))


@onnx_op("Swish", since=24)
def swish(node: Site, x: Expr, *, alpha: float = 1.0) -> Expr:
    scaled = x if alpha == 1.0 else call("multiply", x, like(alpha, x))
    return call("multiply", x, call("sigmoid", scaled))


@onnx_op("Gelu", since=20)
def gelu(node: Site, x: Expr, *, approximate: str = "none") -> Expr:
    """x times the normal distribution's probability below x (by erf), or its tanh approximation."""
    half = call("multiply", x, like(0.5, x))
    if approximate == "tanh":
        cube = call("multiply", call("multiply", x, x), x)
        inner = call("add", x, call("multiply", cube, like(0.044715, x)))
        share = call("tanh", call("multiply", inner, like(math.sqrt(2 / math.pi), x)))
    elif approximate == "none":
        share = call("erf", call("multiply", x, like(math.sqrt(0.5), x)))
    else:
        raise node.refuse("unknown approximation", approximate, "none or tanh")
    return call("multiply", half, call("add", share, like(1, x)))


@onnx_op("Shrink", since=9)
def shrink(node: Site, x: Expr, *, bias: float = 0.0, lambd: float = 0.5) -> Expr:
    """Integers are compared with and moved by fractions; what comes out is cut towards zero, then to their bits."""
    kind = dtype_of(x)
    if kind.is_integer:
        moved = shrink(node, cast(x, "float64"), bias=bias, lambd=lambd)
        return cast(moved if kind == "uint64" else cast(moved, "int64"), kind)
    above = call("where", call("greater", x, like(lambd, x)), call("subtract", x, like(bias, x)), like(0, x))
    return call("where", call("less", x, like(-lambd, x)), call("add", x, like(bias, x)), above)


def _two_dimensional(x: Expr, axis: int) -> Expr:
    """Axes before `axis` joined, and those from it on (the meaning of softmax before opset 13)."""
    shape = shape_of(x)
    return reshaped(x, (math.prod(shape[:axis]), math.prod(shape[axis:])))


def _softmax(node: Site, name: str, x: Expr, axis: int, joined: bool) -> Expr:
    rank = rank_of(x)
    axis = node.axis(axis, rank)
    if not joined or axis == rank - 1:
        return call(name, x, axis=axis)
    return reshaped(call(name, _two_dimensional(x, axis), axis=1), shape_of(x))


@onnx_op("Softmax", since=1, until=12)
def softmax_joined(node: Site, x: Expr, *, axis: int = 1) -> Expr:
    return _softmax(node, "nn.softmax", x, axis, True)


@onnx_op("Softmax", since=13)
def softmax(node: Site, x: Expr, *, axis: int = -1) -> Expr:
    return _softmax(node, "nn.softmax", x, axis, False)


@onnx_op("LogSoftmax", since=1, until=12)
def log_softmax_joined(node: Site, x: Expr, *, axis: int = 1) -> Expr:
    return _softmax(node, "nn.log_softmax", x, axis, True)


@onnx_op("LogSoftmax", since=13)
def log_softmax(node: Site, x: Expr, *, axis: int = -1) -> Expr:
    return _softmax(node, "nn.log_softmax", x, axis, False)
