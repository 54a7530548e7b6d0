"""get_loops: what it answers, and its refusal."""

from __future__ import annotations

from tests.conftest import Golden
from tests.schedule.harness import check_refusal
from tests.schedule.programs import softmax
from workbench.schedule import Schedule
from workbench.tir import nodes as t


def test_loops_outermost_first() -> None:
    sch = Schedule(softmax())
    loops = sch.get_loops("total")
    assert [loop.target.name for loop in loops] == ["i", "k2"]
    found = sch.get(loops[0])
    assert isinstance(found, t.For) and found.var.name == "i"
    assert sch.get_loops("root") == []


def test_refusal_unknown_block(golden: Golden) -> None:
    check_refusal(golden, softmax, lambda s: s.get_loops("nothing"), "E-SCHEDULE-BLOCK")
