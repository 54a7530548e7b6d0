"""loop_partition: golden before and after, each refusal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule


def test_spatial(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        _, middle, _ = sch.loop_partition(sch.get_loops("D")[1], factors=[1, None, 2])
        sch.vectorize(middle)

    check_steps(golden, p.matmul, steps)


def test_the_rest_is_a_part(golden: Golden) -> None:
    check_steps(golden, p.chain, lambda sch: sch.loop_partition(sch.get_loops("three")[1], factors=[1]))


def test_reduction(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        first, _ = sch.loop_partition(sch.get_loops("C")[2], factors=[2])
        sch.decompose_reduction("C", first)

    check_steps(golden, p.plain_matmul, steps)


def test_unit_variables_left_out(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.loop_partition(sch.get_loops("D")[0], factors=[1, None, 1], preserve_unit_iters=False)

    check_steps(golden, p.matmul, steps)


def unrolled(sch: Schedule) -> Any:
    loop = sch.get_loops("D")[0]
    sch.unroll(loop)
    return sch.loop_partition(loop, factors=[2])


def of_d(*factors: Any) -> Steps:
    return lambda s: s.loop_partition(s.get_loops("D")[1], factors=list(factors))


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "kind": (p.matmul, unrolled, "E-SCHEDULE-PARTITION-KIND"),
    "two open": (p.matmul, of_d(None, None), "E-SCHEDULE-PARTITION-FACTORS"),
    "too much": (p.matmul, of_d(4, 3), "E-SCHEDULE-PARTITION-FACTORS"),
    "nothing left": (p.matmul, of_d(6, None), "E-SCHEDULE-PARTITION-FACTORS"),
    "no factors": (p.matmul, of_d(), "E-SCHEDULE-PARTITION-FACTORS"),
    "zero": (p.matmul, of_d(0, None), "E-SCHEDULE-ARGUMENT"),
    "symbolic": (q.symbolic, lambda s: s.loop_partition(s.get_loops("Y")[0], [2]), "E-SCHEDULE-PARTITION-EXTENT"),
    "statements": (
        lambda: q.pair(extra="statement"),
        lambda s: s.loop_partition(q.loose_loop(s), factors=[2]),
        "E-SCHEDULE-GUARD",
    ),
    "reduction from its end": (
        q.reduced_backwards,
        lambda s: s.loop_partition(s.get_loops("C")[2], [2]),
        "E-SCHEDULE-PARTITION-REDUCTION",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
