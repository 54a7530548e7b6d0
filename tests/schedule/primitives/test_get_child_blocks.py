"""get_child_blocks: what it answers, and its refusal."""

from __future__ import annotations

from tests.conftest import Golden
from tests.schedule.harness import check_refusal
from tests.schedule.programs import softmax
from workbench.schedule import Schedule


def test_blocks_directly_inside() -> None:
    sch = Schedule(softmax())
    assert [b.target for b in sch.get_child_blocks("root")] == ["top", "shifted", "total", "out"]
    assert [b.target for b in sch.get_child_blocks(sch.get_loops("total")[0])] == ["total"]
    assert sch.get_child_blocks("out") == []


def test_refusal_unknown_block(golden: Golden) -> None:
    check_refusal(golden, softmax, lambda s: s.get_child_blocks("nothing"), "E-SCHEDULE-BLOCK")
