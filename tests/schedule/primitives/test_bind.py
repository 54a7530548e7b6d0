"""bind: golden before and after, each refusal."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule


def test_thread(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.bind(sch.get_loops("D")[0], "threadIdx.x")

    check_steps(golden, p.matmul, steps, runs=False)


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "axis": (p.matmul, lambda s: s.bind(s.get_loops("D")[0], "threadIdx.q"), "E-SCHEDULE-THREAD"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
