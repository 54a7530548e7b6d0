"""parallel: golden before and after, each refusal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_numbers, check_refusal, check_replay, check_steps
from workbench.schedule import Schedule
from workbench.tir import nodes as t


def test_rows(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.parallel(sch.get_loops("C")[0])

    check_steps(golden, p.matmul, steps)


def parallel_inside_vector(sch: Schedule) -> Any:
    i, j = sch.get_loops("D")
    sch.vectorize(i)
    return sch.parallel(j)


def parallel_sum_of_threads(sch: Schedule) -> Any:
    """Threads of a group may share a sum; those of the pool may not."""
    k = sch.get_loops("C")[2]
    sch.bind(k, "threadIdx.x")
    return sch.parallel(k)


@pytest.mark.parametrize("before", ["unroll", "vectorize", "parallel"])
@pytest.mark.parametrize("after", ["unroll", "vectorize", "parallel"])
def test_a_loop_of_another_kind_is_made_anew(before: str, after: str) -> None:
    func, plain = p.matmul(), Schedule(p.matmul())
    sch = Schedule(func)
    for schedule, kinds in ((sch, [before, after]), (plain, [after])):
        inner = schedule.get_loops("D")[1]
        for kind in kinds:
            getattr(schedule, kind)(inner)
    assert sch.script() == plain.script()
    check_numbers(func, sch.func)
    check_replay(func, sch)


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "carried": (p.fused_pair, lambda s: s.parallel(s.get_loops("make")[0]), "E-SCHEDULE-DEPENDENCE"),
    "inside vector": (p.matmul, parallel_inside_vector, "E-SCHEDULE-PARALLEL-INSIDE"),
    "shared by threads": (p.matmul, parallel_sum_of_threads, "E-SCHEDULE-DEPENDENCE"),
    "opaque": (
        lambda: q.pair(kind=t.IterKind.OPAQUE),
        lambda s: s.parallel(s.get_loops("make")[0]),
        "E-SCHEDULE-OPAQUE",
    ),
    "effects": (q.effects, lambda s: s.parallel(s.get_loops("print")[0]), "E-SCHEDULE-OPAQUE"),
    "statement": (lambda: q.pair(extra="statement"), lambda s: s.parallel(q.loose_loop(s)), "E-SCHEDULE-OPAQUE"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
