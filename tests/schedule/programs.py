"""Small programs that schedules are tested on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench import te
from workbench.arith import build
from workbench.arith.nodes import Var
from workbench.tir import nodes as t
from workbench.tir.build import load, nest, point_region, seq, store


def matmul(n: int = 4, m: int = 6, k: int = 5) -> t.PrimFunc:
    """D = A @ B + 1"""
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    d = te.compute((n, m), lambda i, j: c[i, j] + build.const(1.0), name="D")
    return te.create_prim_func([a, b, d])


def plain_matmul(n: int = 4, m: int = 6, k: int = 5) -> t.PrimFunc:
    """C = A @ B"""
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    return te.create_prim_func([a, b, c])


def convolution(h: int = 5, w: int = 6, ci: int = 2, co: int = 3, kernel: int = 3, stride: int = 1) -> t.PrimFunc:
    """Padded convolution, bias and relu."""
    data, weight = te.placeholder((ci, h, w), name="X"), te.placeholder((co, ci, kernel, kernel), name="W")
    bias = te.placeholder((co,), name="bias")
    edge = kernel // 2
    pad = te.compute(
        (ci, h + 2 * edge, w + 2 * edge),
        lambda c, y, x: build.if_then_else(
            build.all_of(y >= edge, y < h + edge, x >= edge, x < w + edge), data[c, y - edge, x - edge], 0.0
        ),
        name="pad",
    )
    rc, ry, rx = (te.reduce_axis((0, e), name=n) for e, n in ((ci, "rc"), (kernel, "ry"), (kernel, "rx")))
    oh, ow = (h + 2 * edge - kernel) // stride + 1, (w + 2 * edge - kernel) // stride + 1
    conv = te.compute(
        (co, oh, ow),
        lambda o, y, x: te.sum(pad[rc, y * stride + ry, x * stride + rx] * weight[o, rc, ry, rx], axis=[rc, ry, rx]),
        name="conv",
    )
    relu = te.compute((co, oh, ow), lambda o, y, x: build.maximum(conv[o, y, x] + bias[o], 0.0), name="relu")
    return te.create_prim_func([data, weight, bias, relu])


def packed_convolution(h: int = 4, w: int = 5, ci: int = 2, co: int = 6, block: int = 4) -> t.PrimFunc:
    """A convolution in blocks of output channels, and the stage that transposes back."""
    blocks = -(-co // block)
    data = te.placeholder((ci, h + 2, w + 2), name="X")
    weight = te.placeholder((blocks, ci, 3, 3, block), name="W")
    rc, ry, rx = (te.reduce_axis((0, e), name=n) for e, n in ((ci, "rc"), (3, "ry"), (3, "rx")))
    conv = te.compute(
        (blocks, h, w, block),
        lambda b, y, x, o: te.sum(data[rc, y + ry, x + rx] * weight[b, rc, ry, rx, o], axis=[rc, ry, rx]),
        name="conv",
    )
    out = te.compute((co, h, w), lambda c, y, x: conv[c // block, y, x, c % block] * 2.0, name="out")
    return te.create_prim_func([data, weight, out])


def pooling(h: int = 6, w: int = 7) -> t.PrimFunc:
    """3 x 3 maxima with stride 2, then halved."""
    data = te.placeholder((2, h, w), name="X")
    ry, rx = te.reduce_axis((0, 3), name="ry"), te.reduce_axis((0, 3), name="rx")
    oh, ow = (h - 3) // 2 + 1, (w - 3) // 2 + 1
    pool = te.compute((2, oh, ow), lambda c, y, x: te.max(data[c, y * 2 + ry, x * 2 + rx], axis=[ry, rx]), name="pool")
    half = te.compute((2, oh, ow), lambda c, y, x: pool[c, y, x] * 0.5, name="half")
    return te.create_prim_func([data, half])


def argmax(n: int = 3, m: int = 7) -> t.PrimFunc:
    """The greatest value of each row and where it first stands: two values reduced together."""
    x, k = te.placeholder((n, m), name="X"), te.reduce_axis((0, m), name="k")

    def combine(one: Any, other: Any) -> Any:
        greater = one[1] > other[1]
        first = build.logical_or(greater, build.logical_and(one[1].equal(other[1]), one[0] < other[0]))
        return build.select(first, one[0], other[0]), build.select(greater, one[1], other[1])

    reducer = te.comm_reducer(combine, lambda i, v: (te.const(-1, i), te.min_value(v)), "argmax")
    made = te.compute((n,), lambda i: reducer((build.cast("int32", k.var), x[i, k]), axis=k), name="M")
    return te.create_prim_func([x, *made])


def softmax(n: int = 4, m: int = 7) -> t.PrimFunc:
    """Row maxima, shifted squares (exact in integers), their sums, and the differences."""
    x = te.placeholder((n, m), name="X")
    k1, k2 = te.reduce_axis((0, m), name="k1"), te.reduce_axis((0, m), name="k2")
    top = te.compute((n,), lambda i: te.max(x[i, k1], axis=k1), name="top")
    shifted = te.compute((n, m), lambda i, j: (x[i, j] - top[i]) * (x[i, j] - top[i]), name="shifted")
    total = te.compute((n,), lambda i: te.sum(shifted[i, k2], axis=k2), name="total")
    out = te.compute((n, m), lambda i, j: shifted[i, j] - total[i], name="out")
    return te.create_prim_func([x, out])


def chain(n: int = 5, m: int = 7) -> t.PrimFunc:
    """Elementwise stages, one of them read with a shift and transposed."""
    x = te.placeholder((n, m), name="X")
    one = te.compute((n, m), lambda i, j: x[i, j] + 1.0, name="one")
    two = te.compute((n, m), lambda i, j: one[i, j] * one[i, j], name="two")
    three = te.compute((n, m), lambda i, j: two[i, j] + build.if_then_else(j >= 1, two[i, j - 1], 0.0), name="three")
    four = te.compute((m, n), lambda i, j: three[j, i] - x[j, i], name="four")
    return te.create_prim_func([x, four])


def reshaped(n: int = 4, m: int = 6) -> t.PrimFunc:
    """A flattening between two stages."""
    x = te.placeholder((n, m), name="X")
    one = te.compute((n, m), lambda i, j: x[i, j] * 2.0, name="one")
    flat = te.compute((n * m,), lambda i: one[i // m, i % m] + 1.0, name="flat")
    return te.create_prim_func([x, flat])


def strided_reads(n: int = 9) -> t.PrimFunc:
    """Every second element read twice, with gaps."""
    x = te.placeholder((2 * n + 2,), name="X")
    one = te.compute((2 * n + 2,), lambda i: x[i] + 1.0, name="one")
    two = te.compute((n,), lambda i: one[i * 2] - one[i * 2 + 2], name="two")
    return te.create_prim_func([x, two])


def stencil(steps: int = 3, n: int = 8) -> t.PrimFunc:
    """In place, over time: X[i] = X[i - 1] + X[i + 1]; nothing but reordering nothing is legal."""
    x = t.Buffer("X", (build.const(n + 2),))
    time, i = Var("s"), Var("i")
    vt, vi = Var("vt"), Var("vi")
    left, right = load(x, vi), load(x, vi + 2)
    block = t.Block(
        "step",
        (
            t.IterVar(vt, t.Range(build.const(0), build.const(steps)), t.IterKind.SPATIAL),
            t.IterVar(vi, t.Range(build.const(0), build.const(n)), t.IterKind.SPATIAL),
        ),
        (point_region(x, (vi,)), point_region(x, (vi + 2,))),
        (point_region(x, (vi + 1,)),),
        (),
        None,
        store(x, left + right, vi + 1),
    )
    body = nest([(time, steps), (i, n)], t.BlockRealize((time, i), build.const(True), block))
    return in_root((x,), (), body)


def skewed(n: int = 5) -> t.PrimFunc:
    """B[i, j] = B[i - 1, j + 1] + A[i, j]: interchange is illegal, the inner loop alone is parallel."""
    source, target = (
        t.Buffer("A", (build.const(n), build.const(n))),
        t.Buffer("B", (build.const(n + 1), build.const(n + 1))),
    )
    i, j, vi, vj = Var("i"), Var("j"), Var("vi"), Var("vj")
    block = t.Block(
        "wave",
        tuple(t.IterVar(v, t.Range(build.const(0), build.const(n)), t.IterKind.SPATIAL) for v in (vi, vj)),
        (point_region(target, (vi, vj + 1)), point_region(source, (vi, vj))),
        (point_region(target, (vi + 1, vj)),),
        (),
        None,
        store(target, load(target, vi, vj + 1) + load(source, vi, vj), vi + 1, vj),
    )
    body = nest([(i, n), (j, n)], t.BlockRealize((i, j), build.const(True), block))
    return in_root((source, target), (), body)


def fused_pair(n: int = 6) -> t.PrimFunc:
    """Two blocks in one loop; the second reads what the first made one iteration before."""
    x, mid, out = (t.Buffer(name, (build.const(n + 1),)) for name in ("X", "M", "O"))
    i = Var("i")
    first, second = Var("v0"), Var("v1")
    one = t.Block(
        "make", (t.IterVar(first, t.Range(build.const(0), build.const(n)), t.IterKind.SPATIAL),),
        (point_region(x, (first,)),), (point_region(mid, (first + 1,)),), (), None,
        store(mid, load(x, first) * 2.0, first + 1),
    )  # fmt: skip
    two = t.Block(
        "use", (t.IterVar(second, t.Range(build.const(0), build.const(n)), t.IterKind.SPATIAL),),
        (point_region(mid, (second,)), point_region(mid, (second + 1,))), (point_region(out, (second,)),), (), None,
        store(out, build.if_then_else(second >= 1, load(mid, second), 0.0) + load(mid, second + 1), second),
    )  # fmt: skip
    body = nest(
        [(i, n)],
        seq(t.BlockRealize((i,), build.const(True), one), t.BlockRealize((i,), build.const(True), two)),
    )
    return in_root((x, out), (mid,), body)


def in_root(params: Sequence[t.Buffer], allocated: Sequence[t.Buffer], body: t.Stmt) -> t.PrimFunc:
    root = t.Block("root", (), (), (), tuple(allocated), None, body)
    return t.PrimFunc(tuple(params), t.BlockRealize((), build.const(True), root))


PROGRAMS: dict[str, Callable[..., t.PrimFunc]] = {
    "matmul": matmul, "plain_matmul": plain_matmul, "convolution": convolution,
    "packed_convolution": packed_convolution,
    "pooling": pooling, "softmax": softmax, "argmax": argmax, "chain": chain,
    "reshaped": reshaped, "strided_reads": strided_reads,
    "stencil": stencil, "skewed": skewed, "fused_pair": fused_pair,
}  # fmt: skip


def gram(n: int, k: int) -> t.PrimFunc:
    """A product of a transposed stage with its input, and a stage that reads both."""
    a = te.placeholder((n, k), name="A")
    back = te.compute((k, n), lambda i, j: a[j, i] - 1.0, name="back")
    r = te.reduce_axis((0, k), name="k")
    product = te.compute((n, n), lambda i, j: te.sum(back[r, i] * a[j, r], axis=r), name="gram")
    return te.create_prim_func([a, te.compute((n, n), lambda i, j: product[i, j] + back[0, j], name="out")])
