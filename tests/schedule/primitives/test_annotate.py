"""annotate: golden before and after, each refusal."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule, ScheduleError, Trace
from workbench.tir.outside import IMPORT_LLVM


def test_block_and_loop(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        block = sch.get_block("C")
        sch.annotate(block, "note", "why")
        sch.annotate(sch.get_loops(block)[0], "factor", 4)

    check_steps(golden, p.plain_matmul, steps)


def test_dicts_of_data(golden: Golden) -> None:
    data = {"tiles": [4, {"result": "x"}], "why": None, "map": {"of": {}}}
    sch = check_steps(golden, p.plain_matmul, lambda s: s.annotate("C", "note", data))
    held = sch.get(sch.get_block("C")).annotations["note"]
    assert held["tiles"][1]["result"] == "x" and held["map"]["of"] == {}


def test_a_dict_hides_no_native_code_in_a_trace() -> None:
    sch = Schedule(p.plain_matmul())
    sch.annotate("C", "note", {"more": [{IMPORT_LLVM: "define void @f()"}]})
    with pytest.raises(ScheduleError, match="E-TRACE-CODE"):
        Trace.from_json(sch.trace.as_json())


@pytest.mark.parametrize("value", [{1: 2}, {"a": {2}}, {"a": {"b": object()}}, {"\ud800": 1}, {"a": "\ud800"}])
def test_what_is_no_data_in_a_dict_is_refused(value: object) -> None:
    with pytest.raises(ScheduleError, match="E-SCHEDULE-ARGUMENT"):
        Schedule(p.plain_matmul()).annotate("C", "note", value)


def test_drawn_numbers_stand_in_no_dict() -> None:
    sch = Schedule(p.plain_matmul())
    drawn = sch.sample_categorical([1, 2], [0.5, 0.5])
    with pytest.raises(ScheduleError, match="E-SCHEDULE-ARGUMENT"):
        sch.annotate("C", "note", {"tile": [drawn]})


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "empty": (p.matmul, lambda s: s.annotate(s.get_block("C"), "", 1), "E-SCHEDULE-ANNOTATION"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
