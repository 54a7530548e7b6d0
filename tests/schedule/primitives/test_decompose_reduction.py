"""decompose_reduction: golden before and after, each refusal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.property import sum_programs
from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule


def test_inside(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        block = sch.get_block("C")
        sch.decompose_reduction(block, sch.get_loops(block)[1])

    check_steps(golden, p.plain_matmul, steps)


def test_reordered(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        block = sch.get_block("C")
        i, j, k = sch.get_loops(block)
        sch.reorder(k, i, j)
        sch.decompose_reduction(block, k)

    check_steps(golden, p.plain_matmul, steps)


def decompose_twice(sch: Schedule) -> Any:
    block = sch.get_block("C")
    loops = sch.get_loops(block)
    sch.decompose_reduction(block, loops[2])
    return sch.decompose_reduction(block, loops[2])


def decompose_inside(sch: Schedule) -> Any:
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    sch.reorder(k, i, j)
    return sch.decompose_reduction(block, j)


def decompose_again_reduced(sch: Schedule) -> Any:
    sch.compute_at("pool2", sch.get_loops("use")[0])
    block = sch.get_block("pool2")
    return sch.decompose_reduction(block, sch.get_loops(block)[0])


def decompose_mixed_loop(sch: Schedule) -> Any:
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    fused = sch.fuse(i, j, k)
    return sch.decompose_reduction(block, fused)


def decompose_continued(sch: Schedule) -> Any:
    return sch.decompose_reduction("others", sch.get_loops("others")[1])


def decompose_shared(sch: Schedule) -> Any:
    sch.loop_partition(sch.get_loops("sum")[2], factors=[2])
    return sch.decompose_reduction("sum_1", sch.get_loops("sum_1")[0])


def decompose_mixed_predicate(sch: Schedule) -> Any:
    block = sch.get_block("mixed")
    return sch.decompose_reduction(block, sch.get_loops(block)[1])


def test_inside_loops_of_one_iteration(golden: Golden) -> None:
    check_steps(
        golden, lambda: p.convolution(ci=1), lambda sch: sch.decompose_reduction("conv", sch.get_loops("conv")[4])
    )


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "no init": (p.matmul, decompose_twice, "E-SCHEDULE-NO-INIT"),
    "not around": (p.matmul, lambda s: s.decompose_reduction("C", s.get_loops("D")[0]), "E-SCHEDULE-NOT-AROUND"),
    "inside": (p.matmul, decompose_inside, "E-SCHEDULE-REDUCTION-OUTSIDE"),
    "reduced twice": (q.reduced_windows, decompose_again_reduced, "E-SCHEDULE-REDUCED-TWICE"),
    "mixed loop": (p.plain_matmul, decompose_mixed_loop, "E-SCHEDULE-MIXED-LOOP"),
    "mixed predicate": (q.mixed_predicate, decompose_mixed_predicate, "E-SCHEDULE-MIXED-PREDICATE"),
    "init shared": (lambda: sum_programs.summed_again(3, 4, 2, True)[0], decompose_shared, "E-SCHEDULE-INIT-SHARED"),
    "init late": (lambda: sum_programs.continued(2, 4)[0], decompose_continued, "E-SCHEDULE-INIT-LATE"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
