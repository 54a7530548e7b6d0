"""split: golden before and after, each refusal."""

from __future__ import annotations

from typing import Any

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_refusal, check_steps
from workbench.schedule import Schedule


def test_exact(golden: Golden) -> None:
    check_steps(golden, p.matmul, lambda sch: sch.split(sch.get_loops("C")[1], factors=[None, 3]))


def test_guarded(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.split(sch.get_loops("C")[2], factors=[2, None])
        sch.split(sch.get_loops("D")[1], factors=[3, 3])

    check_steps(golden, p.matmul, steps)


def test_refuses_two_open_factors(golden: Golden) -> None:
    def attempt(sch: Schedule) -> Any:
        return sch.split(sch.get_loops("C")[1], factors=[None, None])

    check_refusal(golden, p.matmul, attempt, "E-SCHEDULE-SPLIT-FACTORS")
