"""Scripts of the classic API on tensor expressions: a matrix product on a CPU, from naive to parallel blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

import workbench
import workbench.testing
from workbench import te

M = K = N = 128
bn, kfactor = 32, 4
dtype = "float32"
target = "llvm"


def check(s: Any, args: Any, name: str) -> str:
    """Build, run, compare with NumPy, time; the text of the lowered program."""
    func = workbench.build(s, args, target=target, name=name)
    assert func
    dev = workbench.device(target, 0)
    a = workbench.nd.array(np.random.rand(M, K).astype(dtype), dev)
    b = workbench.nd.array(np.random.rand(K, N).astype(dtype), dev)
    c = workbench.nd.array(np.zeros((M, N), dtype=dtype), dev)
    func(a, b, c)
    workbench.testing.assert_allclose(c.numpy(), np.dot(a.numpy(), b.numpy()), rtol=1e-5)
    evaluator = func.time_evaluator(func.entry_name, dev, number=1)
    assert evaluator(a, b, c).mean > 0
    return str(workbench.lower(s, args, simple_mode=True))


def test_optimise_gemm() -> None:
    k = te.reduce_axis((0, K), "k")
    A = te.placeholder((M, K), name="A")
    B = te.placeholder((K, N), name="B")
    C = te.compute((M, N), lambda m, n: te.sum(A[m, k] * B[k, n], axis=k), name="C")

    s = te.create_schedule(C.op)
    assert "T.ramp" not in check(s, [A, B, C], "mmult")

    s = te.create_schedule(C.op)
    mo, no, mi, ni = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
    (kaxis,) = s[C].op.reduce_axis
    ko, ki = s[C].split(kaxis, factor=kfactor)
    s[C].reorder(mo, no, ko, ki, mi, ni)
    check(s, [A, B, C], "mmult")

    s[C].vectorize(ni)
    assert "T.ramp" in check(s, [A, B, C], "mmult")

    s = te.create_schedule(C.op)
    mo, no, mi, ni = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
    (kaxis,) = s[C].op.reduce_axis
    ko, ki = s[C].split(kaxis, factor=kfactor)
    s[C].reorder(mo, no, ko, mi, ki, ni)
    s[C].vectorize(ni)
    check(s, [A, B, C], "mmult")

    packedB = te.compute((N / bn, K, bn), lambda bigN, k, littleN: B[k, bigN * bn + littleN], name="packedB")
    C = te.compute(
        (M, N),
        lambda m, n: te.sum(A[m, k] * packedB[n // bn, k, workbench.tir.indexmod(n, bn)], axis=k),
        name="C",
    )
    s = te.create_schedule(C.op)
    mo, no, mi, ni = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
    (kaxis,) = s[C].op.reduce_axis
    ko, ki = s[C].split(kaxis, factor=kfactor)
    s[C].reorder(mo, no, ko, mi, ki, ni)
    s[C].vectorize(ni)
    bigN, _, littleN = s[packedB].op.axis
    s[packedB].vectorize(littleN)
    s[packedB].parallel(bigN)
    assert "T.parallel" in check(s, [A, B, C], "mmult")

    s = te.create_schedule(C.op)
    CC = s.cache_write(C, "global")
    mo, no, mi, ni = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
    s[CC].compute_at(s[C], no)
    mc, nc = s[CC].op.axis
    (kaxis,) = s[CC].op.reduce_axis
    ko, ki = s[CC].split(kaxis, factor=kfactor)
    s[CC].reorder(ko, mc, ki, nc)
    s[CC].vectorize(nc)
    s[CC].unroll(ki)
    bigN, _, littleN = s[packedB].op.axis
    s[packedB].vectorize(littleN)
    s[packedB].parallel(bigN)
    check(s, [A, B, C], "mmult")

    s[C].parallel(mo)
    assert check(s, [A, B, C], "mmult").count("T.parallel") == 2
