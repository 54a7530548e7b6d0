"""unannotate: golden before and after, each refusal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule


def test_block_and_loop(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        block = sch.get_block("C")
        loop = sch.get_loops(block)[0]
        for target in (block, loop):
            sch.annotate(target, "first", 1)
            sch.annotate(target, "second", [2, 3])
            sch.unannotate(target, "first")

    check_steps(golden, p.plain_matmul, steps)


def misspelt(sch: Schedule) -> Any:
    sch.annotate("C", "factor", 4)
    return sch.unannotate("C", "facter")


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "nothing": (p.matmul, lambda s: s.unannotate(s.get_loops("C")[0], "factor"), "E-SCHEDULE-NOT-ANNOTATED"),
    "misspelt": (p.matmul, misspelt, "E-SCHEDULE-NOT-ANNOTATED"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
