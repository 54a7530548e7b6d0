"""split: golden before and after, each refusal."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conftest import Golden
from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule
from workbench.tir.interpret import interpret


def test_exact(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.split(sch.get_loops("C")[1], factors=[None, 3])

    check_steps(golden, p.matmul, steps)


def test_guarded(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.split(sch.get_loops("C")[2], factors=[2, None])
        sch.split(sch.get_loops("D")[1], factors=[3, 3])

    check_steps(golden, p.matmul, steps)


def test_unit_variables_left_out(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.split(sch.get_loops("C")[1], factors=[1, None, 1], preserve_unit_iters=False)
        sch.split(sch.get_loops("D")[1], factors=[None, 1])

    check_steps(golden, p.matmul, steps)


def test_no_guard_asked_for(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.split(sch.get_loops("D")[1], factors=[None, 3], disable_predication=True)

    check_steps(golden, p.matmul, steps)


def test_symbolic(golden: Golden) -> None:
    func = q.symbolic()
    sch = Schedule(func)
    outer, inner = sch.split(sch.get_loops("Y")[0], factors=[None, 4])
    sch.parallel(outer)
    sch.vectorize(inner)
    golden(sch.script())
    data, result = np.arange(10, dtype="float32"), np.zeros(10, "float32")
    interpret(sch.func, data, result)
    np.testing.assert_array_equal(result, data + 1)


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "unguarded": (
        p.matmul,
        lambda s: s.split(s.get_loops("D")[1], factors=[None, 4], disable_predication=True),
        "E-SCHEDULE-UNGUARDED",
    ),
    "kind": (p.matmul, lambda s: s.split(q.annotated_first(s)[0], factors=[None, 2]), "E-SCHEDULE-SPLIT-KIND"),
    "two open factors": (
        p.matmul,
        lambda s: s.split(s.get_loops("D")[0], factors=[None, None]),
        "E-SCHEDULE-SPLIT-FACTORS",
    ),
    "product": (p.matmul, lambda s: s.split(s.get_loops("D")[1], factors=[2, 2]), "E-SCHEDULE-SPLIT-PRODUCT"),
    "factor zero": (p.matmul, lambda s: s.split(s.get_loops("D")[1], factors=[None, 0]), "E-SCHEDULE-ARGUMENT"),
    "factor text": (p.matmul, lambda s: s.split(s.get_loops("D")[1], factors=[None, "4"]), "E-SCHEDULE-ARGUMENT"),
    "missing argument": (p.matmul, lambda s: s.split(s.get_loops("D")[1]), "E-SCHEDULE-ARGUMENT"),
    "statements": (
        lambda: q.pair(extra="statement"),
        lambda s: s.split(q.loose_loop(s), factors=[None, 2]),
        "E-SCHEDULE-GUARD",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
