"""set_scope: golden before and after, each refusal."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule


def test_local(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.set_scope("C", 0, "local")

    check_steps(golden, p.matmul, steps)


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "parameter": (p.matmul, lambda s: s.set_scope("D", 0, "local"), "E-SCHEDULE-SCOPE-PARAMETER"),
    "name": (p.matmul, lambda s: s.set_scope("C", 0, "no scope!"), "E-SCHEDULE-SCOPE"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
