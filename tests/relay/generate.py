"""Random small relay programs for property tests: operator graphs with sharing, lets, ifs, closures and tuples.

`programs()` is a hypothesis strategy of functions of one or two tensors; `inputs_of(function, seed)` gives arrays for
it.  Values stay small (growth is squashed), so that results of equivalent programs can be compared closely.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from workbench import relay
from workbench.relay.ir import expr as e
from workbench.relay.ir import types as t
from workbench.relay.ir.infer import infer_type

PLANE = (1, 4, 4, 4)
MATRIX = (2, 6)


def constant(shape: tuple[int, ...], seed: int, low: float = -1.0, high: float = 1.0) -> e.Constant:
    return e.const(np.random.default_rng(seed).uniform(low, high, size=shape).astype("float32"))


class Builder:
    """Draws one program; `pool` holds the tensors that a next step may use."""

    def __init__(self, draw: Callable[[Any], Any], control: bool) -> None:
        self.draw = draw
        self.control = control
        self.names = itertools.count()
        self.depth = 0

    def number(self, most: int) -> int:
        return self.draw(st.integers(0, most))

    def choose(self, items: list[Any]) -> Any:
        return items[self.number(len(items) - 1)]

    def shape(self, expr: e.Expr) -> tuple[int, ...]:
        found = infer_type(expr)
        assert isinstance(found, t.TensorType)
        return found.concrete_shape

    # --- steps ---

    def unary(self, x: e.Expr, pool: list[e.Expr]) -> e.Expr:
        name = self.choose(["nn.relu", "tanh", "negative", "sigmoid", "copy", "abs", "nn.relu"])
        return relay.op.call(name, x)

    def binary(self, x: e.Expr, pool: list[e.Expr]) -> e.Expr:
        same = [other for other in pool if self.shape(other) == self.shape(x)]
        other = self.choose(same) if self.number(1) else e.const(self.choose([0.0, -0.0, 1.0, 0.5, -2.0]), "float32")
        return relay.op.call(self.choose(["add", "subtract", "multiply", "maximum"]), *self.flip(x, other))

    def flip(self, x: e.Expr, other: e.Expr) -> tuple[e.Expr, e.Expr]:
        return (x, other) if self.number(2) else (other, x)

    def clip(self, x: e.Expr, pool: list[e.Expr]) -> e.Expr:
        return relay.clip(x, a_min=self.choose([-0.5, 0.0, 0.25]), a_max=self.choose([0.2, 0.5, 2.0]))

    def move(self, x: e.Expr, pool: list[e.Expr]) -> e.Expr:
        shape = self.shape(x)
        axes = list(range(len(shape)))
        order = self.draw(st.permutations(axes))
        flat = int(np.prod(shape))
        moves: list[Callable[[], e.Expr]] = [
            lambda: relay.transpose(x, axes=tuple(order)),
            lambda: relay.reshape(x, newshape=(flat,)),
            lambda: relay.reshape(x, newshape=shape),
            lambda: relay.squeeze(relay.expand_dims(x, axis=0), axis=(0,)),
            lambda: relay.reverse(x, axis=0),
            lambda: relay.cast(relay.cast(x, dtype="float64"), dtype="float32"),
        ]
        return self.choose(moves)()

    def reduce(self, x: e.Expr, pool: list[e.Expr]) -> e.Expr:
        name = self.choose(["mean", "max", "min"])
        return relay.op.call(
            name, x, axis=(len(self.shape(x)) - 1,), keepdims=bool(self.number(1)) or len(self.shape(x)) == 1
        )

    def join(self, x: e.Expr, pool: list[e.Expr]) -> e.Expr:
        same = [other for other in pool if self.shape(other) == self.shape(x)]
        joined = relay.concatenate([x, self.choose(same)], axis=0)
        return joined if self.number(1) else relay.split(joined, indices_or_sections=2, axis=0)[self.number(1)]

    def plane(self, x: e.Expr, pool: list[e.Expr]) -> e.Expr:
        """What needs a tensor (1, 4, 4, 4)."""
        if self.shape(x) != PLANE:
            return self.unary(x, pool)
        seed = self.number(50)
        vectors = [constant((4,), seed + place) for place in range(3)]
        steps: list[Callable[[], e.Expr]] = [
            lambda: relay.nn.conv2d(x, constant((4, 4, 3, 3), seed, -0.2, 0.2), padding=(1, 1)),
            lambda: relay.nn.conv2d(x, constant((4, 1, 3, 3), seed, -0.4, 0.4), padding=(1, 1), groups=4),
            lambda: relay.multiply(x, constant((4, 1, 1), seed, 0.5, 1.5)),
            lambda: relay.add(x, constant((4, 1, 1), seed)),
            lambda: relay.nn.batch_norm(x, *vectors, constant((4,), seed, 0.5, 1.5))[0],
            lambda: relay.nn.max_pool2d(x, pool_size=(3, 3), padding=(1, 1)),
            lambda: self.padded(x, seed),
        ]  # fmt: skip
        return self.choose(steps)()

    def padded(self, x: e.Expr, seed: int) -> e.Expr:
        around = relay.nn.pad(x, pad_width=((0, 0), (0, 0), (1, 1), (0, 2)))
        return relay.nn.conv2d(around, constant((4, 4, 3, 3), seed, -0.2, 0.2))

    def matrix(self, x: e.Expr, pool: list[e.Expr]) -> e.Expr:
        """What needs a tensor (2, 6)."""
        if self.shape(x) != MATRIX:
            return self.unary(x, pool)
        seed = self.number(50)
        steps: list[Callable[[], e.Expr]] = [
            lambda: relay.nn.dense(x, constant((6, 6), seed, -0.4, 0.4)),
            lambda: relay.multiply(x, constant((6,), seed, 0.5, 1.5)),
            lambda: relay.nn.softmax(x),
            lambda: relay.nn.bias_add(x, constant((6,), seed), axis=-1),
        ]
        return self.choose(steps)()

    def tuple_item(self, x: e.Expr, pool: list[e.Expr]) -> e.Expr:
        pair = e.Tuple((x, self.choose(pool)))
        return e.TupleGetItem(pair, self.number(1))

    def branch(self, x: e.Expr, pool: list[e.Expr]) -> e.Expr:
        condition = self.choose([e.const(True), e.const(False), relay.less(relay.mean(x), e.const(0.1, "float32"))])
        made = e.If(condition, self.same_shape(x, pool), self.same_shape(x, pool))
        infer_type(made)
        return made

    def closure(self, x: e.Expr, pool: list[e.Expr]) -> e.Expr:
        param = e.Var(f"p{next(self.names)}", infer_type(x))
        function = e.Function((param,), self.same_shape(param, [*pool, param]))
        made = e.Call(function, (x,))
        infer_type(made)
        return made

    def let(self, x: e.Expr, pool: list[e.Expr]) -> e.Expr:
        variable = e.Var(self.choose(["x", "y", f"t{next(self.names)}"]))
        variable.set_type(infer_type(x))
        made = e.Let(variable, x, self.same_shape(variable, [*pool, variable]))
        infer_type(made)
        return made

    def same_shape(self, x: e.Expr, pool: list[e.Expr]) -> e.Expr:
        """A short computation from `x` of the same shape, which may use everything in the pool."""
        value = x
        for _ in range(self.number(2)):
            value = self.choose([self.unary, self.binary, self.clip, self.plane, self.matrix])(value, pool)
        if self.control and self.depth < 3 and self.number(4) == 0:
            self.depth += 1
            value = self.choose([self.branch, self.let, self.closure])(value, pool)
            self.depth -= 1
        return value

    def program(self) -> e.Function:
        shapes = [PLANE, MATRIX][: 1 + self.number(1)]
        params = [e.Var(f"in{index}", t.TensorType(shape)) for index, shape in enumerate(shapes)]
        pool: list[e.Expr] = list(params)
        steps = [self.unary, self.binary, self.binary, self.clip, self.move, self.reduce, self.join]
        steps += [self.plane, self.plane, self.matrix, self.tuple_item]
        if self.control:
            steps += [self.branch, self.let, self.closure]
        for _ in range(1 + self.number(7)):
            recent = pool[-3:] if self.number(2) else pool
            pool.append(self.choose(steps)(self.choose(recent), pool))
        results = (pool[-1], self.choose(pool)) if self.number(2) == 0 else (pool[-1],)
        body = e.Tuple(results) if len(results) > 1 else results[0]
        return e.Function(tuple(params), body)


@st.composite
def programs(draw: Callable[[Any], Any], control: bool = True) -> e.Function:
    """A random function; without `control` a pure graph of operators and tuples."""
    return Builder(draw, control).program()


def inputs_of(function: e.Function, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    found = [param.checked_type for param in function.params]
    return [
        rng.uniform(-1, 1, size=one.concrete_shape).astype("float32") for one in found if isinstance(one, t.TensorType)
    ]


def flat(value: Any) -> list[np.ndarray]:
    """The arrays of a result, tuples opened."""
    return [array for item in value for array in flat(item)] if isinstance(value, tuple) else [value]


def assert_close(found: Any, expected: Any, tolerance: float = 2e-5) -> None:
    for one, other in zip(flat(found), flat(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
