"""annotate: golden before and after, each refusal."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule


def test_block_and_loop(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        block = sch.get_block("C")
        sch.annotate(block, "note", "why")
        sch.annotate(sch.get_loops(block)[0], "factor", 4)

    check_steps(golden, p.plain_matmul, steps)


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "empty": (p.matmul, lambda s: s.annotate(s.get_block("C"), "", 1), "E-SCHEDULE-ANNOTATION"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
