"""cache_index: golden, machine code, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np

import workbench as wb
from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_refusal, check_steps
from tests.schedule.numpy_checks import check_convolution
from workbench import te
from workbench.arith import build
from workbench.schedule import Schedule
from workbench.tir import nodes as t


def resize(n: int = 7, m: int = 10) -> t.PrimFunc:
    """Nearest neighbours of n points at m places, in two directions."""
    x = te.placeholder((n, n), name="X")
    return te.create_prim_func([x, te.compute((m, m), lambda i, j: x[i * n // m, j * n // m], name="Y")])


def test_every_index(golden: Golden) -> None:
    check_steps(golden, resize, lambda sch: sch.cache_index("Y", "global"))


def test_only_what_occurs_often(golden: Golden) -> None:
    check_steps(golden, p.strided_reads, lambda sch: sch.cache_index("two", "local", cse_thresh=1))


def test_machine_code_agrees_with_numpy() -> None:
    sch = Schedule(resize())
    sch.cache_index("Y", "global")
    x, y = np.random.default_rng(0).standard_normal((7, 7)).astype("float32"), np.zeros((10, 10), "float32")
    wb.build(sch.func)["main"](x, y)
    at = np.arange(10) * 7 // 10
    np.testing.assert_array_equal(y, x[at][:, at])
    check_convolution(lambda sch: sch.cache_index("conv", "global"))


def scaled(n: int = 7, m: int = 12) -> t.PrimFunc:
    """Points found by rounding, as resizing in floats does; two calls that differ in what they are of."""
    x = te.placeholder((n, n), name="X")

    def near(at: Any) -> Any:
        return build.minimum(build.cast("int64", build.call("floor", build.cast("float32", at) * 0.55)), n - 1)

    return te.create_prim_func([x, te.compute((m, m), lambda i, j: x[near(i), near(j)], name="Y")])


def test_calls_without_effects_are_computed_beforehand() -> None:
    sch = Schedule(scaled())
    assert len(sch.cache_index("Y", "global")) == 2
    x, y = np.random.default_rng(0).standard_normal((7, 7)).astype("float32"), np.zeros((12, 12), "float32")
    wb.build(sch.func)["main"](x, y)
    at = np.minimum(np.floor(np.arange(12).astype("float32") * np.float32(0.55)).astype(int), 6)
    np.testing.assert_array_equal(y, x[at][:, at])


def test_refuses_plain_indices(golden: Golden) -> None:
    check_refusal(golden, p.matmul, lambda s: s.cache_index("C", "global"), "E-SCHEDULE-NO-INDEX")


def test_refuses_what_occurs_too_seldom(golden: Golden) -> None:
    check_refusal(golden, resize, lambda s: s.cache_index("Y", "global", 5), "E-SCHEDULE-NO-INDEX")
