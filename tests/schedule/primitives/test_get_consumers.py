"""get_consumers: what it answers, and its refusal."""

from __future__ import annotations

from tests.conftest import Golden
from tests.schedule.harness import check_refusal
from tests.schedule.programs import softmax
from workbench.schedule import Schedule


def test_readers_of_what_is_written() -> None:
    sch = Schedule(softmax())
    assert [b.target for b in sch.get_consumers("shifted")] == ["total", "out"]
    assert sch.get_consumers("out") == []


def test_refusal_unknown_block(golden: Golden) -> None:
    check_refusal(golden, softmax, lambda s: s.get_consumers("nothing"), "E-SCHEDULE-BLOCK")
