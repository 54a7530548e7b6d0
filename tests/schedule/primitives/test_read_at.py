"""read_at: golden, machine code, refusals."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_refusal, check_steps
from tests.schedule.numpy_checks import check_convolution, check_matmul
from workbench.schedule import Schedule


def by_rows(sch: Schedule) -> Any:
    return sch.read_at(sch.get_loops("C")[0], "C", 0, "local")


def test_rows(golden: Golden) -> None:
    check_steps(golden, p.plain_matmul, by_rows)


def test_windows(golden: Golden) -> None:
    check_steps(golden, p.convolution, lambda sch: sch.read_at(sch.get_loops("conv")[1], "conv", 0, "local"))


def test_machine_code_agrees_with_numpy() -> None:
    check_matmul(by_rows)
    check_convolution(lambda sch: sch.read_at(sch.get_loops("conv")[1], "conv", 0, "local"))


def test_what_is_written_in_the_loop(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        i = sch.get_loops("D")[0]
        sch.compute_at("C", i)
        sch.read_at(i, "D", 0, "local")

    check_steps(golden, p.matmul, steps)


REFUSALS: dict[str, tuple[Any, Any, str]] = {
    "another block": (
        p.matmul, lambda s: s.read_at(s.get_loops("D")[0], "C", 0, "local"), "E-SCHEDULE-CONSUMER-OUTSIDE",
    ),
    "a loop of the writer": (
        p.matmul, lambda s: s.read_at(s.get_loops("C")[0], "D", 0, "local"), "E-SCHEDULE-CONSUMER-OUTSIDE",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    program, action, code = REFUSALS[name]
    check_refusal(golden, program, action, code)
