"""Scripts of the classic API on tensor expressions, with the package's name replaced in their imports: first steps.

A vector addition of symbolic length, scheduled, built, timed, saved and loaded; a matrix product step by step.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench
import workbench.testing
from workbench import te
from workbench.contrib import cc, utils


def test_vector_add(tmp_path: Path) -> None:
    tgt = workbench.target.Target(target="llvm", host="llvm")
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.placeholder((n,), name="B")
    C = te.compute(A.shape, lambda i: A[i] + B[i], name="C")
    s = te.create_schedule(C.op)
    fadd = workbench.build(s, [A, B, C], tgt, name="myadd")
    dev = workbench.device(tgt.kind.name, 0)
    n = 1024
    a = workbench.nd.array(np.random.uniform(size=n).astype(A.dtype), dev)
    b = workbench.nd.array(np.random.uniform(size=n).astype(B.dtype), dev)
    c = workbench.nd.array(np.zeros(n, dtype=C.dtype), dev)
    fadd(a, b, c)
    workbench.testing.assert_allclose(c.numpy(), a.numpy() + b.numpy())

    def seconds(func: Any) -> float:
        evaluator = func.time_evaluator(func.entry_name, dev, number=2)
        return evaluator(a, b, c).mean

    assert seconds(fadd) > 0
    s[C].parallel(C.op.axis[0])
    assert "T.parallel" in str(workbench.lower(s, [A, B, C], simple_mode=True))
    fadd_parallel = workbench.build(s, [A, B, C], tgt, name="myadd_parallel")
    fadd_parallel(a, b, c)
    workbench.testing.assert_allclose(c.numpy(), a.numpy() + b.numpy())

    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=4)
    s[C].parallel(outer)
    s[C].vectorize(inner)
    fadd_vector = workbench.build(s, [A, B, C], tgt, name="myadd_parallel")
    for length in (1024, 7):
        x, y = (np.random.uniform(size=length).astype(A.dtype) for _ in range(2))
        out = np.zeros(length, dtype=C.dtype)
        fadd_vector(x, y, out)
        workbench.testing.assert_allclose(out, x + y)
    assert "T.parallel" in str(workbench.lower(s, [A, B, C], simple_mode=True))

    temp = utils.tempdir()
    fadd.save(temp.relpath("myadd.o"))
    cc.create_shared(temp.relpath("myadd.so"), [temp.relpath("myadd.o")])
    assert temp.listdir() == ["myadd.o", "myadd.so"]
    fadd1 = workbench.runtime.load_module(temp.relpath("myadd.so"))
    fadd1(a, b, c)
    workbench.testing.assert_allclose(c.numpy(), a.numpy() + b.numpy())

    fadd_vector.export_library(str(tmp_path / "myadd.so"))
    loaded = workbench.runtime.load_module(str(tmp_path / "myadd.so"))
    loaded["myadd_parallel"](a, b, c)
    workbench.testing.assert_allclose(c.numpy(), a.numpy() + b.numpy())
    assert "define" in fadd_vector.get_source()


M = N = K = 64


def evaluate_operation(s: Any, vars: Any, target: Any, name: str) -> Any:
    """Build, run, compare with NumPy; the module."""
    func = workbench.build(s, vars, target=target, name="mmult")
    assert func
    dev = workbench.device(str(target), 0)
    a = workbench.nd.array(np.random.rand(M, K).astype("float32"), dev)
    b = workbench.nd.array(np.random.rand(K, N).astype("float32"), dev)
    c = workbench.nd.array(np.zeros((M, N), dtype="float32"), dev)
    func(a, b, c)
    workbench.testing.assert_allclose(c.numpy(), a.numpy() @ b.numpy(), rtol=1e-5)
    evaluator = func.time_evaluator(func.entry_name, dev, number=1)
    assert evaluator(a, b, c).mean > 0, name
    return func


def test_matrix_product_step_by_step() -> None:
    target = workbench.target.Target("llvm")
    bn, kfactor = 16, 4
    k = te.reduce_axis((0, K), "k")
    A = te.placeholder((M, K), name="A")
    B = te.placeholder((K, N), name="B")
    C = te.compute((M, N), lambda x, y: te.sum(A[x, k] * B[k, y], axis=k), name="C")
    s = te.create_schedule(C.op)
    evaluate_operation(s, [A, B, C], target, "none")

    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
    (kk,) = s[C].op.reduce_axis
    ko, ki = s[C].split(kk, factor=kfactor)
    s[C].reorder(xo, yo, ko, ki, xi, yi)
    evaluate_operation(s, [A, B, C], target, "blocking")

    s[C].vectorize(yi)
    evaluate_operation(s, [A, B, C], target, "vectorization")

    s = te.create_schedule(C.op)
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
    (kk,) = s[C].op.reduce_axis
    ko, ki = s[C].split(kk, factor=kfactor)
    s[C].reorder(xo, yo, ko, xi, ki, yi)
    s[C].vectorize(yi)
    evaluate_operation(s, [A, B, C], target, "loop permutation")

    packedB = te.compute((N / bn, K, bn), lambda x, y, z: B[y, x * bn + z], name="packedB")
    C = te.compute(
        (M, N),
        lambda x, y: te.sum(A[x, k] * packedB[y // bn, k, workbench.tir.indexmod(y, bn)], axis=k),
        name="C",
    )
    s = te.create_schedule(C.op)
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
    (kk,) = s[C].op.reduce_axis
    ko, ki = s[C].split(kk, factor=kfactor)
    s[C].reorder(xo, yo, ko, xi, ki, yi)
    s[C].vectorize(yi)
    x, _, z = s[packedB].op.axis
    s[packedB].vectorize(z)
    s[packedB].parallel(x)
    evaluate_operation(s, [A, B, C], target, "array packing")

    s = te.create_schedule(C.op)
    CC = s.cache_write(C, "global")
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
    s[CC].compute_at(s[C], yo)
    xc, yc = s[CC].op.axis
    (kk,) = s[CC].op.reduce_axis
    ko, ki = s[CC].split(kk, factor=kfactor)
    s[CC].reorder(ko, xc, ki, yc)
    s[CC].unroll(ki)
    s[CC].vectorize(yc)
    x, _, z = s[packedB].op.axis
    s[packedB].vectorize(z)
    s[packedB].parallel(x)
    evaluate_operation(s, [A, B, C], target, "block caching")

    s[C].parallel(xo)
    func = evaluate_operation(s, [A, B, C], target, "parallelization")
    text = str(workbench.lower(s, [A, B, C], simple_mode=True))
    assert text.count("T.parallel") == 2 and "T.ramp" in text
    assert "mmult" in func.get_source()


def test_objects_that_are_none(tmp_path: Path) -> None:
    for objects in ([], [tmp_path / "missing.o"], [Path(__file__)]):
        with pytest.raises(workbench.WorkbenchError) as caught:
            cc.create_shared(tmp_path / "library.so", objects)
        assert caught.value.code == "E-LINK-OBJECTS"
