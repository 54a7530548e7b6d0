"""Scripts of the classic API on tensor expressions: each primitive of a stage on a small program, printed."""

from __future__ import annotations

import numpy as np

import workbench
from workbench import te

n = te.var("n")
m = te.var("m")


def test_elementwise_product() -> None:
    A = te.placeholder((m, n), name="A")
    B = te.placeholder((m, n), name="B")
    C = te.compute((m, n), lambda i, j: A[i, j] * B[i, j], name="C")
    s = te.create_schedule([C.op])
    assert str(workbench.lower(s, [A, B, C], simple_mode=True)).count("for ") == 1  # T.grid


def test_split() -> None:
    A = te.placeholder((m,), name="A")
    B = te.compute((m,), lambda i: A[i] * 2, name="B")
    s = te.create_schedule(B.op)
    _, inner = s[B].split(B.op.axis[0], factor=32)
    assert "32" in str(workbench.lower(s, [A, B], simple_mode=True)) and inner.dom.extent.value == 32

    B = te.compute((m,), lambda i: A[i], name="B")
    s = te.create_schedule(B.op)
    outer, _ = s[B].split(B.op.axis[0], nparts=32)
    assert "32" in str(workbench.lower(s, [A, B], simple_mode=True)) and outer.dom.extent.value == 32
    x, y = np.arange(77, dtype="float32"), np.zeros(77, "float32")
    workbench.build(s, [A, B])(x, y)
    np.testing.assert_array_equal(x, y)


def test_tile_fuse_reorder() -> None:
    A = te.placeholder((m, n), name="A")
    B = te.compute((m, n), lambda i, j: A[i, j], name="B")
    s = te.create_schedule(B.op)
    xo, yo, xi, yi = s[B].tile(B.op.axis[0], B.op.axis[1], x_factor=10, y_factor=5)
    assert s[B].leaf_iter_vars == [xo, yo, xi, yi] or len(s[B].leaf_iter_vars) == 4
    tiled = str(workbench.lower(s, [A, B], simple_mode=True))
    fused = s[B].fuse(xi, yi)
    assert fused.dom.extent.value == 50
    assert "50" in str(workbench.lower(s, [A, B], simple_mode=True)) and "50" not in tiled
    source, result = np.random.rand(23, 11).astype("float32"), np.zeros((23, 11), "float32")
    workbench.build(s, [A, B])(source, result)
    np.testing.assert_array_equal(source, result)

    s = te.create_schedule(B.op)
    xo, yo, xi, yi = s[B].tile(B.op.axis[0], B.op.axis[1], x_factor=10, y_factor=5)
    s[B].reorder(xi, yo, xo, yi)
    result[:] = 0
    workbench.build(s, [A, B])(source, result)
    np.testing.assert_array_equal(source, result)


def test_bind() -> None:
    A = te.placeholder((n,), name="A")
    B = te.compute(A.shape, lambda i: A[i] * 2, name="B")
    s = te.create_schedule(B.op)
    bx, tx = s[B].split(B.op.axis[0], factor=64)
    s[B].bind(bx, te.thread_axis("blockIdx.x"))
    s[B].bind(tx, te.thread_axis("threadIdx.x"))
    text = str(workbench.lower(s, [A, B], simple_mode=True))
    assert 'thread="blockIdx.x"' in text and 'thread="threadIdx.x"' in text


def test_virtual_threads() -> None:
    A = te.placeholder((64,), name="A")
    B = te.compute(A.shape, lambda i: A[i] * 2, name="B")
    s = te.create_schedule(B.op)
    vx, tx = s[B].split(B.op.axis[0], nparts=2)
    s[B].bind(vx, te.thread_axis((0, 2), "vthread", name="vx"))
    s[B].bind(tx, te.thread_axis((0, 32), "threadIdx.x"))
    assert 'thread="vthread"' in str(workbench.lower(s, [A, B], simple_mode=True))


def test_places_of_an_argument() -> None:
    """B is an argument too, as in the classic script: it is written as well, wherever it is computed."""
    A = te.placeholder((m,), name="A")
    B = te.compute((m,), lambda i: A[i] + 1, name="B")
    C = te.compute((m,), lambda i: B[i] * 2, name="C")

    def check(s: te.Schedule, loops: int) -> None:
        assert str(workbench.lower(s, [A, B, C], simple_mode=True)).count("for ") == loops
        x, y, z = np.arange(6, dtype="float32"), np.full(6, -7, "float32"), np.full(6, -7, "float32")
        workbench.build(s, [A, B, C])(x, y, z)
        np.testing.assert_array_equal(y, x + 1)
        np.testing.assert_array_equal(z, (x + 1) * 2)

    s = te.create_schedule(C.op)
    check(s, 2)
    s[B].compute_at(s[C], C.op.axis[0])
    check(s, 1)
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    check(s, 2)
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].compute_root()
    check(s, 2)


def test_places() -> None:
    A = te.placeholder((m,), name="A")
    B = te.compute((m,), lambda i: A[i] + 1, name="B")
    C = te.compute((m,), lambda i: B[i] * 2, name="C")
    x, y = np.arange(6, dtype="float32"), np.zeros(6, "float32")

    s = te.create_schedule(C.op)
    assert str(workbench.lower(s, [A, B, C], simple_mode=True)).count("for ") == 2
    s[B].compute_at(s[C], C.op.axis[0])
    assert str(workbench.lower(s, [A, C], simple_mode=True)).count("for ") == 1
    workbench.build(s, [A, C])(x, y)
    np.testing.assert_array_equal(y, (x + 1) * 2)

    s = te.create_schedule(C.op)
    s[B].compute_inline()
    inlined = str(workbench.lower(s, [A, C], simple_mode=True))
    assert inlined.count("for ") == 1 and "allocate" not in inlined
    workbench.build(s, [A, C])(x, y)
    np.testing.assert_array_equal(y, (x + 1) * 2)

    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].compute_root()
    assert str(workbench.lower(s, [A, C], simple_mode=True)).count("for ") == 2
    workbench.build(s, [A, C])(x, y)
    np.testing.assert_array_equal(y, (x + 1) * 2)
