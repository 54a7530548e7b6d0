"""Programs of any size: what compiling costs must grow with them, not with their square or two to their power.

`RELAY` and `TE` hold builders by name: each takes a size n and answers a relay function, or te tensors (inputs, then
outputs).  Twice n is twice the program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench import relay, te

SHAPE = (4, 8)


def _input(name: str = "x", shape: tuple[int, ...] = SHAPE) -> Any:
    return relay.var(name, shape=shape, dtype="float32")


def doubled_sums(n: int) -> Any:
    """x + x, n times over: as one expression it has 2**n leaves."""
    x = value = _input()
    for _ in range(n):
        value = relay.add(value, value)
    return relay.Function([x], value)


def squares(n: int) -> Any:
    """tanh(v) * v, n times over: what is read twice is costly."""
    x = value = _input()
    for _ in range(n):
        value = relay.multiply(relay.tanh(value), value)
    return relay.Function([x], value)


def fibonacci(n: int) -> Any:
    """Each value the sum of the two before it."""
    x = _input()
    one, other = x, relay.negative(x)
    for _ in range(n):
        one, other = other, relay.add(one, other)
    return relay.Function([x], other)


def elementwise(n: int) -> Any:
    """A chain of n operators of different kinds."""
    x = value = _input()
    for at in range(n):
        value = (relay.nn.relu, relay.negative, relay.tanh, relay.abs)[at % 4](value)
    return relay.Function([x], value)


def biased(n: int) -> Any:
    """n additions, each of a constant of its own."""
    x = value = _input()
    for at in range(n):
        value = relay.add(value, relay.const(np.full(SHAPE[1], at / 7 + 1, "float32")))
    return relay.Function([x], value)


def scaled(n: int) -> Any:
    """n additions and multiplications by scalars."""
    x = value = _input()
    for at in range(n):
        value = (relay.add, relay.multiply)[at % 2](value, relay.const(1 + at / 1000, "float32"))
    return relay.Function([x], value)


def concatenated(n: int) -> Any:
    """n inputs joined."""
    xs = [_input(f"x{at}") for at in range(n)]
    return relay.Function(xs, relay.concatenate(relay.Tuple(xs), axis=0))


def concatenated_one(n: int) -> Any:
    """One input joined n times."""
    x = _input()
    return relay.Function([x], relay.concatenate(relay.Tuple([x] * n), axis=0))


def concatenated_sums(n: int) -> Any:
    """n values of one input joined."""
    x = _input()
    values = [relay.add(x, relay.const(float(at), "float32")) for at in range(n)]
    return relay.Function([x], relay.concatenate(relay.Tuple(values), axis=0))


def stacked(n: int) -> Any:
    xs = [_input(f"x{at}") for at in range(n)]
    return relay.Function(xs, relay.stack(relay.Tuple(xs), axis=0))


def summed(n: int) -> Any:
    """n inputs added one after the other."""
    xs = [_input(f"x{at}") for at in range(n)]
    value = xs[0]
    for x in xs[1:]:
        value = relay.add(value, x)
    return relay.Function(xs, value)


def wide(n: int) -> Any:
    """One value read by n others, all of them results."""
    x = _input()
    shared = relay.tanh(x)
    return relay.Function([x], relay.Tuple([relay.add(shared, relay.const(float(at), "float32")) for at in range(n)]))


def split(n: int) -> Any:
    """n parts, all of them results."""
    x = _input("x", (n, 8))
    parts = relay.split(x, n, axis=0)
    return relay.Function([x], relay.Tuple([parts[at] for at in range(n)]))


def split_sum(n: int) -> Any:
    """n parts, added up."""
    x = _input("x", (n, 8))
    parts = relay.split(x, n, axis=0)
    value = parts[0]
    for at in range(1, n):
        value = relay.add(value, parts[at])
    return relay.Function([x], value)


def split_shifted(n: int) -> Any:
    """n parts, each with a constant of its own added, all of them results."""
    x = _input("x", (n, 8))
    parts = relay.split(x, n, axis=0)
    return relay.Function([x], relay.Tuple([relay.add(parts[at], relay.const(at / 3, "float32")) for at in range(n)]))


def softmaxes(n: int) -> Any:
    """A chain of n softmaxes, which fuse with nothing."""
    x = value = _input()
    for _ in range(n):
        value = relay.nn.softmax(value)
    return relay.Function([x], value)


def distinct_kernels(n: int) -> Any:
    """n sums of different shapes: no two share a kernel."""
    x = _input("x", (n + 1, 4))
    parts = [relay.sum(relay.strided_slice(x, [0, 0], [at + 1, 4]), axis=0) for at in range(n)]
    return relay.Function([x], relay.Tuple(parts))


def batch_norms(n: int) -> Any:
    """A chain of n batch norms."""
    x = value = _input("x", (1, 8, 4, 4))
    shared = [relay.const(np.linspace(0.5, 1.5, 8).astype("float32")) for _ in range(4)]
    for _ in range(n):
        value = relay.nn.batch_norm(value, *shared)[0]
    return relay.Function([x], value)


def convolutions(n: int) -> Any:
    """A chain of n equal convolutions, each with a bias and an activation."""
    x = value = _input("x", (1, 8, 6, 6))
    weight = relay.const(np.linspace(-1, 1, 8 * 8 * 9).reshape(8, 8, 3, 3).astype("float32"))
    bias = relay.const(np.linspace(-1, 1, 8).astype("float32"))
    for _ in range(n):
        value = relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(value, weight, padding=(1, 1)), bias))
    return relay.Function([x], value)


def pads(n: int) -> Any:
    """n paddings by one element, one after the other."""
    x = value = _input("x", (2,))
    for _ in range(n):
        value = relay.nn.pad(value, ((0, 1),))
    return relay.Function([x], value)


def slices(n: int) -> Any:
    """n slices, each without the first element of the one before."""
    x = value = _input("x", (n + 4,))
    for at in range(n):
        value = relay.strided_slice(value, [1], [n + 4 - at])
    return relay.Function([x], value)


def transposes(n: int) -> Any:
    """n transposes, each followed by an activation."""
    x = value = _input()
    for _ in range(n):
        value = relay.nn.relu(relay.transpose(value))
    return relay.Function([x], value)


def reductions(n: int) -> Any:
    """n times: subtract the mean."""
    x = value = _input()
    for _ in range(n):
        value = relay.subtract(value, relay.mean(value, axis=1, keepdims=True))
    return relay.Function([x], value)


def branches(n: int) -> Any:
    """n ifs, one after the other."""
    x, flag = _input(), relay.var("flag", shape=(), dtype="bool")
    value = x
    for _ in range(n):
        value = relay.If(flag, relay.tanh(value), relay.negative(value))
    return relay.Function([x, flag], value)


def nested_branches(n: int) -> Any:
    """n ifs, each in the branch of the one before."""
    x, flag = _input(), relay.var("flag", shape=(), dtype="bool")
    value = relay.tanh(x)
    for _ in range(n):
        value = relay.If(flag, value, relay.negative(x))
    return relay.Function([x, flag], value)


def lets(n: int) -> Any:
    """n let bindings, each read twice."""
    x = _input()
    names = [relay.var(f"v{at}") for at in range(n)]
    body = names[-1]
    for at in reversed(range(n)):
        before = names[at - 1] if at else x
        body = relay.Let(names[at], relay.add(before, before), body)
    return relay.Function([x], body)


def tuples(n: int) -> Any:
    """A tuple of n fields taken apart and put together again."""
    x = _input()
    held = relay.Tuple([relay.add(x, relay.const(float(at), "float32")) for at in range(n)])
    return relay.Function([x], relay.Tuple([relay.negative(relay.TupleGetItem(held, at)) for at in range(n)]))


def one_constant(n: int) -> Any:
    """One large constant read n times."""
    x = value = _input()
    shared = relay.const(np.linspace(0, 1, 32).reshape(SHAPE).astype("float32"))
    for _ in range(n):
        value = relay.maximum(relay.tanh(value), shared)
    return relay.Function([x], value)


def window(n: int) -> Any:
    """One pooling over a window of n elements."""
    x = _input("x", (1, 1, 1, 2 * n))
    return relay.Function([x], relay.nn.max_pool2d(x, pool_size=(1, n), strides=(1, 1)))


def resized(n: int) -> Any:
    """A chain of n resizes."""
    x = value = _input("x", (1, 1, 4, 4))
    for at in range(n):
        value = relay.image.resize2d(value, size=(4 + at % 2, 5), method="linear")
    return relay.Function([x], value)


def gathers(n: int) -> Any:
    """A chain of n gathers through one table."""
    x = value = _input()
    rows = relay.const(np.array([3, 1, 2, 0], "int64"))
    for _ in range(n):
        value = relay.tanh(relay.take(value, rows, axis=0))
    return relay.Function([x], value)


def scatters(n: int) -> Any:
    """n sums of two shifted halves: each element is read twice, at different places."""
    x = value = _input("x", (8,))
    for _ in range(n):
        value = relay.add(value, relay.reverse(value, axis=0))
    return relay.Function([x], value)


def broadcasts(n: int) -> Any:
    """n times: the outer sum, then its first row."""
    x = value = _input("x", (8,))
    for _ in range(n):
        grid = relay.add(relay.expand_dims(value, 1), relay.expand_dims(value, 0))
        value = relay.reshape(relay.strided_slice(grid, [0, 0], [1, 8]), (8,))
    return relay.Function([x], value)


RELAY: dict[str, Callable[[int], Any]] = {
    builder.__name__: builder
    for builder in (
        doubled_sums, squares, fibonacci, elementwise, biased, scaled, concatenated, concatenated_one,
        concatenated_sums, stacked, summed, wide, split, split_sum, split_shifted, softmaxes, distinct_kernels,
        batch_norms, convolutions, pads, slices, transposes, reductions, branches, nested_branches, lets, tuples,
        one_constant, window, resized, gathers, scatters, broadcasts,
    )
}  # fmt: skip


def _stage(value: Any, element: Any, name: str) -> Any:
    return te.compute(value.shape, lambda *i: element(value(*i)), name=name)


def te_chain(n: int) -> Any:
    """n stages, each reading the one before once."""
    x = value = te.placeholder(SHAPE, name="x")
    for at in range(n):
        value = _stage(value, lambda v: v + 1.0, f"s{at}")
    return [x, value]


def te_doubled(n: int) -> Any:
    """n stages, each reading the one before twice."""
    x = value = te.placeholder(SHAPE, name="x")
    for at in range(n):
        value = _stage(value, lambda v: v + v, f"s{at}")
    return [x, value]


def te_expression(n: int) -> Any:
    """One stage whose expression has n additions."""
    x = te.placeholder(SHAPE, name="x")

    def element(v: Any) -> Any:
        value = v
        for at in range(n):
            value = value * 2.0 + float(at)
        return value

    return [x, _stage(x, element, "s")]


def te_shared(n: int) -> Any:
    """One stage whose expression doubles a shared subexpression n times."""
    x = te.placeholder(SHAPE, name="x")

    def element(v: Any) -> Any:
        value = v
        for _ in range(n):
            value = value + value
        return value

    return [x, _stage(x, element, "s")]


def te_concatenated(n: int) -> Any:
    """n tensors joined by `topi.concatenate`."""
    from workbench import topi

    xs = [te.placeholder(SHAPE, name=f"x{at}") for at in range(n)]
    return [*xs, topi.concatenate(xs, axis=0)]


def te_consumers(n: int) -> Any:
    """One stage that n others read, all of them results."""
    x = te.placeholder(SHAPE, name="x")
    shared = _stage(x, lambda v: v * v, "shared")
    return [x, *(_stage(shared, lambda v, at=at: v + float(at), f"s{at}") for at in range(n))]


def te_summed(n: int) -> Any:
    """n tensors added by `topi.add`."""
    from workbench import topi

    xs = [te.placeholder(SHAPE, name=f"x{at}") for at in range(n)]
    value = xs[0]
    for x in xs[1:]:
        value = topi.add(value, x)
    return [*xs, value]


def te_reductions(n: int) -> Any:
    """n times: the sum of each row, taken from its elements."""
    x = value = te.placeholder(SHAPE, name="x")
    for at in range(n):
        k = te.reduce_axis((0, SHAPE[1]), name=f"k{at}")
        total = te.compute(SHAPE[:1], lambda i, v=value, k=k: te.sum(v[i, k], axis=k), name=f"sum{at}")
        value = te.compute(SHAPE, lambda i, j, v=value, r=total: v[i, j] - r[i], name=f"s{at}")
    return [x, value]


TE: dict[str, Callable[[int], Any]] = {
    builder.__name__: builder
    for builder in (
        te_chain,
        te_doubled,
        te_expression,
        te_shared,
        te_concatenated,
        te_consumers,
        te_summed,
        te_reductions,
    )
}
