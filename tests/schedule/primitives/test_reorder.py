"""reorder: golden before and after, each refusal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule


def test_outwards(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        i, _, k = sch.get_loops("C")
        sch.reorder(k, i)

    check_steps(golden, p.matmul, steps)


def reorder_triangle(sch: Schedule) -> Any:
    i, j = sch.get_loops("tri")
    return sch.reorder(j, i)


def branch(sch: Schedule) -> Any:
    sch.compute_at("C", sch.get_loops("D")[0])
    block = sch.get_block("D")
    i, j = sch.get_loops(block)
    return sch.reorder(j, i)


def parts_of_a_fused_loop(sch: Schedule) -> Any:
    """The parts of j and k fused, changed: the product with k = 0, which initialises, is not the first any more."""
    _, j, k = sch.get_loops("C")
    outer, inner = sch.split(sch.fuse(j, k), factors=[2, None])
    return sch.reorder(inner, outer)


def across_nests(sch: Schedule) -> Any:
    return sch.reorder(sch.get_loops("C")[0], sch.get_loops("D")[0])


def parallel_first(sch: Schedule) -> Any:
    loops = sch.get_loops("D")
    sch.parallel(loops[0])
    return loops


def test_unrolled_loops_run_in_order(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.reorder(*reversed(q.annotated_first(sch)))

    check_steps(golden, p.matmul, steps)


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "fused reduction": (lambda: p.plain_matmul(4, 3, 4), parts_of_a_fused_loop, "E-SCHEDULE-DEPENDENCE"),
    "kind": (p.matmul, lambda s: s.reorder(*reversed(parallel_first(s))), "E-SCHEDULE-REORDER-KIND"),
    "triangle": (q.triangle, reorder_triangle, "E-SCHEDULE-REORDER-BOUNDS"),
    "branch": (p.matmul, branch, "E-SCHEDULE-BRANCH"),
    "across nests": (p.matmul, across_nests, "E-SCHEDULE-BRANCH"),
    "dependence": (p.skewed, lambda s: s.reorder(*reversed(s.get_loops("wave"))), "E-SCHEDULE-DEPENDENCE"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
