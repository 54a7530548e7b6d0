"""bind: golden before and after, each refusal."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule


def test_thread(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.bind(sch.get_loops("D")[0], "threadIdx.x")

    check_steps(golden, p.matmul, steps, runs=False)


def test_cross_thread(golden: Golden) -> None:
    """A sum over the threads of a group; what stands beside it in the loop is checked as ever."""

    def steps(sch: Schedule) -> None:
        sch.bind(sch.get_loops("C")[0], "blockIdx.x")
        sch.bind(sch.get_loops("C")[2], "threadIdx.x", cross_thread=True)

    sch = check_steps(golden, p.matmul, steps, runs=False)
    assert any("across threads" in note for found in sch.notes.values() for note in found)


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "axis": (p.matmul, lambda s: s.bind(s.get_loops("D")[0], "threadIdx.q"), "E-SCHEDULE-THREAD"),
    "reduction": (p.matmul, lambda s: s.bind(s.get_loops("C")[2], "threadIdx.x"), "E-SCHEDULE-DEPENDENCE"),
    "cross_thread_data": (
        p.matmul,
        lambda s: s.bind(s.get_loops("C")[0], "threadIdx.x", cross_thread=True),
        "E-SCHEDULE-NOT-REDUCTION-LOOP",
    ),
    "cross_thread_blocks": (
        p.matmul,
        lambda s: s.bind(s.get_loops("C")[2], "blockIdx.x", cross_thread=True),
        "E-SCHEDULE-THREAD",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
