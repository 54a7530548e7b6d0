"""The public tutorial of the classic API on tensorize, written anew from its sequence of calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as tvm
import workbench.testing
from workbench import te
from workbench.contrib import clang, utils
from workbench.core.errors import WorkbenchError
from workbench.tir.script import script
from workbench.tir.tensor_intrin import TENSOR_INTRINSICS

N, M, L = 64, 48, 64
FACTOR = 16


@pytest.fixture(autouse=True)
def intrinsics_of_one_test() -> Any:
    before = set(TENSOR_INTRINSICS)
    yield
    for name in set(TENSOR_INTRINSICS) - before:
        TENSOR_INTRINSICS.remove(name)


def gemm() -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    """C = A x B, with B transposed."""
    a = te.placeholder((N, L), name="A")
    b = te.placeholder((M, L), name="B")
    k = te.reduce_axis((0, L), name="k")
    c = te.compute((N, M), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="C")
    return a, b, c


def buffers(m: int, depth: int) -> tuple[Any, ...]:
    a = te.placeholder((depth,), name="a")
    b = te.placeholder((m, depth), name="b")
    k = te.reduce_axis((0, depth), name="k")
    c = te.compute((m,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")
    a_buffer = tvm.tir.decl_buffer(a.shape, a.dtype, name="A", offset_factor=1, strides=[1])
    b_buffer = tvm.tir.decl_buffer(b.shape, b.dtype, name="B", offset_factor=1, strides=[te.var("s1"), 1])
    c_buffer = tvm.tir.decl_buffer(c.shape, c.dtype, name="C", offset_factor=1, strides=[1])
    return a, b, c, {a: a_buffer, b: b_buffer, c: c_buffer}


def intrin_gemv(m: int, depth: int) -> Any:
    _, _, c, binds = buffers(m, depth)

    def intrin_func(ins: Any, outs: Any) -> Any:
        ib = tvm.tir.ir_builder.create()
        aa, bb = ins
        cc = outs[0]
        ib.emit(
            tvm.tir.call_extern(
                "int32",
                "gemv_update",
                cc.access_ptr("w"),
                aa.access_ptr("r"),
                bb.access_ptr("r"),
                m,
                depth,
                bb.strides[0],
            )
        )
        return ib.get()

    return te.decl_tensor_intrin(c.op, intrin_func, binds=binds)


def gemv_impl() -> str:
    cc_code = """
      extern "C" int gemv_update(float *cc, float *aa, float *bb, long m, long l, long stride) {
        for (long i = 0; i < m; ++i) {
            float sum = 0;
            for (long j = 0; j < l; ++j) sum += aa[j] * bb[i * stride + j];
            cc[i] = sum;
        }
        return 0;
      }
    """
    temp = utils.tempdir()
    return clang.create_llvm(cc_code, output=temp.relpath("temp.ll"))


def checked(func: Any) -> None:
    random = np.random.default_rng(0)
    a, b = (random.uniform(size=shape).astype(np.float32) for shape in ((N, L), (M, L)))
    c = tvm.nd.array(np.zeros((N, M), np.float32), tvm.cpu())
    func(tvm.nd.array(a), tvm.nd.array(b), c)
    tvm.testing.assert_allclose(c.numpy(), a @ b.T, rtol=1e-3)


def test_a_matrix_vector_product_in_c():
    a, b, c = gemm()
    s = te.create_schedule(c.op)
    x, y = c.op.axis
    (z,) = c.op.reduce_axis
    yo, yi = s[c].split(y, factor=FACTOR)
    s[c].reorder(x, yo, yi, z)
    gemv = intrin_gemv(FACTOR, L)
    s[c].tensorize(yi, gemv)
    text = script(tvm.lower(s, [a, b, c], simple_mode=True))
    assert 'T.call_extern("gemv_update"' in text
    s[c].pragma(x, "import_llvm", gemv_impl())
    checked(tvm.build(s, [a, b, c], target="llvm", name="gemv"))


def gemv_impl_reduce() -> str:
    cc_code = """
      extern "C" int gemv_update_acc(float *cc, float *aa, float *bb, long m, long l, long stride) {
        for (long i = 0; i < m; ++i)
            for (long j = 0; j < l; ++j) cc[i] += aa[j] * bb[i * stride + j];
        return 0;
      }
      extern "C" int gemv_reset(float *cc, long m) {
        for (long i = 0; i < m; ++i) cc[i] = 0.0;
        return 0;
      }
    """
    return clang.create_llvm(cc_code)


def intrin_gemv_reduce(m: int, depth: int) -> Any:
    _, _, c, binds = buffers(m, depth)

    def intrin_func(ins: Any, outs: Any) -> Any:
        aa, bb = ins
        cc = outs[0]

        def _body() -> Any:
            ib = tvm.tir.ir_builder.create()
            ib.emit(
                tvm.tir.call_extern(
                    "int32",
                    "gemv_update_acc",
                    cc.access_ptr("w"),
                    aa.access_ptr("r"),
                    bb.access_ptr("r"),
                    m,
                    depth,
                    bb.strides[0],
                )
            )
            return ib.get()

        def _reduce_reset() -> Any:
            ib = tvm.tir.ir_builder.create()
            ib.emit(tvm.tir.call_extern("int32", "gemv_reset", cc.access_ptr("w"), m))
            return ib.get()

        def _reduce_update() -> Any:
            return _body()

        return _body(), _reduce_reset(), _reduce_update()

    return te.decl_tensor_intrin(c.op, intrin_func, binds=binds)


def test_reset_and_update_in_c():
    a, b, c = gemm()
    s = te.create_schedule(c.op)
    x, y = c.op.axis
    (z,) = c.op.reduce_axis
    yo, yi = s[c].split(y, factor=FACTOR)
    zo, zi = s[c].split(z, factor=FACTOR)
    s[c].reorder(x, yo, zo, yi, zi)
    gemv = intrin_gemv_reduce(FACTOR, FACTOR)
    s[c].tensorize(yi, gemv)
    s[c].pragma(yo, "import_llvm", gemv_impl_reduce())
    text = script(tvm.lower(s, [a, b, c], simple_mode=True))
    assert 'T.call_extern("gemv_reset"' in text and 'T.call_extern("gemv_update_acc"' in text
    checked(tvm.build(s, [a, b, c], target="llvm", name="gemv"))


def test_an_intrinsic_that_does_not_fit_names_the_call():
    a, b, c = gemm()
    s = te.create_schedule(c.op)
    _, yi = s[c].split(c.op.axis[1], factor=8)
    s[c].tensorize(yi, intrin_gemv(FACTOR, L))
    with pytest.raises(WorkbenchError) as caught:
        tvm.lower(s, [a, b, c], simple_mode=True)
    assert "tensorize" in str(caught.value) and "extent" in caught.value.message
