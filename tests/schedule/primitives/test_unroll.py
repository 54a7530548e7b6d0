"""unroll: golden before and after, each refusal."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule


def test_reduction(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.unroll(sch.get_loops("C")[2])

    check_steps(golden, p.matmul, steps)


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "symbolic": (q.symbolic, lambda s: s.unroll(s.get_loops("Y")[0]), "E-SCHEDULE-UNROLL-EXTENT"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
