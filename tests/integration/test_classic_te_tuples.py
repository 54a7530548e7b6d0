"""Scripts of the classic API on tensor expressions: operations of several results, argmax as a tuple reduction."""

from __future__ import annotations

from typing import Any

import numpy as np

import workbench
from workbench import te


def test_two_results() -> None:
    n = te.var("n")
    m = te.var("m")
    A0 = te.placeholder((m, n), name="A0")
    A1 = te.placeholder((m, n), name="A1")
    B0, B1 = te.compute((m, n), lambda i, j: (A0[i, j] + 2, A1[i, j] * 3), name="B")
    s = te.create_schedule(B0.op)
    text = str(workbench.lower(s, [A0, A1, B0, B1], simple_mode=True))
    assert "B_0[" in text and "B_1[" in text
    func = workbench.build(s, [A0, A1, B0, B1])
    a0, a1 = np.random.rand(3, 5).astype("float32"), np.random.rand(3, 5).astype("float32")
    b0, b1 = np.zeros_like(a0), np.zeros_like(a1)
    func(a0, a1, b0, b1)
    np.testing.assert_allclose(b0, a0 + 2, rtol=1e-6)
    np.testing.assert_allclose(b1, a1 * 3, rtol=1e-6)


def fcombine(x: Any, y: Any) -> Any:
    lhs = workbench.tir.Select((x[1] >= y[1]), x[0], y[0])
    rhs = workbench.tir.Select((x[1] >= y[1]), x[1], y[1])
    return lhs, rhs


def fidentity(t0: Any, t1: Any) -> Any:
    return workbench.tir.const(-1, t0), te.min_value(t1)


def test_argmax() -> None:
    argmax = te.comm_reducer(fcombine, fidentity, name="argmax")
    m = te.var("m")
    n = te.var("n")
    idx = te.placeholder((m, n), name="idx", dtype="int32")
    val = te.placeholder((m, n), name="val", dtype="int32")
    k = te.reduce_axis((0, n), "k")
    T0, T1 = te.compute((m,), lambda i: argmax((idx[i, k], val[i, k]), axis=k), name="T")
    s = te.create_schedule(T0.op)
    assert "T_0[" in str(workbench.lower(s, [idx, val, T0, T1], simple_mode=True))
    func = workbench.build(s, [idx, val, T0, T1])
    where = np.tile(np.arange(9, dtype="int32"), (4, 1))
    values = np.random.default_rng(0).permutation(36).reshape(4, 9).astype("int32")
    places, most = np.zeros(4, "int32"), np.zeros(4, "int32")
    func(where, values, places, most)
    np.testing.assert_array_equal(places, values.argmax(axis=1))
    np.testing.assert_array_equal(most, values.max(axis=1))


def test_argmax_in_two_stages() -> None:
    argmax = te.comm_reducer(fcombine, fidentity, name="argmax")
    idx = te.placeholder((4, 10), name="idx", dtype="int32")
    val = te.placeholder((4, 10), name="val", dtype="int32")
    k = te.reduce_axis((0, 10), "k")
    T0, T1 = te.compute((4,), lambda i: argmax((idx[i, k], val[i, k]), axis=k), name="T")
    s = te.create_schedule(T0.op)
    ko, _ = s[T0].split(T0.op.reduce_axis[0], factor=4)
    F0, F1 = s.rfactor(T0, ko)
    assert F0.op is F1.op and s[F0].op.num_outputs == 2
    s[F0].parallel(s[F0].op.axis[0])
    func = workbench.build(s, [idx, val, T0, T1])
    where = np.tile(np.arange(10, dtype="int32"), (4, 1))
    values = np.random.default_rng(1).permutation(40).reshape(4, 10).astype("int32")
    places, most = np.zeros(4, "int32"), np.zeros(4, "int32")
    func(where, values, places, most)
    np.testing.assert_array_equal(places, values.argmax(axis=1))
    np.testing.assert_array_equal(most, values.max(axis=1))


def test_compute_at_with_tuples() -> None:
    n = te.var("n")
    m = te.var("m")
    A0 = te.placeholder((m, n), name="A0")
    B0, B1 = te.compute((m, n), lambda i, j: (A0[i, j] + 2, A0[i, j] * 3), name="B")
    A1 = te.placeholder((m, n), name="A1")
    C = te.compute((m, n), lambda i, j: A1[i, j] + B0[i, j], name="C")
    s = te.create_schedule(C.op)
    s[B0].compute_at(s[C], C.op.axis[0])
    text = str(workbench.lower(s, [A0, A1, C], simple_mode=True))
    assert text.count("for ") == 3
    func = workbench.build(s, [A0, A1, C])
    a0, a1, c = (np.random.rand(3, 5).astype("float32") for _ in range(3))
    func(a0, a1, c)
    np.testing.assert_allclose(c, a1 + a0 + 2, rtol=1e-6)
    assert B1.op is B0.op
