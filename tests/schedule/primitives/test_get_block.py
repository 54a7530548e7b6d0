"""get_block: what it answers, and its refusal."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal
from workbench.schedule import Schedule


def test_the_block_of_a_name() -> None:
    sch = Schedule(p.matmul())
    assert sch.get_block("C").target == "C" and sch.get(sch.get_block("D")).name == "D"


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "no such block": (p.matmul, lambda s: s.get_block("E"), "E-SCHEDULE-BLOCK"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
