"""vectorize: golden before and after, each refusal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule
from workbench.tir.script import parse


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


def test_values_of_one_iteration(golden: Golden) -> None:
    """Each has a row of its own, though it names the same elements of the buffer."""
    check_steps(golden, lambda: parse(OWN_ROWS), lambda sch: sch.vectorize(sch.get_loops("C")[0]))


OWN_ROWS = """
@T.prim_func
def main(A: T.Buffer((4, 3), "float32"), C: T.Buffer((4, 3), "float32")):
    P = T.alloc_buffer((3,), "float32")
    for i in range(4):
        for j in range(3):
            with T.block("P"):
                vi, vj = T.axis.remap("SS", [i, j])
                P[vj] = A[vi, vj] * 2.0
        for j in range(3):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = P[2 - vj] + 1.0
"""


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
