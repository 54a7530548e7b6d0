"""Scripts of the classic API on tensor expressions: reductions, rfactor, reduction across threads, convolution."""

from __future__ import annotations

import numpy as np

import workbench
from workbench import te


def sums(n: int = 13, m: int = 37) -> tuple[np.ndarray, np.ndarray]:
    return np.random.rand(n, m).astype("float32"), np.zeros(n, "float32")


def test_sum_of_rows() -> None:
    n = te.var("n")
    m = te.var("m")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    assert "for k" in str(workbench.lower(s, [A, B], simple_mode=True))
    a, b = sums()
    workbench.build(s, [A, B])(a, b)
    np.testing.assert_allclose(b, a.sum(axis=1), rtol=1e-5)

    ko, ki = s[B].split(B.op.reduce_axis[0], factor=16)
    xo, xi = s[B].split(B.op.axis[0], factor=32)
    assert "32" in str(workbench.lower(s, [A, B], simple_mode=True))
    b[:] = 0
    workbench.build(s, [A, B])(a, b)
    np.testing.assert_allclose(b, a.sum(axis=1), rtol=1e-5)
    assert [axis.var.name for axis in s[B].leaf_iter_vars] == ["i.outer", "i.inner", "k.outer", "k.inner"]
    assert s[B].leaf_iter_vars[0] is xo and s[B].leaf_iter_vars[3] is ki and ko is not xi

    s[B].bind(xo, te.thread_axis("blockIdx.x"))
    s[B].bind(xi, te.thread_axis("threadIdx.x"))
    assert 'thread="threadIdx.x"' in str(workbench.lower(s, [A, B], simple_mode=True))


def test_factored_sum() -> None:
    n, m = 13, 37
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    _, ki = s[B].split(B.op.reduce_axis[0], factor=16)
    BF = s.rfactor(B, ki)
    assert "B_rf" in str(workbench.lower(s, [A, B], simple_mode=True))
    assert s[B].op.body and len(s[BF].op.axis) == 2
    a, b = sums()
    workbench.build(s, [A, B])(a, b)
    np.testing.assert_allclose(b, a.sum(axis=1), rtol=1e-5)


def test_factored_sum_across_threads() -> None:
    n, m = 128, 128
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    _, ki = s[B].split(B.op.reduce_axis[0], factor=16)
    BF = s.rfactor(B, ki)
    xo, xi = s[B].split(s[B].op.axis[0], factor=32)
    s[B].bind(xo, te.thread_axis("blockIdx.x"))
    s[B].bind(xi, te.thread_axis("threadIdx.y"))
    tx = te.thread_axis("threadIdx.x")
    s[B].bind(s[B].op.reduce_axis[0], tx)
    s[BF].compute_at(s[B], s[B].op.reduce_axis[0])
    s[B].set_store_predicate(tx.var.equal(0))
    text = s.script()
    assert 'thread="threadIdx.x"' in text and "store_predicate" in text
    assert "T.thread_binding" in str(workbench.lower(s, [A, B], simple_mode=True))


def test_convolution_by_reduction() -> None:
    Input = te.placeholder((16, 17), name="Input")
    Filter = te.placeholder((3, 3), name="Filter")
    di = te.reduce_axis((0, 3), name="di")
    dj = te.reduce_axis((0, 3), name="dj")
    Output = te.compute(
        (14, 15), lambda i, j: te.sum(Input[i + di, j + dj] * Filter[di, dj], axis=[di, dj]), name="Output"
    )
    s = te.create_schedule(Output.op)
    assert "for " in str(workbench.lower(s, [Input, Filter, Output], simple_mode=True))
    image, window = np.random.rand(16, 17).astype("float32"), np.random.rand(3, 3).astype("float32")
    out = np.zeros((14, 15), "float32")
    workbench.build(s, [Input, Filter, Output])(image, window, out)
    expected = sum(image[y : y + 14, x : x + 15] * window[y, x] for y in range(3) for x in range(3))
    np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_a_reducer_of_ones_own() -> None:
    n, m = te.var("n"), te.var("m")
    product = te.comm_reducer(lambda x, y: x * y, lambda t: workbench.tir.const(1, dtype=t), name="product")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    B = te.compute((n,), lambda i: product(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    a, b = sums(5, 7)
    workbench.build(s, [A, B])(a, b)
    np.testing.assert_allclose(b, a.prod(axis=1), rtol=1e-5)
