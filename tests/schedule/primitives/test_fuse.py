"""fuse: golden before and after, each refusal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_replay, check_steps
from workbench.schedule import Schedule


def test_two_loops(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.fuse(*sch.get_loops("D"))

    check_steps(golden, p.matmul, steps)


def test_and_split_again(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        fused = sch.fuse(*sch.get_loops("C")[:2])
        sch.split(fused, factors=[None, 6])

    check_steps(golden, p.matmul, steps)


def fuse_triangle(sch: Schedule) -> Any:
    return sch.fuse(*sch.get_loops("tri"))


def test_unit_variables_left_out(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        block = sch.get_block("C")
        outer, middle, _ = sch.split(sch.get_loops(block)[1], factors=[1, 1, None])
        sch.fuse(outer, middle, preserve_unit_iters=False)

    check_steps(golden, p.matmul, steps)


def test_one_loop_is_fused_as_it_is() -> None:
    func = p.matmul()
    sch = Schedule(func)
    first, _ = q.annotated_first(sch)
    assert sch.get(sch.fuse(first)) is sch.get(first)
    check_replay(func, sch)


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "kind": (p.matmul, lambda s: s.fuse(*q.annotated_first(s)), "E-SCHEDULE-FUSE-KIND"),
    "order": (p.matmul, lambda s: s.fuse(*reversed(s.get_loops("D"))), "E-SCHEDULE-NESTING"),
    "triangle": (q.triangle, fuse_triangle, "E-SCHEDULE-FUSE-EXTENT"),
    "nothing": (p.matmul, lambda s: s.fuse(), "E-SCHEDULE-NO-LOOPS"),
    "twice": (p.matmul, lambda s: s.fuse(s.get_loops("D")[0], s.get_loops("D")[0]), "E-SCHEDULE-LOOP-TWICE"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
