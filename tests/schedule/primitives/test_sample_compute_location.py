"""sample_compute_location: legal places only, the root and inlining among them, each refusal."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule


@pytest.mark.parametrize("decision", [-2, -1, 0, 1])
def test_places(decision: int, golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        block = sch.get_block("one")
        sch.compute_at(block, sch.sample_compute_location(block, decision=decision))

    check_steps(golden, p.chain, steps)


def test_only_legal_places_are_drawn() -> None:
    sch = Schedule(p.matmul())
    block = sch.get_block("C")
    found = set()
    for _ in range(40):
        sch.sample_compute_location(block)
        found.add(sch.trace.steps[-1].decision)
    assert found == {-1, 0, 1}
    sch.sample_compute_location("D")
    assert sch.trace.steps[-1].decision == -1


def use_the_root(sch: Schedule) -> object:
    return sch.split(sch.sample_compute_location("C", decision=-1), factors=[None, 2])


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "no such place": (p.matmul, lambda s: s.sample_compute_location("C", decision=5), "E-SCHEDULE-DECISION"),
    "not inlined": (p.matmul, lambda s: s.sample_compute_location("C", decision=-2), "E-SCHEDULE-DECISION"),
    "the root is no loop": (p.matmul, use_the_root, "E-SCHEDULE-MARK"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
