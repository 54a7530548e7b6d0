"""The public topi scripts of the classic API: only the lines of import are changed; numbers against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as tvm
from workbench import te, topi


def test_row_sums_by_hand_and_by_topi() -> None:
    """te by hand, and one topi call with its schedule."""
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    assert "for i in" in str(tvm.lower(s, [A, B], simple_mode=True))
    C = topi.sum(A, axis=1)
    ts = te.create_schedule(C.op)
    a = np.random.default_rng(0).standard_normal((5, 7)).astype("float32")
    for schedule, out in ((s, B), (ts, C)):
        function = tvm.build(schedule, [A, out], "llvm")
        result = tvm.nd.array(np.zeros(5, "float32"))
        function(tvm.nd.array(a), result)
        np.testing.assert_allclose(result.numpy(), a.sum(1), rtol=1e-5)


def test_operators_of_whole_tensors_and_a_reduction() -> None:
    x, y = 100, 10
    a, b = te.placeholder((x, y, y), name="a"), te.placeholder((y, y), name="b")
    c = a + b
    d = a * b
    e = topi.elemwise_sum([c, d])
    f = e / 2.0
    g = topi.sum(f)
    with tvm.target.Target("cuda"):
        sg = topi.cuda.schedule_reduce(g)
    assert "for k" in str(tvm.lower(sg, [a, b, g], simple_mode=True)), "one element: nothing to give to threads"
    with tvm.target.Target("llvm"):
        cpu = topi.x86.schedule_reduce(g)
    function = tvm.build(cpu, [a, b, g], "llvm")
    rng = np.random.default_rng(1)
    one, other = rng.uniform(size=(x, y, y)).astype("float32"), rng.uniform(size=(y, y)).astype("float32")
    result = tvm.nd.array(np.zeros(g.shape, "float32"))
    function(tvm.nd.array(one), tvm.nd.array(other), result)
    expected = np.sum(np.add(one + other, one.astype("float64") * other) / 2.0)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4)


@pytest.mark.parametrize("target", ["llvm", "cuda"])
def test_softmax(target: str) -> None:
    tarray = te.placeholder((512, 512), name="tarray")
    softmax = topi.nn.softmax(tarray)
    with tvm.target.Target(target):
        schedule = (topi.cuda if target == "cuda" else topi.x86).schedule_softmax(softmax)
    text = str(tvm.lower(schedule, [tarray, softmax], simple_mode=True))
    assert ("blockIdx.x" if target == "cuda" else "T.parallel") in text
    if target == "llvm":
        data = np.random.default_rng(2).standard_normal((512, 512)).astype("float32")
        result = tvm.nd.array(np.zeros_like(data))
        tvm.build(schedule, [tarray, softmax], "llvm")(tvm.nd.array(data), result)
        shifted = np.exp(data.astype("float64") - data.max(1, keepdims=True))
        np.testing.assert_allclose(result.numpy(), shifted / shifted.sum(1, keepdims=True), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("target", ["llvm", "cuda"])
def test_convolution_and_relu_fused(target: str) -> None:
    data, kernel = te.placeholder((1, 3, 24, 20)), te.placeholder((10, 3, 5, 5))
    with tvm.target.Target(target):
        conv = topi.nn.conv2d(data, kernel, strides=1, padding=2, dilation=1)
        out = topi.nn.relu(conv)
        module = topi.cuda if target == "cuda" else topi.x86
        sconv = module.schedule_conv2d_nchw(out)
    text = str(tvm.lower(sconv, [data, kernel, out], simple_mode=True))
    assert ("threadIdx.x" if target == "cuda" else "T.parallel") in text
    if target == "llvm":
        rng = np.random.default_rng(3)
        x, w = (rng.standard_normal(shape).astype("float32") for shape in ((1, 3, 24, 20), (10, 3, 5, 5)))
        result = tvm.nd.array(np.zeros((1, 10, 24, 20), "float32"))
        tvm.build(sconv, [data, kernel, out], "llvm")(tvm.nd.array(x), tvm.nd.array(w), result)
        padded = np.pad(x.astype("float64"), ((0, 0), (0, 0), (2, 2), (2, 2)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (5, 5), axis=(2, 3))
        expected = np.maximum(np.einsum("ncyxij,ocij->noyx", windows, w), 0)
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["schedule_injective", "schedule_reduce", "schedule_softmax", "schedule_extern"])
@pytest.mark.parametrize("family", ["generic", "x86", "arm_cpu"])
def test_every_kind_of_schedule_keeps_the_numbers(family: str, name: str) -> None:
    x = te.placeholder((6, 10), name="x")
    out = topi.nn.softmax(topi.nn.relu(x)) if name == "schedule_softmax" else topi.sum(topi.exp(x), axis=1)
    if name == "schedule_injective":
        out = topi.transpose(topi.exp(x) + 1.0)
    schedule = getattr(getattr(topi, family), name)([out])
    data = np.random.default_rng(4).standard_normal((6, 10)).astype("float32")
    result = tvm.nd.array(np.zeros(out.shape, "float32"))
    tvm.build(schedule, [x, out], "llvm")(tvm.nd.array(data), result)
    wide = data.astype("float64")
    powers = np.exp(np.maximum(wide, 0))
    expected = {"schedule_softmax": powers / powers.sum(1, keepdims=True), "schedule_injective": np.exp(wide).T + 1}
    np.testing.assert_allclose(result.numpy(), expected.get(name, np.exp(wide).sum(1)), rtol=1e-5)
