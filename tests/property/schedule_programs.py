"""Small programs with random extents that schedules are drawn on, each with its NumPy meaning.

Extents are 1 to 9, symbolic ones are bound at run time to small odd numbers; a program has at most `MOST_POINTS`
iteration points.  Data are small integers, so that results are equal to the last bit in any order of summation.

    case = drawn(random.Random(7))
    arrays = case.arrays(seed=1)                  # inputs, then outputs filled with -7
    interpret(case.func, *arrays)
    case.expected(case.arrays(seed=1))            # what NumPy makes of the same arrays
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tests.property import offset_programs as offset
from tests.property import order_programs as order
from tests.property import read_programs as read
from tests.property import sum_programs as sums
from tests.schedule import programs as fixed
from workbench import te
from workbench.arith import build
from workbench.arith.nodes import Var
from workbench.tir import nodes as t
from workbench.tir.build import load, nest, point_region, seq, store

MOST_POINTS = 4096
Arrays = list[np.ndarray]
Meaning = Callable[..., Any]
"""NumPy's version: input arrays -> the output, or a tuple of outputs."""


@dataclass(frozen=True)
class Case:
    """A program, the values of its shape variables, and what it means."""

    name: str
    func: t.PrimFunc
    meaning: Meaning
    sizes: dict[Var, int] = field(default_factory=dict[Var, int])
    in_place: bool = False
    """The first parameter is input and output."""
    below: dict[int, int] = field(default_factory=dict[int, int])
    """Parameters (by position) that hold indices 0 ... n - 1."""

    def _shape(self, buffer: t.Buffer) -> tuple[int, ...]:
        return tuple(value_of(extent, self.sizes) for extent in buffer.shape)

    @cached_property
    def outputs(self) -> list[int]:
        """The positions of parameters that are only written."""
        return [number for number in self.changed if number or not self.in_place]

    @cached_property
    def changed(self) -> list[int]:
        """The positions of parameters that are written."""
        written = {id(node.buffer) for node in _stores(self.func)}
        return [number for number, buffer in enumerate(self.func.params) if id(buffer) in written]

    def arrays(self, seed: int = 0) -> Arrays:
        """Small integers for inputs; what is written begins as -7."""
        made: Arrays = []
        generator = np.random.default_rng(seed)
        outputs = self.outputs
        for number, buffer in enumerate(self.func.params):
            shape, kind = self._shape(buffer), buffer.dtype.to_numpy()
            low, high = (0, self.below[number]) if number in self.below else (-4, 5)
            values = generator.integers(low, high, shape).astype(kind)
            made.append(np.full(shape, -7, kind) if number in outputs else values)
        return made

    def expected(self, arrays: Arrays) -> Arrays:
        """The parameters after a run, as NumPy has it."""
        outputs = self.outputs
        inputs = [array for number, array in enumerate(arrays) if number not in outputs]
        made = self.meaning(*[array.astype("float64") if array.dtype.kind == "f" else array for array in inputs])
        results = iter(made if isinstance(made, tuple) else (made,))
        return [
            next(results).astype(array.dtype) if number in self.changed else array
            for number, array in enumerate(arrays)
        ]


def _stores(func: t.PrimFunc) -> list[t.BufferStore]:
    from workbench.core.node import pre_order

    return [node for node in pre_order(func) if isinstance(node, t.BufferStore)]


def value_of(extent: Any, sizes: dict[Var, int]) -> int:
    """An extent as a number."""
    from workbench.arith.evaluate import evaluate

    value = getattr(extent, "value", None)
    if value is not None:
        return value
    return sizes[extent] if isinstance(extent, Var) else int(evaluate(extent, sizes))


class Sizes:
    """Draws extents: numbers, or now and then a variable bound to a small odd number."""

    def __init__(self, rng: random.Random, symbolic: bool) -> None:
        self.rng = rng
        self.symbolic = symbolic
        self.bound: dict[Var, int] = {}

    def __call__(self, low: int = 1, high: int = 9) -> int:
        return self.rng.randint(low, high)

    def extent(self, name: str, value: int) -> Any:
        """`value`, or a variable that stands for an odd number near it."""
        if not self.symbolic or self.rng.random() < 0.4:
            return value
        var = te.var(name)
        self.bound[var] = value | 1
        return var

    def number(self, extent: Any) -> int:
        """The value of an extent at run time."""
        return self.bound.get(extent, extent)


Maker = Callable[[Sizes], Case]


def matmul(size: Sizes) -> Case:
    n, m, k = size.extent("n", size()), size.extent("m", size()), size.extent("k", size(1, 7))
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    if size.rng.random() < 0.4:
        return Case("matmul", te.create_prim_func([a, b, c]), lambda x, y: x @ y, size.bound)
    d = te.compute((n, m), lambda i, j: c[i, j] * 2.0 + 1.0, name="D")
    return Case("matmul", te.create_prim_func([a, b, d]), lambda x, y: (x @ y) * 2 + 1, size.bound)


def batch_matmul(size: Sizes) -> Case:
    """In integers, the second operand transposed."""
    n, m, k, batch = size(1, 6), size(1, 6), size(1, 5), size.extent("b", size(1, 3))
    a, b = (te.placeholder((batch, rows, k), "int32", name=name) for rows, name in ((n, "A"), (m, "B")))
    r = te.reduce_axis((0, k), name="k")
    c = te.compute((batch, n, m), lambda g, i, j: te.sum(a[g, i, r] * b[g, j, r], axis=r), name="C")
    return Case("batch_matmul", te.create_prim_func([a, b, c]), lambda x, y: x @ y.transpose(0, 2, 1), size.bound)


def _windows(data: np.ndarray, kernel: int, stride: int) -> np.ndarray:
    views = np.lib.stride_tricks.sliding_window_view(data, (kernel, kernel), axis=(1, 2))
    return views[:, ::stride, ::stride]


def convolution(size: Sizes) -> Case:
    """Padding, convolution, bias and relu."""
    kernel, stride = size.rng.choice(((1, 1), (2, 1), (3, 1), (3, 2))), 0
    kernel, stride = kernel
    h, w, ci, co = size(3, 6), size(3, 6), size(1, 3), size(1, 4)
    while h * w * ci * co * kernel * kernel * 2 > MOST_POINTS:
        h, w, co = max(3, h - 1), max(3, w - 1), max(1, co - 1)
    edge = kernel // 2
    func = fixed.convolution(h, w, ci, co, kernel, stride)

    def meaning(data: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
        padded = np.pad(data, ((0, 0), (edge, edge), (edge, edge)))
        made = np.einsum("cyxab,ocab->oyx", _windows(padded, kernel, stride), weight)
        return np.maximum(made + bias[:, None, None], 0)

    return Case("convolution", func, meaning)


def packed_convolution(size: Sizes) -> Case:
    h, w, ci, co, block = size(1, 4), size(1, 4), size(1, 2), size(1, 6), size.rng.choice((2, 3, 4))

    def meaning(data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        made = np.einsum("cyxab,gcabo->gyxo", _windows(data, 3, 1), weight)
        return made.transpose(0, 3, 1, 2).reshape(-1, h, w)[:co] * 2

    return Case("packed_convolution", fixed.packed_convolution(h, w, ci, co, block), meaning)


def pooling(size: Sizes) -> Case:
    h, w = size(3, 9), size(3, 9)
    return Case("pooling", fixed.pooling(h, w), lambda x: _windows(x, 3, 2).max(axis=(3, 4)) * 0.5)


def average(size: Sizes) -> Case:
    """Sums over windows with a stride of the kernel, on a symbolic number of rows."""
    rows, width, kernel = size.extent("n", size(1, 7)), size(1, 4), size(1, 3)
    x = te.placeholder((rows, width * kernel), name="X")
    r = te.reduce_axis((0, kernel), name="r")
    pool = te.compute((rows, width), lambda i, j: te.sum(x[i, j * kernel + r], axis=r), name="pool")
    out = te.compute((rows, width), lambda i, j: pool[i, j] - x[i, j * kernel], name="out")

    def meaning(data: np.ndarray) -> np.ndarray:
        grouped = data.reshape(len(data), width, kernel)
        return grouped.sum(axis=2) - grouped[:, :, 0]

    return Case("average", te.create_prim_func([x, out]), meaning, size.bound)


def softmax(size: Sizes) -> Case:
    n, m = size.extent("n", size(1, 6)), size.extent("m", size(1, 9))

    def meaning(x: np.ndarray) -> np.ndarray:
        shifted = (x - x.max(axis=1, keepdims=True)) ** 2
        return shifted - shifted.sum(axis=1, keepdims=True)

    return Case("softmax", fixed.softmax(n, m), meaning, size.bound)


def chain(size: Sizes) -> Case:
    n, m = size.extent("n", size()), size.extent("m", size())

    def meaning(x: np.ndarray) -> np.ndarray:
        two = (x + 1) ** 2
        three = two + np.pad(two, ((0, 0), (1, 0)))[:, :-1]
        return (three - x).T

    return Case("chain", fixed.chain(n, m), meaning, size.bound)


def reshaped(size: Sizes) -> Case:
    return Case("reshaped", fixed.reshaped(size(1, 7), size(1, 7)), lambda x: x.reshape(-1) * 2 + 1)


def strided_reads(size: Sizes) -> Case:
    n = size()
    return Case("strided_reads", fixed.strided_reads(n), lambda x: x[0 : 2 * n : 2] - x[2 : 2 * n + 2 : 2])


def blur(size: Sizes) -> Case:
    """Two stencils of three points, one after the other, the first needed with a margin."""
    h, w = size.extent("h", size(1, 8)), size.extent("w", size(1, 8))
    x = te.placeholder((h + 2, w + 2), name="X")
    across = te.compute((h + 2, w), lambda i, j: x[i, j] + x[i, j + 1] + x[i, j + 2], name="across")
    down = te.compute((h, w), lambda i, j: across[i, j] + across[i + 1, j] - across[i + 2, j], name="down")

    def meaning(data: np.ndarray) -> np.ndarray:
        made = data[:, :-2] + data[:, 1:-1] + data[:, 2:]
        return made[:-2] + made[1:-1] - made[2:]

    return Case("blur", te.create_prim_func([x, down]), meaning, size.bound)


def triangle(size: Sizes) -> Case:
    """A reduction with a condition: sums up to the diagonal."""
    n, m = size(1, 7), size(1, 7)
    x = te.placeholder((n, m), name="X")
    r = te.reduce_axis((0, m), name="k")
    below = te.compute((n,), lambda i: te.sum(x[i, r], axis=r, where=r <= i), name="below")
    out = te.compute((n,), lambda i: below[i] + x[i, 0], name="out")
    return Case("triangle", te.create_prim_func([x, out]), lambda data: np.tril(data).sum(axis=1) + data[:, 0])


def argmax(size: Sizes) -> Case:
    """The greatest value and its place: one reduction of two values.  Of equal values the first, in any order."""
    n, m = size.extent("n", size(1, 6)), size(1, 8)
    x = te.placeholder((n, m), name="X")

    def better(left: Sequence[Any], right: Sequence[Any]) -> tuple[Any, Any]:
        first = build.any_of(left[1] > right[1], build.all_of(build.equal(left[1], right[1]), left[0] < right[0]))
        return build.select(first, left[0], right[0]), build.select(first, left[1], right[1])

    reducer = te.comm_reducer(better, lambda place, value: (build.const(-1, place), te.min_value(value)), name="argmax")
    r = te.reduce_axis((0, m), name="k")
    where, most = te.compute((n,), lambda i: reducer((r.var, x[i, r]), axis=r), name="best")
    out = te.compute((n,), lambda i: most[i] * 2.0, name="twice")
    return Case(
        "argmax", te.create_prim_func([x, where, out]), lambda data: (data.argmax(1), data.max(1) * 2), size.bound
    )


def horner(size: Sizes) -> Case:
    """A reduction whose order matters: (held * 2 + value), neither associative nor commutative."""
    n, k, j = size(1, 5), size(1, 4), size(1, 3)
    x = te.placeholder((n, k, j), name="X")
    reducer = te.comm_reducer(lambda held, value: held * 2.0 + value, lambda kind: build.const(0, kind), name="horner")
    outer, inner = te.reduce_axis((0, k), name="k"), te.reduce_axis((0, j), name="j")
    made = te.compute((n,), lambda i: reducer(x[i, outer, inner], axis=[outer, inner]), name="made")
    out = te.compute((n,), lambda i: made[i] - x[i, 0, 0], name="out")

    def meaning(data: np.ndarray) -> np.ndarray:
        flat = data.reshape(n, -1)
        powers = 2.0 ** np.arange(flat.shape[1])[::-1]
        return flat @ powers - data[:, 0, 0]

    return Case("horner", te.create_prim_func([x, out]), meaning)


def last_set(size: Sizes) -> Case:
    """A reduction that may be bracketed in any way, in this order only: the last value that is not 0."""
    n, k, j = size(1, 5), size(1, 4), size(1, 3)
    x = te.placeholder((n, k, j), name="X")
    reducer = te.comm_reducer(
        lambda held, value: build.select(build.equal(value, 0.0), held, value),
        lambda kind: build.const(0, kind),
        name="last_set",
    )
    outer, inner = te.reduce_axis((0, k), name="k"), te.reduce_axis((0, j), name="j")
    made = te.compute((n,), lambda i: reducer(x[i, outer, inner], axis=[outer, inner]), name="made")
    out = te.compute((n,), lambda i: made[i] + 1.0, name="out")

    def meaning(data: np.ndarray) -> np.ndarray:
        rows = data.reshape(n, -1)
        return np.array([next((value for value in row[::-1] if value), 0.0) for row in rows]) + 1

    return Case("last_set", te.create_prim_func([x, out]), meaning)


def gather(size: Sizes) -> Case:
    """Rows chosen by data: nothing affine about it."""
    n, m, rows = size(1, 6), size(1, 5), size(1, 6)
    x, index = te.placeholder((n, m), name="X"), te.placeholder((rows,), "int64", name="I")
    twice = te.compute((n, m), lambda i, j: x[i, j] * 2.0, name="twice")
    out = te.compute((rows, m), lambda i, j: twice[index[i], j] + 1.0, name="out")
    return Case("gather", te.create_prim_func([x, index, out]), lambda x, i: x[i] * 2 + 1, below={1: n})


def transposed(size: Sizes) -> Case:
    """A product of a transposed stage: producers and consumers run in different orders."""
    n, k = size(1, 6), size(1, 6)
    a = te.placeholder((n, k), name="A")
    back = te.compute((k, n), lambda i, j: a[j, i] - 1.0, name="back")
    r = te.reduce_axis((0, k), name="k")
    gram = te.compute((n, n), lambda i, j: te.sum(back[r, i] * a[j, r], axis=r), name="gram")
    out = te.compute((n, n), lambda i, j: gram[i, j] + back[0, j], name="out")
    return Case("transposed", te.create_prim_func([a, out]), lambda x: (x - 1) @ x.T + (x[:, 0] - 1))


def stencil(size: Sizes) -> Case:
    """In place, over time: X[i] = X[i - 1] + X[i + 1]."""
    steps, n = size(1, 4), size(1, 8)

    def meaning(x: np.ndarray) -> np.ndarray:
        made = x.copy()
        for _ in range(steps):
            for i in range(n):
                made[i + 1] = made[i] + made[i + 2]
        return made

    return Case("stencil", fixed.stencil(steps, n), meaning, in_place=True)


def skewed(size: Sizes) -> Case:
    n = size(1, 6)

    def meaning(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        made = y.copy()
        for i in range(n):
            made[i + 1, :n] = made[i, 1:] + x[i]
        return made

    func = fixed.skewed(n)
    func = func.replace(params=(func.params[1], func.params[0]))
    return Case("skewed", func, lambda y, x: meaning(x, y), in_place=True)


def fused_pair(size: Sizes) -> Case:
    """Two blocks in one loop; the last element of the output is never written."""
    n = size(1, 8)

    def meaning(x: np.ndarray) -> np.ndarray:
        made = np.full(n + 1, -7.0)
        made[:n] = x[:n] * 2
        made[1:n] += x[: n - 1] * 2
        return made

    return Case("fused_pair", fixed.fused_pair(n), meaning)


def scan(size: Sizes) -> Case:
    """A recurrence over time: S[0] = X[0], S[t] = S[t - 1] + X[t], then an output of it."""
    steps, n = size(2, 6), size(1, 7)
    x, state, out = (t.Buffer(name, (build.const(steps), build.const(n))) for name in ("X", "S", "O"))
    time, i, j, vt, vi, vj = (Var(name) for name in ("t", "i", "j", "vt", "vi", "vj"))
    zero = build.const(0)

    def spatial(var: Var, low: int, extent: int) -> t.IterVar:
        return t.IterVar(var, t.Range(build.const(low), build.const(extent)), t.IterKind.SPATIAL)

    first = t.Block(
        "first", (spatial(vj, 0, n),), (point_region(x, (zero, vj)),), (point_region(state, (zero, vj)),), (), None,
        store(state, load(x, zero, vj), zero, vj),
    )  # fmt: skip
    step = t.Block(
        "step", (spatial(vt, 1, steps - 1), spatial(vi, 0, n)),
        (point_region(state, (vt - 1, vi)), point_region(x, (vt, vi))), (point_region(state, (vt, vi)),), (), None,
        store(state, load(state, vt - 1, vi) + load(x, vt, vi), vt, vi),
    )  # fmt: skip
    vo, vp, o, p = Var("vo"), Var("vp"), Var("o"), Var("p")
    last = t.Block(
        "last", (spatial(vo, 0, steps), spatial(vp, 0, n)), (point_region(state, (vo, vp)),),
        (point_region(out, (vo, vp)),), (), None, store(out, load(state, vo, vp) * 2.0, vo, vp),
    )  # fmt: skip
    true = build.const(True)
    body = seq(
        nest([(j, n)], t.BlockRealize((j,), true, first)),
        nest([(time, steps - 1), (i, n)], t.BlockRealize((time + 1, i), true, step)),
        nest([(o, steps), (p, n)], t.BlockRealize((o, p), true, last)),
    )
    return Case("scan", fixed.in_root((x, out), (state,), body), lambda data: data.cumsum(axis=0) * 2)


def te_scan(size: Sizes) -> Case:
    """The same by te.scan, the update in one stage or two, the extents symbolic now and then."""
    steps, n = size(2, 6), size.extent("n", size(1, 7))
    x = te.placeholder((steps, n), name="X")
    state = te.placeholder((steps, n), name="S")
    first = te.compute((1, n), lambda _, i: x[0, i], name="first")
    twice = size.rng.random() < 0.6
    before = te.compute((steps, n), lambda t, i: state[t - 1, i] * 2.0, name="twice") if twice else None
    update = te.compute(
        (steps, n), lambda t, i: (before[t, i] if before is not None else state[t - 1, i]) + x[t, i], name="update"
    )
    made = te.scan(first, update, state, inputs=[x], name="scan")
    out = te.compute((steps, n), lambda t, i: made[t, i] - x[t, i], name="out")

    def meaning(data: np.ndarray) -> np.ndarray:
        held = data.copy()
        for time in range(1, len(data)):
            held[time] += held[time - 1] * (2 if twice else 1)
        return held - data

    return Case("te_scan", te.create_prim_func([x, out]), meaning, size.bound)


def repeated(size: Sizes) -> Case:
    n, times = size(1, 6), size(2, 3)
    return Case("repeated", *offset.repeated(n, times, size.rng.choice((f"i // {times}", f"i % {n}"))), in_place=True)


def partial_sum(size: Sizes) -> Case:
    k = size(1, 7)
    return Case("partial_sum", *sums.partial_sum(size(1, 5), k, size(1, k)))


def halo(size: Sizes) -> Case:
    return Case("halo", *read.halo(size.extent("n", size(1, 9))), size.bound)


def _of(program: Callable[..., tuple[t.PrimFunc, Meaning]], *bounds: tuple[int, int], in_place: bool = False) -> Maker:
    """Draws the extents of a program, each within its bounds."""

    def maker(size: Sizes) -> Case:
        func, meaning = program(*(size(low, high) for low, high in bounds))
        return Case(program.__name__, func, meaning, in_place=in_place)

    maker.__name__ = program.__name__
    return maker


MAKERS: dict[str, Maker] = {
    maker.__name__: maker
    for maker in (
        matmul, batch_matmul, convolution, packed_convolution, pooling, average, softmax, chain, reshaped,
        strided_reads, blur, triangle, argmax, horner, last_set, gather, transposed, stencil, skewed, fused_pair,
        scan, te_scan,
        _of(offset.shifted, (1, 8)),
        _of(offset.outer_sum, (2, 7)),
        _of(offset.interleaved, (1, 4), (1, 6)),
        _of(offset.column, (1, 7), (1, 7)),
        _of(offset.partial, (1, 6), (1, 6)),
        repeated,
        _of(offset.rewritten, (1, 8)),
        partial_sum,
        _of(sums.skewed_sum, (1, 5), (1, 5)),
        _of(offset.short, (2, 8)),
        _of(offset.upsampled, (1, 6)),
        _of(offset.banked, (5, 9)),
        _of(offset.sharpened, (1, 7)),
        _of(offset.odd_elements, (2, 9)),
        _of(order.exchange, (1, 7), in_place=True),
        _of(sums.continued, (1, 5), (2, 6)),
        _of(order.backwards, (2, 8)),
        _of(order.staggered, (1, 4), (1, 4)),
        _of(sums.reversed_sum, (1, 5), (2, 6)),
        _of(sums.short_sum, (1, 5), (2, 6)),
        _of(order.recomputed, (1, 4), (1, 6)),
        _of(sums.running_sum, (1, 4), (1, 6)),
        _of(sums.lagging_sum, (1, 4), (1, 6)),
        _of(sums.sum_of_sums, (1, 5), (1, 5)),
        _of(sums.summed_again, (1, 3), (1, 4), (1, 4), (0, 1)),
        _of(order.scratch, (1, 4), (1, 6)),
        _of(order.revisited, (1, 6)),
        _of(order.folded, (1, 8)),
        _of(read.flipped, (1, 9)),
        _of(read.diagonal, (1, 7)),
        halo,
        _of(read.late, (1, 8)),
        _of(read.two_results, (1, 5), (1, 5)),
        _of(order.ragged, (1, 4), (2, 4)),
        _of(sums.tailed_sum, (1, 5), (1, 7)),
    )
}  # fmt: skip
COMMON = (
    "matmul", "convolution", "chain", "softmax", "blur", "transposed", "argmax", "rewritten", "column", "outer_sum",
)  # fmt: skip
"""Drawn twice as often: their structure leaves more to do."""


def drawn(rng: random.Random, name: str | None = None) -> Case:
    """A program with random extents; one in three of those that can has symbolic ones."""
    chosen = name or rng.choice((*MAKERS, *COMMON))
    return MAKERS[chosen](Sizes(rng, rng.random() < 1 / 3))
