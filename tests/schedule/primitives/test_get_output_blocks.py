"""get_output_blocks: golden before and after, each refusal."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal
from workbench.schedule import Schedule


def test_blocks_that_write_parameters() -> None:
    sch = Schedule(p.matmul())
    assert [block.target for block in sch.get_output_blocks("root")] == ["D"]
    assert sch.get_output_blocks("D") == []
    assert [block.target for block in Schedule(p.argmax()).get_output_blocks("root")] == ["M"]
    both = Schedule(q.old_values())
    assert [block.target for block in both.get_output_blocks("root")] == ["early", "use"]


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "unknown block": (p.matmul, lambda s: s.get_output_blocks("nothing"), "E-SCHEDULE-BLOCK"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
