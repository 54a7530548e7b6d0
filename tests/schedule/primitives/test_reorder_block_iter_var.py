"""reorder_block_iter_var: golden before and after, each refusal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule


def test_reduction_first(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        block = sch.get_block("C")
        sch.split(sch.get_loops(block)[1], factors=[None, 4])
        sch.reorder_block_iter_var(block, [2, 1, 0])
        sch.decompose_reduction(block, sch.get_loops(block)[0])

    check_steps(golden, p.plain_matmul, steps)


def order(*new_order: Any) -> Steps:
    return lambda s: s.reorder_block_iter_var("C", list(new_order))


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "twice": (p.matmul, order(0, 0, 1), "E-SCHEDULE-PERMUTATION"),
    "too few": (p.matmul, order(1, 0), "E-SCHEDULE-PERMUTATION"),
    "not numbers": (p.matmul, order("vi", "vj", "vk"), "E-SCHEDULE-ARGUMENT"),
    "no iterators": (p.matmul, lambda s: s.reorder_block_iter_var("root", [0]), "E-SCHEDULE-PERMUTATION"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
