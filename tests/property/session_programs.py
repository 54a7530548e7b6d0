"""Programs for random sessions: each written once, evaluated in relay and in NumPy (float64).

A program has *sites*: a leaky_relu whose slope is a number that occurs nowhere else, or an operator of one operand
whose name does.  An edit changes a site, at any level where its number or name stands in the text; what the program
then means is known from the sites alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import workbench as wb
from workbench import relay, te

SLOPES: Final = tuple(number / 64 for number in range(3, 64, 2) if number != 16)
"""Exact in float32; 0.25 is the default, which the text leaves out."""
UNARY: Final = ("tanh", "sigmoid", "nn.relu", "negative", "abs")
Sites = tuple[float | str, ...]


class InRelay:
    """The operators as relay expressions."""

    def constant(self, value: np.ndarray) -> Any:
        return relay.const(value.astype(np.float32))

    def leaky(self, x: Any, slope: float) -> Any:
        return relay.nn.leaky_relu(x, slope)

    def unary(self, x: Any, name: str) -> Any:
        return getattr(relay.nn if name.startswith("nn.") else relay, name.removeprefix("nn."))(x)

    def dense(self, x: Any, weights: Any) -> Any:
        return relay.nn.dense(x, weights)

    def bias(self, x: Any, values: Any) -> Any:
        return relay.nn.bias_add(x, values)

    def softmax(self, x: Any) -> Any:
        return relay.nn.softmax(x)

    def add(self, x: Any, y: Any) -> Any:
        return relay.add(x, y)

    def multiply(self, x: Any, y: Any) -> Any:
        return relay.multiply(x, y)

    def maximum(self, x: Any, y: Any) -> Any:
        return relay.maximum(x, y)

    def mean(self, x: Any, axis: int) -> Any:
        return relay.mean(x, axis=axis, keepdims=True)

    def sum(self, x: Any, axis: int) -> Any:
        return relay.sum(x, axis=axis, keepdims=True)

    def transpose(self, x: Any) -> Any:
        return relay.transpose(x, axes=[1, 0])

    def reshape(self, x: Any, shape: tuple[int, ...]) -> Any:
        return relay.reshape(x, shape)

    def concatenate(self, parts: Sequence[Any]) -> Any:
        return relay.concatenate(list(parts), axis=1)

    def pointwise(self, x: Any, weights: Any) -> Any:
        """A convolution with a window of one element, NCHW."""
        return relay.nn.conv2d(x, weights, kernel_size=(1, 1), channels=weights.data.shape[0])


class InNumpy:
    """The same in float64."""

    def constant(self, value: np.ndarray) -> Any:
        return value.astype(np.float32).astype(np.float64)

    def leaky(self, x: Any, slope: float) -> Any:
        return np.where(x > 0, x, x * slope)

    def unary(self, x: Any, name: str) -> Any:
        return {
            "tanh": np.tanh,
            "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
            "nn.relu": lambda v: np.maximum(v, 0),
            "negative": np.negative,
            "abs": np.abs,
        }[name](x)

    def dense(self, x: Any, weights: Any) -> Any:
        return x @ weights.T

    def bias(self, x: Any, values: Any) -> Any:
        return x + values

    def softmax(self, x: Any) -> Any:
        raised = np.exp(x - x.max(-1, keepdims=True))
        return raised / raised.sum(-1, keepdims=True)

    def add(self, x: Any, y: Any) -> Any:
        return x + y

    def multiply(self, x: Any, y: Any) -> Any:
        return x * y

    def maximum(self, x: Any, y: Any) -> Any:
        return np.maximum(x, y)

    def mean(self, x: Any, axis: int) -> Any:
        return x.mean(axis, keepdims=True)

    def sum(self, x: Any, axis: int) -> Any:
        return x.sum(axis, keepdims=True)

    def transpose(self, x: Any) -> Any:
        return x.T

    def reshape(self, x: Any, shape: tuple[int, ...]) -> Any:
        return x.reshape(shape)

    def concatenate(self, parts: Sequence[Any]) -> Any:
        return np.concatenate(list(parts), axis=1)

    def pointwise(self, x: Any, weights: Any) -> Any:
        return np.einsum("nchw,oc->nohw", x, weights[:, :, 0, 0])


Body = Callable[[Any, Sequence[Any], Sites], Any]


@dataclass(frozen=True)
class Program:
    """A program with its sites."""

    name: str
    shapes: tuple[tuple[int, ...], ...]
    sites: Sites
    body: Body
    loops: bool = False
    """Whether it is opened as te tensors or a PrimFunc."""

    def opened(self) -> Any:
        """What `wb.open` takes."""
        if self.loops:
            return self.body(None, (), self.sites)
        variables = [relay.var(f"x{index}", shape=shape) for index, shape in enumerate(self.shapes)]
        made = self.body(InRelay(), variables, self.sites)
        return wb.IRModule.from_expr(relay.Function(variables, relay.Tuple(made) if isinstance(made, list) else made))

    def inputs(self) -> dict[str, np.ndarray]:
        """Seeded inputs by name, negative and positive."""
        source = np.random.default_rng(7)
        return {
            f"x{index}": source.standard_normal(shape).astype(np.float32) for index, shape in enumerate(self.shapes)
        }

    def expected(self, sites: Sites) -> list[np.ndarray]:
        """The outputs in float64 for these sites."""
        arrays = [array.astype(np.float64) for array in self.inputs().values()]
        made = LOOPS[self.name](arrays, sites) if self.loops else self.body(InNumpy(), arrays, sites)
        return made if isinstance(made, list) else [made]


def _weights(seed: int, *shape: int) -> np.ndarray:
    return (np.random.default_rng(seed).integers(-8, 9, shape) / 16).astype(np.float32)


def _two_alike(o: Any, x: Any, s: Sites) -> Any:
    one = o.softmax(o.leaky(x[0], s[0]))
    return o.softmax(o.leaky(o.add(one, x[0]), s[1]))


def _shared(o: Any, x: Any, s: Sites) -> Any:
    def piece(value: Any) -> Any:
        return o.softmax(o.leaky(value, s[0]))

    return o.unary(o.add(piece(x[0]), piece(x[1])), s[1])


def _residual(o: Any, x: Any, s: Sites) -> Any:
    inner = o.leaky(o.dense(x[0], o.constant(_weights(1, 8, 8))), s[0])
    return o.add(o.unary(o.dense(inner, o.constant(_weights(2, 8, 8))), s[1]), x[0])


def _two_outputs(o: Any, x: Any, s: Sites) -> list[Any]:
    total = o.add(x[0], x[1])
    return [o.softmax(o.leaky(total, s[0])), o.unary(o.multiply(x[0], x[1]), s[1])]


def _deep(o: Any, x: Any, s: Sites) -> Any:
    value = x[0]
    for seed in range(3):
        value = o.leaky(o.bias(o.dense(value, o.constant(_weights(seed, 8, 8))), o.constant(_weights(9, 8))), s[seed])
    return value


def _tensors(o: Any, x: Any, s: Sites) -> list[Any]:
    a = te.placeholder((4, 8), name="x0")
    slope = float(s[0])
    leaky = te.compute((4, 8), lambda i, j: te.if_then_else(a[i, j] > 0.0, a[i, j], a[i, j] * slope), name="leaky")
    return [a, te.compute((4, 8), lambda i, j: leaky[i, j] + 1.0, name="plus")]


def _product(o: Any, x: Any, s: Sites) -> Any:
    a, b = te.placeholder((4, 8), name="x0"), te.placeholder((8, 8), name="x1")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((4, 8), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="product")
    d = te.compute((4, 8), lambda i, j: c[i, j] * float(s[0]), name="scaled")
    return te.create_prim_func([a, b, d], name="main")


LOOPS: Final[dict[str, Callable[[Sequence[np.ndarray], Sites], np.ndarray]]] = {
    "te tensors": lambda x, s: np.where(x[0] > 0, x[0], x[0] * s[0]) + 1.0,
    "a PrimFunc": lambda x, s: (x[0] @ x[1]) * s[0],
}
_A, _B, _C = SLOPES[0], SLOPES[4], SLOPES[9]
_ONE, _PAIR = ((4, 8),), ((4, 8), (4, 8))

PROGRAMS: Final = (
    Program("leaky", _ONE, (_A,), lambda o, x, s: o.leaky(o.add(x[0], x[0]), s[0])),
    Program("two slopes", _ONE, (_A, _B), lambda o, x, s: o.leaky(o.add(o.leaky(x[0], s[0]), x[0]), s[1])),
    Program("two alike", _ONE, (_A, _B), _two_alike),
    Program("a shared kernel", _PAIR, (_A, "tanh"), _shared),
    Program("two outputs", _PAIR, (_A, "sigmoid"), _two_outputs),
    Program("residual", _ONE, (_A, "tanh"), _residual),
    Program("three layers", _ONE, (_A, _B, _C), _deep),
    Program("dense", _ONE, (_A,), lambda o, x, s: o.leaky(o.dense(x[0], o.constant(_weights(3, 6, 8))), s[0])),
    Program("bias", _ONE, (_A,), lambda o, x, s: o.leaky(o.bias(x[0], o.constant(_weights(4, 8))), s[0])),
    Program("softmax", _ONE, ("tanh", _A), lambda o, x, s: o.leaky(o.softmax(o.unary(x[0], s[0])), s[1])),
    Program("mean", _ONE, (_A, "abs"), lambda o, x, s: o.unary(o.mean(o.leaky(x[0], s[0]), 1), s[1])),
    Program("sum", _ONE, (_A, _B), lambda o, x, s: o.leaky(o.sum(o.leaky(x[0], s[0]), 0), s[1])),
    Program("product of sums", _PAIR, (_A, _B),
            lambda o, x, s: o.multiply(o.leaky(o.add(x[0], x[1]), s[0]), o.leaky(o.sum(x[0], 1), s[1]))),
    Program("transposed", _ONE, (_A, "negative"), lambda o, x, s: o.unary(o.transpose(o.leaky(x[0], s[0])), s[1])),
    Program("reshaped", _ONE, (_A, _B), lambda o, x, s: o.leaky(o.reshape(o.leaky(x[0], s[0]), (2, 16)), s[1])),
    Program("joined", _PAIR, (_A, _B), lambda o, x, s: o.concatenate([o.leaky(x[0], s[0]), o.leaky(x[1], s[1])])),
    Program("greater of two", _PAIR, (_A, "nn.relu"),
            lambda o, x, s: o.maximum(o.leaky(x[0], s[0]), o.unary(x[1], s[1]))),
    Program("pointwise", ((1, 4, 5, 5),), (_A, "tanh"),
            lambda o, x, s: o.unary(o.leaky(o.pointwise(x[0], o.constant(_weights(5, 6, 4, 1, 1))), s[0]), s[1])),
    Program("constants", _ONE, (_A, _B),
            lambda o, x, s: o.leaky(o.multiply(o.leaky(x[0], s[0]), o.constant(_weights(6, 4, 8))), s[1])),
    Program("scaled by a scalar", _ONE, (_A, "sigmoid"),
            lambda o, x, s: o.unary(o.multiply(o.leaky(x[0], s[0]), o.constant(np.array(1.5))), s[1])),
    Program("te tensors", _ONE, (_A,), _tensors, loops=True),
    Program("a PrimFunc", ((4, 8), (8, 8)), (_A,), _product, loops=True),
)  # fmt: skip
