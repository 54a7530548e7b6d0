"""enter_postproc: a mark in the trace that changes nothing."""

from __future__ import annotations

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_steps
from workbench.core.equal import structural_equal
from workbench.schedule import Schedule


def test_a_mark(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        i, _ = sch.get_loops("D")
        before = sch.func
        sch.enter_postproc()
        assert structural_equal(before, sch.func)
        sch.parallel(i)

    check_steps(golden, p.matmul, steps)
