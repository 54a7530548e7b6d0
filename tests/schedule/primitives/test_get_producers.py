"""get_producers: what it answers, and its refusal."""

from __future__ import annotations

from tests.conftest import Golden
from tests.schedule.harness import check_refusal
from tests.schedule.programs import softmax
from workbench.schedule import Schedule


def test_writers_of_what_is_read() -> None:
    sch = Schedule(softmax())
    assert [b.target for b in sch.get_producers("shifted")] == ["top"]
    assert [b.target for b in sch.get_producers("out")] == ["shifted", "total"]
    assert sch.get_producers("top") == []


def test_refusal_unknown_block(golden: Golden) -> None:
    check_refusal(golden, softmax, lambda s: s.get_producers("nothing"), "E-SCHEDULE-BLOCK")
