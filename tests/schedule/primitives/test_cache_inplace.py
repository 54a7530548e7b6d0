"""cache_inplace: golden, machine code, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_refusal, check_steps
from workbench.schedule import Schedule


def test_stencil(golden: Golden) -> None:
    check_steps(golden, p.stencil, lambda sch: sch.cache_inplace("step", 0, "local"))


def test_machine_code_agrees_with_numpy() -> None:
    sch = Schedule(p.stencil(3, 8))
    sch.cache_inplace("step", 0, "global")
    x = np.random.default_rng(0).standard_normal(10).astype("float32")
    expected = x.astype("float64")
    for _ in range(3):
        for i in range(8):
            expected[i + 1] = expected[i] + expected[i + 2]
    wb.build(sch.func)["main"](x)
    np.testing.assert_allclose(x, expected, rtol=1e-4, atol=1e-4)


def decomposed(sch: Schedule) -> Any:
    sch.decompose_reduction("C", sch.get_loops("C")[2])
    return sch.cache_inplace("C", 0, "local")


def beside_its_init(sch: Schedule) -> Any:
    sch.decompose_reduction("C", sch.get_loops("C")[2])
    return sch.cache_inplace("C", 0, "local")


REFUSALS: dict[str, tuple[Any, Any, str]] = {
    "only read": (p.matmul, lambda s: s.cache_inplace("C", 0, "local"), "E-SCHEDULE-INPLACE"),
    "allocated": (p.matmul, decomposed, "E-SCHEDULE-INPLACE"),
    "beside another": (p.plain_matmul, beside_its_init, "E-SCHEDULE-CACHE-SHARED"),
    "no such buffer": (p.matmul, lambda s: s.cache_inplace("C", 4, "local"), "E-SCHEDULE-BUFFER"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    program, action, code = REFUSALS[name]
    check_refusal(golden, program, action, code)
