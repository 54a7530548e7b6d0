"""set_axis_separator: golden, refusals, and that LLVM's builds do not mind."""

from __future__ import annotations

import numpy as np

import workbench as wb
from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_refusal, check_steps
from workbench.schedule import Schedule


def test_separated(golden: Golden) -> None:
    check_steps(golden, p.matmul, lambda sch: sch.set_axis_separator("C", ("write", 0), [1]))


def test_an_empty_list_takes_them_away() -> None:
    sch = Schedule(p.matmul())
    sch.set_axis_separator("C", "C", [1])
    sch.set_axis_separator("D", ("read", 0), [])
    assert "axis_separators" not in sch.script()


def test_machine_code_agrees_with_numpy() -> None:
    sch = Schedule(p.matmul(5, 7, 9))
    sch.set_axis_separator("C", "C", [1])
    sch.set_axis_separator("D", "D", [1])
    random = np.random.default_rng(0)
    a, b = random.standard_normal((5, 9)).astype("float32"), random.standard_normal((9, 7)).astype("float32")
    d = np.zeros((5, 7), "float32")
    wb.build(sch.func)["main"](a, b, d)
    np.testing.assert_allclose(d, a.astype("float64") @ b + 1, rtol=1e-5)


def test_refuses_the_edges(golden: Golden) -> None:
    check_refusal(golden, p.matmul, lambda s: s.set_axis_separator("C", "C", [2]), "E-SCHEDULE-SEPARATOR")


def test_refuses_a_wrong_order(golden: Golden) -> None:
    check_refusal(golden, p.convolution, lambda s: s.set_axis_separator("conv", "conv", [2, 1]), "E-SCHEDULE-SEPARATOR")
