"""merge: golden before and after, each refusal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule


def loops_of(sch: Schedule, names: str, depth: int) -> list[Any]:
    return [sch.get_loops(name)[depth] for name in names.split()]


def test_whole_nests(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        merged = sch.merge(*loops_of(sch, "one two", 1))
        sch.vectorize(merged)

    check_steps(golden, p.chain, steps)


def test_outer_loops_of_three(golden: Golden) -> None:
    check_steps(golden, p.chain, lambda sch: sch.merge(*loops_of(sch, "one two three", 0)))


def test_down_to_the_dependence(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.merge(*loops_of(sch, "top shifted", 0))

    check_steps(golden, p.softmax, steps)


def test_one_loop_stays(golden: Golden) -> None:
    check_steps(golden, p.chain, lambda sch: sch.merge(sch.get_loops("one")[0]))


def annotated(sch: Schedule) -> Any:
    i, other = loops_of(sch, "one two", 0)
    sch.annotate(other, "note", 1)
    return sch.merge(i, other)


def unrolled(sch: Schedule) -> Any:
    i, other = loops_of(sch, "one two", 0)
    sch.unroll(i)
    return sch.merge(i, other)


def shorter(sch: Schedule) -> Any:
    i, other = loops_of(sch, "one two", 0)
    sch.split(other, factors=[1, None])
    return sch.merge(i, sch.get_loops("two")[0])


def with_more_between(sch: Schedule) -> Any:
    sch.compute_at("one", sch.get_loops("two")[0])
    return sch.merge(sch.get_loops("two")[1], sch.get_loops("three")[1])


def depths(sch: Schedule) -> Any:
    return sch.merge(sch.get_loops("one")[0], sch.get_loops("two")[1])


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "nothing": (p.chain, lambda s: s.merge(), "E-SCHEDULE-NO-LOOPS"),
    "reduction after": (p.softmax, lambda s: s.merge(*loops_of(s, "top shifted", 1)), "E-SCHEDULE-DEPENDENCE"),
    "not neighbours": (p.chain, lambda s: s.merge(*loops_of(s, "one three", 0)), "E-SCHEDULE-MERGE-APART"),
    "wrong order": (p.chain, lambda s: s.merge(*loops_of(s, "two one", 0)), "E-SCHEDULE-MERGE-APART"),
    "one nest": (p.chain, lambda s: s.merge(*s.get_loops("one")), "E-SCHEDULE-MERGE-APART"),
    "annotated": (p.chain, annotated, "E-SCHEDULE-MERGE-KIND"),
    "unrolled": (p.chain, unrolled, "E-SCHEDULE-MERGE-KIND"),
    "extent": (p.chain, shorter, "E-SCHEDULE-MERGE-EXTENT"),
    "depth": (p.chain, depths, "E-SCHEDULE-MERGE-DEPTH"),
    "more between": (p.chain, with_more_between, "E-SCHEDULE-BRANCH"),
    "not affine": (q.gathered, lambda s: s.merge(*loops_of(s, "make use", 0)), "E-SCHEDULE-UNPROVEN"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
