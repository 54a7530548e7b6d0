"""write_at: golden, machine code, refusals."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_refusal, check_steps
from tests.schedule.numpy_checks import check_matmul
from workbench.schedule import Schedule


def by_rows(sch: Schedule) -> Any:
    return sch.write_at(sch.get_loops("C")[0], "C", 0, "local")


def test_rows(golden: Golden) -> None:
    check_steps(golden, p.plain_matmul, by_rows)


def test_machine_code_agrees_with_numpy() -> None:
    check_matmul(by_rows)


def test_one_part_of_a_partitioned_producer(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.loop_partition(sch.get_loops("one")[0], factors=[2, None])
        sch.write_at(sch.get_loops("one_1")[0], "one_1", 0, "local")

    check_steps(golden, p.chain, steps)


def test_what_is_read_in_the_loop(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        i = sch.get_loops("C")[0]
        sch.reverse_compute_at("D", i)
        sch.write_at(i, "C", 0, "local")

    check_steps(golden, p.matmul, steps)


REFUSALS: dict[str, tuple[Any, Any, str]] = {
    "the reduction loop": (
        p.plain_matmul, lambda s: s.write_at(s.get_loops("C")[2], "C", 0, "local"), "E-SCHEDULE-UNFINISHED",
    ),
    "another block": (
        p.matmul, lambda s: s.write_at(s.get_loops("D")[0], "C", 0, "local"), "E-SCHEDULE-NO-PRODUCER",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    program, action, code = REFUSALS[name]
    check_refusal(golden, program, action, code)
