"""Checked mode: planted accesses outside a buffer are reported with buffer, axis, index, extent and loops."""

from __future__ import annotations

import numpy as np
import pytest

from tests.codegen.support import build, call
from workbench.core.errors import WorkbenchError

PLANTED = {
    "one past the end": ("B[i] = A[i + 1]", "load from A", "axis 0", "index 16", "extent 16", "i = 15"),
    "one before": ("B[i] = A[i - 1]", "load from A", "axis 0", "index -1", "extent 16", "i = 0"),
    "a store": ("B[i * 2] = A[i]", "store to B", "axis 0", "index 16", "extent 16", "i = 8"),
    "an unguarded arm": (
        "B[i] = T.if_then_else(i < 20, A[i + 3], T.float32(0.0))",
        "load from A", "axis 0", "index 16", "extent 16", "i = 13",
    ),
    "a gather": ("B[i] = A[T.Cast(\"int64\", A[i]) * 100]", "load from A", "axis 0", "index 100", "extent 16", "i = 1"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["serial", "vectorized", "parallel"])
@pytest.mark.parametrize("name", PLANTED)
def test_planted_overruns_are_found(name: str, kind: str) -> None:
    statement, *words = PLANTED[name]
    text = f"""
    def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in T.{kind}(16):
            {statement}
    """
    a, b = np.arange(16, dtype="float32"), np.zeros(16, "float32")
    with pytest.raises(WorkbenchError) as caught:
        call(text, a, b, checked=True)
    assert caught.value.code == "E-RUN-BOUNDS"
    if kind == "parallel":
        words = words[:2]  # which iteration comes first is open
    for word in words:
        assert word in str(caught.value)


def test_the_second_axis_is_named() -> None:
    text = """
    def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i in T.serial(4):
            for j in T.serial(8):
                B[i, j] = A[i, j + i]
    """
    a, b = np.zeros((4, 8), "float32"), np.zeros((4, 8), "float32")
    call(text, a, b)  # inside the memory, so that only checking finds it
    with pytest.raises(WorkbenchError) as caught:
        call(text, a, b, checked=True)
    assert "axis 1" in str(caught.value)
    assert "i = 1, j = 7" in str(caught.value)


def test_guarded_loads_are_right() -> None:
    text = """
    def f(A: T.Buffer((16,), "float32"), B: T.Buffer((18,), "float32")):
        for i in T.vectorized(18):
            B[i] = T.if_then_else(1 <= i and i < 17, A[i - 1], T.float32(0.0))
    """
    a, b = np.arange(16, dtype="float32"), np.zeros(18, "float32")
    call(text, a, b, checked=True)
    np.testing.assert_array_equal(b, np.pad(a, 1))


def test_correct_programs_run_the_same() -> None:
    from tests.codegen.test_statements import MATMUL

    random = np.random.default_rng(3)
    a = random.normal(size=(20, 24)).astype("float32")
    b = random.normal(size=(24, 32)).astype("float32")
    c = np.zeros((20, 32), "float32")
    build(MATMUL, checked=True)(a, b, c)
    np.testing.assert_allclose(c, a.astype("float64") @ b, rtol=1e-5, atol=1e-5)
