"""Random relay programs of integers and bools: whatever compiles them must keep every bit.

    program, inputs = integer_program(seed)

Values stand at the ends of their dtypes more often than chance would have it.  Nothing divides by a constant zero.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.relay.ir import expr as e
from workbench.relay.ir.infer import infer_type

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
SHAPES = ((5,), (2, 6), (1, 4, 4, 4))
UNARY = ("negative", "abs", "nn.relu", "copy", "sign", "logical_not", "bitwise_not")
BINARY = ("add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor",
          "logical_and", "logical_or", "logical_xor", "floor_divide", "floor_mod", "mod", "divide")  # fmt: skip
COMPARE = ("less", "less_equal", "equal", "greater", "greater_equal", "not_equal")
REDUCE = ("sum", "max", "min", "prod", "argmax", "argmin", "all", "any")
LIMITS = (-3, -0.5, 0, 0.25, 2, 2.5, 200)
CONSTANTS = (1, 2, 3, 7, 100, -1, -2, -100)


class Builder:
    """Draws one program by a seed; `pool` holds the tensors that a next step may use."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.dtype = self.chance.choice((*INTEGERS, "int32", "int64", "bool"))
        self.shape = self.chance.choice(SHAPES)
        self.params = [relay.var(f"x{place}", shape=self.shape, dtype=self.dtype) for place in range(2)]
        self.pool: list[e.Expr] = list(self.params)

    def program(self) -> e.Function:
        steps = [self.unary, self.binary, self.binary, self.constant, self.constant, self.clip, self.cast, self.cast,
                 self.move, self.compare, self.choose, self.reduce]  # fmt: skip
        for _ in range(self.chance.randint(2, 9)):
            try:
                made = self.chance.choice(steps)(self.chance.choice(self.pool[-3:]))
                infer_type(made)
            except WorkbenchError:  # an operator that does not take such operands
                continue
            self.pool.append(made)
        results = [self.pool[-1], self.chance.choice(self.pool)]
        return relay.Function(self.params, e.Tuple(tuple(results)))

    def inputs(self) -> list[np.ndarray]:
        return [self._values() for _ in self.params]

    # --- steps ---

    def unary(self, x: e.Expr) -> e.Expr:
        return relay.op.call(self.chance.choice(UNARY), x)

    def binary(self, x: e.Expr) -> e.Expr:
        return relay.op.call(self.chance.choice(BINARY), x, self.chance.choice(self._like(x)))

    def compare(self, x: e.Expr) -> e.Expr:
        return relay.op.call(self.chance.choice(COMPARE), x, self.chance.choice(self._like(x)))

    def constant(self, x: e.Expr) -> e.Expr:
        kind = infer_type(x).dtype.to_numpy()
        value = self.chance.choice(CONSTANTS)
        constant = e.const(np.array(abs(value) if kind.kind in "ub" else value).astype(kind))
        pair = [x, constant]
        name = self.chance.choice(BINARY)
        if self.chance.random() < 0.3 and "div" not in name and "mod" not in name:
            pair.reverse()
        return relay.op.call(name, *pair)

    def clip(self, x: e.Expr) -> e.Expr:
        return relay.clip(x, a_min=self.chance.choice(LIMITS), a_max=self.chance.choice(LIMITS))

    def cast(self, x: e.Expr) -> e.Expr:
        middle = relay.cast(x, dtype=self.chance.choice(("float32", "float64"))) if self.chance.random() < 0.3 else x
        return relay.cast(middle, dtype=self.chance.choice((*INTEGERS, "bool")))

    def move(self, x: e.Expr) -> e.Expr:
        shape = infer_type(x).concrete_shape
        axes = self.chance.sample(range(len(shape)), len(shape))
        places = e.const(np.array([0, -1, 7]))
        moved = [
            lambda: relay.transpose(x, axes=tuple(axes)),
            lambda: relay.reshape(x, newshape=(-1,)),
            lambda: relay.reverse(x, axis=0),
            lambda: relay.concatenate([x, self.chance.choice(self._like(x))], axis=0),
            lambda: relay.strided_slice(x, begin=(0,), end=(2,), axes=(len(shape) - 1,)),
            lambda: relay.take(x, places, axis=0, mode=self.chance.choice(("clip", "wrap"))),
        ]
        return self.chance.choice(moved)()

    def choose(self, x: e.Expr) -> e.Expr:
        shape = infer_type(x).concrete_shape
        kinds = [(one, infer_type(one)) for one in self.pool]
        conditions = [one for one, kind in kinds if kind.dtype == "bool" and kind.concrete_shape == shape]
        condition = self.chance.choice(conditions) if conditions else relay.op.call("equal", x, x)
        return relay.where(condition, x, self.chance.choice(self._like(x)))

    def reduce(self, x: e.Expr) -> e.Expr:
        last = len(infer_type(x).concrete_shape) - 1
        return relay.op.call(self.chance.choice(REDUCE), x, axis=(last,), keepdims=True)

    # --- parts ---

    def _like(self, x: e.Expr) -> list[e.Expr]:
        kind = infer_type(x)
        return [one for one in self.pool if infer_type(one) == kind]

    def _values(self) -> np.ndarray:
        random_ = np.random.default_rng(self.chance.randrange(1 << 31))
        if self.dtype == "bool":
            return random_.integers(0, 2, self.shape).astype(bool)
        limits = np.iinfo(self.dtype)
        ends = np.array([limits.min, limits.max, limits.max - 1, limits.max // 2, limits.max // 3], self.dtype)
        some = random_.integers(max(limits.min, -5), 6, self.shape).astype(self.dtype)
        return np.where(random_.integers(0, 3, self.shape) == 0, random_.choice(ends, self.shape), some)


def integer_program(seed: int) -> tuple[e.Function, dict[str, Any]]:
    builder = Builder(seed)
    function = builder.program()
    return function, {param.name_hint: value for param, value in zip(builder.params, builder.inputs(), strict=True)}
