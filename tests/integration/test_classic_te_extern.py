"""The public tutorial of the classic API on external tensor functions, written anew from its sequence of calls."""

from __future__ import annotations

from typing import Any

import numpy as np

import workbench as tvm
import workbench.testing
from workbench import te
from workbench.contrib import cblas

N, L, M = 96, 64, 32


def operands(dtype: str = "float32") -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(7)
    return random.uniform(size=(N, L)).astype(dtype), random.uniform(size=(L, M)).astype(dtype)


def test_a_product_by_a_packed_function():
    assert tvm.get_global_func("tvm.contrib.cblas.matmul", True)
    bias = te.var("bias", dtype="float32")
    a = te.placeholder((N, L), name="A")
    b = te.placeholder((L, M), name="B")
    c = te.extern(
        (N, M),
        [a, b],
        lambda ins, outs: tvm.tir.call_packed("tvm.contrib.cblas.matmul", ins[0], ins[1], outs[0], False, False),
        name="C",
    )
    d = te.compute(c.shape, lambda i, j: c[i, j] + bias, name="D")
    s = te.create_schedule(d.op)

    dev = tvm.cpu(0)
    f = tvm.build(s, [a, b, d, bias], "llvm")
    left, right = operands()
    one, other = tvm.nd.array(left, dev), tvm.nd.array(right, dev)
    out = tvm.nd.array(np.zeros((N, M), dtype=d.dtype), dev)
    bb = 10.0
    f(one, other, out, bb)
    tvm.testing.assert_allclose(out.numpy(), np.dot(one.numpy(), other.numpy()) + 10, rtol=1e-5)


def test_the_wrapper_of_the_library():
    bias = te.var("bias", dtype="float32")
    a, b = te.placeholder((N, L), name="A"), te.placeholder((L, M), name="B")
    c = cblas.matmul(a, b)
    d = te.compute(c.shape, lambda i, j: c[i, j] + bias, name="D")
    s = te.create_schedule(d.op)
    s[d].parallel(d.op.axis[0])
    f = tvm.build(s, [a, b, d, bias], "llvm")
    left, right = operands()
    out = tvm.nd.array(np.zeros((N, M), np.float32))
    f(tvm.nd.array(left), tvm.nd.array(right), out, 3.0)
    tvm.testing.assert_allclose(out.numpy(), left @ right + 3, rtol=1e-5)


@tvm.register_func("tests.classic.my_tvm_addone", override=True)
def my_tvm_addone(x: Any, y: Any) -> None:
    """A Python function that compiled code calls back."""
    tvm.nd.array(x.numpy() + 1).copyto(y)


def test_a_python_function_is_called_back(capsys: Any):
    a = te.placeholder((16,), name="A")
    b = te.extern(
        a.shape,
        [a],
        lambda ins, outs: tvm.tir.call_packed("tests.classic.my_tvm_addone", ins[0], outs[0]),
        name="B",
    )
    s = te.create_schedule(b.op)
    f = tvm.build(s, [a, b], "llvm")
    one = tvm.nd.array(np.random.default_rng(0).uniform(size=(16,)).astype(a.dtype))
    out = tvm.nd.array(np.random.default_rng(1).uniform(size=(16,)).astype(b.dtype))
    f(one, out)
    tvm.testing.assert_allclose(out.numpy(), one.numpy() + 1, rtol=1e-5)


def test_stages_around_an_external_one_are_scheduled():
    a, b = te.placeholder((8, 8), name="A"), te.placeholder((8, 8), name="B")
    twice = te.compute((8, 8), lambda i, j: a[i, j] * 2.0, name="twice")
    c = cblas.matmul(twice, b)
    d = te.compute((8, 8), lambda i, j: c[i, j] - 1.0, name="D")
    s = te.create_schedule(d.op)
    s[twice].vectorize(twice.op.axis[1])
    _outer, inner = s[d].split(d.op.axis[1], factor=4)
    s[d].unroll(inner)
    f = tvm.build(s, [a, b, d], "llvm")
    left, right = (np.random.default_rng(seed).random((8, 8), np.float32) for seed in (0, 1))
    out = np.zeros((8, 8), np.float32)
    f(left, right, out)
    np.testing.assert_allclose(out, left * 2 @ right - 1, rtol=1e-5)
