"""reverse_compute_at: golden before and after, each refusal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule


def test_row(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.reverse_compute_at("D", sch.get_loops("C")[0])

    check_steps(golden, p.matmul, steps)


def unfinished(sch: Schedule) -> Any:
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    sch.reorder(k, i, j)
    return sch.reverse_compute_at("D", k)


def late_producer(sch: Schedule) -> Any:
    sch.compute_at("top", sch.get_loops("shifted")[0])
    return sch.reverse_compute_at("out", sch.get_loops("shifted")[0])


def test_a_part_of_a_block_runs_for_its_part_of_the_domain(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.loop_partition(sch.get_loops("two")[1], factors=[2, None])
        sch.reverse_compute_at("two_1", sch.get_loops("one")[0])

    check_steps(golden, p.chain, steps)


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "unfinished": (p.matmul, unfinished, "E-SCHEDULE-UNFINISHED"),
    "late producer": (p.softmax, late_producer, "E-SCHEDULE-PRODUCER-LATE"),
    "no producer": (
        p.softmax,
        lambda s: s.reverse_compute_at("out", s.get_loops("top")[0]),
        "E-SCHEDULE-PRODUCER-LATE",
    ),
    "beyond": (
        q.reduced_windows,
        lambda s: s.reverse_compute_at("use", s.get_loops("pool2")[0]),
        "E-SCHEDULE-BEYOND",
    ),
    "old values": (
        q.old_values,
        lambda s: s.reverse_compute_at("use", s.get_loops("make")[0]),
        "E-SCHEDULE-READ-BEFORE",
    ),
    "unrelated": (q.unread, lambda s: s.reverse_compute_at("use", s.get_loops("make")[0]), "E-SCHEDULE-NO-PRODUCER"),
    "symbolic": (q.symbolic_margin, lambda s: s.reverse_compute_at("use", s.get_loops("make")[0]), "E-SCHEDULE-REGION"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
