"""compute_at: golden before and after, each refusal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.property.offset_programs import partial
from tests.property.order_programs import folded
from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.arith import build
from workbench.schedule import Schedule


def test_row(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.compute_at("C", sch.get_loops("D")[0])

    check_steps(golden, p.matmul, steps)


def test_tile(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        block = sch.get_block("D")
        _, j = sch.get_loops(block)
        outer, _ = sch.split(j, factors=[None, 4])
        sch.compute_at("C", outer, preserve_unit_loops=True)

    check_steps(golden, p.matmul, steps)


def test_window(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.compute_at("pad", sch.get_loops("conv")[1])

    check_steps(golden, p.convolution, steps)


def move_annotated(sch: Schedule) -> Any:
    sch.vectorize(sch.get_loops("C")[1])
    return sch.compute_at("C", sch.get_loops("D")[0])


def inside_vector(sch: Schedule) -> Any:
    _, j = sch.get_loops("D")
    sch.vectorize(j)
    return sch.compute_at("C", j)


def before_what_it_copies(sch: Schedule) -> Any:
    """The copy's one consumer never runs and stands before it: it would follow it there (random seed 11094)."""
    sch.compute_at("make", sch.get_loops("most")[1])
    unit = sch.add_unit_loop(sch.get_loops("make")[0])
    sch.cache_write("make", 0, "global")
    return sch.compute_at("P_global_copy", unit, index=-2)


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "output": (p.matmul, lambda s: s.compute_at("D", s.get_loops("C")[0]), "E-SCHEDULE-OUTPUT"),
    "consumer outside": (
        p.softmax,
        lambda s: s.compute_at("shifted", s.get_loops("out")[0]),
        "E-SCHEDULE-CONSUMER-OUTSIDE",
    ),
    "producer inside": (
        lambda: folded(4)[0],
        lambda s: s.compute_at("put", s.get_loops("fetch")[1]),
        "E-SCHEDULE-PRODUCER-INSIDE",
    ),
    "no consumer": (q.unread, lambda s: s.compute_at("make", s.get_loops("use")[0]), "E-SCHEDULE-NO-CONSUMER"),
    "own loop": (p.matmul, lambda s: s.compute_at("C", s.get_loops("C")[0]), "E-SCHEDULE-OWN-LOOP"),
    "annotated": (p.matmul, move_annotated, "E-SCHEDULE-KIND"),
    "inside vector": (p.matmul, inside_vector, "E-SCHEDULE-INSIDE-VECTOR"),
    "index": (p.matmul, lambda s: s.compute_at("C", s.get_loops("D")[0], index=7), "E-SCHEDULE-INDEX"),
    "root": (p.matmul, lambda s: s.compute_at("root", s.get_loops("D")[0]), "E-SCHEDULE-LEAF"),
    "two writers": (
        lambda: q.pair(extra="writer"),
        lambda s: s.compute_at("make", s.get_loops("use")[0]),
        "E-SCHEDULE-IRREGULAR",
    ),
    "input changes": (
        lambda: q.pair(extra="input changes"),
        lambda s: s.compute_at("make", s.get_loops("use")[0]),
        "E-SCHEDULE-IRREGULAR",
    ),
    "partial": (
        lambda: q.pair(predicate=lambda i: build.less(i, 3)),
        lambda s: s.compute_at("make", s.get_loops("use")[0]),
        "E-SCHEDULE-PARTIAL",
    ),
    "consumer earlier": (lambda: partial(1, 2)[0], before_what_it_copies, "E-SCHEDULE-CONSUMER-EARLIER"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
