"""add_unit_loop: golden before and after, each refusal."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule


def test_around_loop_and_block(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        block = sch.get_block("D")
        i, _ = sch.get_loops(block)
        outer = sch.add_unit_loop(i)
        sch.add_unit_loop(block)
        sch.parallel(outer)

    check_steps(golden, p.matmul, steps)


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "root": (p.matmul, lambda s: s.add_unit_loop("root"), "E-SCHEDULE-ROOT"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
