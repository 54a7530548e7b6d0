"""Products by BLAS as te stages: numbers against NumPy in float64, exported libraries, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import te
from workbench.contrib import cblas
from workbench.core.errors import WorkbenchError
from workbench.runtime import builtin
from workbench.runtime.module import load_module
from workbench.tir.interpret import interpret


@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_matmul(transposed: tuple[bool, bool], dtype: str) -> None:
    n, k, m = 5, 7, 3
    shapes = ((k, n) if transposed[0] else (n, k), (m, k) if transposed[1] else (k, m))
    a, b = (te.placeholder(shape, dtype, name) for shape, name in zip(shapes, "AB", strict=True))
    c = cblas.matmul(a, b, *transposed)
    d = te.compute(c.shape, lambda i, j: c[i, j] + te.const(1, dtype), name="D")
    func = te.create_prim_func([a, b, d])
    left, right = (np.random.default_rng(0).random(shape).astype(dtype) for shape in shapes)
    wanted = (left.T if transposed[0] else left) @ (right.T if transposed[1] else right) + 1
    for run in (lambda *given: interpret(func, *given), lambda *given: wb.build(func)["main"](*given)):
        found = np.zeros((n, m), dtype)
        run(left, right, found)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_batch_matmul_with_one_matrix_for_all() -> None:
    a, b = te.placeholder((4, 2, 5), name="A"), te.placeholder((1, 5, 3), name="B")
    func = te.create_prim_func([a, b, cblas.batch_matmul(a, b)])
    left, right = np.random.default_rng(0).random((4, 2, 5), np.float32), np.ones((1, 5, 3), np.float32)
    found = np.zeros((4, 2, 3), np.float32)
    wb.build(func)["main"](left, right, found)
    np.testing.assert_allclose(found, left @ right, rtol=1e-5)


def test_an_exported_product_calls_the_blas_of_the_process(tmp_path: Any) -> None:
    a, b = te.placeholder((4, 4), name="A"), te.placeholder((4, 4), name="B")
    wb.build(te.create_prim_func([a, b, cblas.matmul(a, b)])).export_library(tmp_path / "product.so")
    left, found = np.random.default_rng(0).random((4, 4), np.float32), np.zeros((4, 4), np.float32)
    load_module(tmp_path / "product.so")["main"](left, left, found)
    np.testing.assert_allclose(found, left @ left, rtol=1e-5)


def test_the_library_has_a_name() -> None:
    assert builtin.blas_library()


def test_without_a_blas_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtin, "blas_library", lambda: "")
    with pytest.raises(WorkbenchError) as caught:
        cblas.matmul(te.placeholder((2, 2)), te.placeholder((2, 2)))
    assert caught.value.code == "E-CBLAS-NONE" and caught.value.fix


REFUSALS: dict[str, Callable[[], Any]] = {
    "ranks": lambda: cblas.matmul(te.placeholder((2, 2, 2)), te.placeholder((2, 2))),
    "dtypes": lambda: cblas.matmul(te.placeholder((2, 2), "int32"), te.placeholder((2, 2), "int32")),
    "inner extents": lambda: cblas.matmul(te.placeholder((2, 3)), te.placeholder((2, 3))),
    "stacks": lambda: cblas.batch_matmul(te.placeholder((2, 2, 2)), te.placeholder((3, 2, 2))),
}


@pytest.mark.parametrize("word", REFUSALS)
def test_refusals(word: str) -> None:
    with pytest.raises(WorkbenchError, match=word) as caught:
        REFUSALS[word]()
    assert caught.value.code == "E-CBLAS-ARGUMENT"
