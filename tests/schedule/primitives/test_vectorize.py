"""vectorize: golden before and after, each refusal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule


def test_row(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.vectorize(sch.get_loops("D")[1])

    check_steps(golden, p.matmul, steps)


def vector_around_parallel(sch: Schedule) -> Any:
    i, j = sch.get_loops("D")
    sch.parallel(j)
    return sch.vectorize(i)


def consumed(sch: Schedule) -> Any:
    _, j = sch.get_loops("D")
    sch.split(j, factors=[None, 2])
    return sch.vectorize(j)


def foreign(sch: Schedule) -> Any:
    other = Schedule(p.chain())
    return sch.vectorize(other.get_loops("one")[0])


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "reduction": (p.matmul, lambda s: s.vectorize(s.get_loops("C")[2]), "E-SCHEDULE-DEPENDENCE"),
    "stencil": (p.stencil, lambda s: s.vectorize(s.get_loops("step")[1]), "E-SCHEDULE-DEPENDENCE"),
    "symbolic": (q.symbolic, lambda s: s.vectorize(s.get_loops("Y")[0]), "E-SCHEDULE-VECTOR-EXTENT"),
    "around parallel": (p.matmul, vector_around_parallel, "E-SCHEDULE-VECTOR-INNER"),
    "indirect": (q.indirect, lambda s: s.vectorize(s.get_loops("scatter")[0]), "E-SCHEDULE-UNPROVEN"),
    "consumed": (p.matmul, consumed, "E-SCHEDULE-CONSUMED"),
    "foreign": (p.matmul, foreign, "E-SCHEDULE-REFERENCE"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
