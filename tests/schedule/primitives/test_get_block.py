"""get_block: what it answers, and its refusal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal
from workbench.analysis.tree import Tree
from workbench.core.module import IRModule
from workbench.schedule import Schedule, ScheduleError, Trace


def test_the_block_of_a_name() -> None:
    sch = Schedule(p.matmul())
    assert sch.get_block("C").target == "C" and sch.get(sch.get_block("D")).name == "D"


def two_functions() -> Any:
    return IRModule({"first": p.matmul(), "second": p.chain()})


def test_blocks_of_other_functions(golden: Golden) -> None:
    sch = Schedule(two_functions())
    first, second = sch.get_block("C"), sch.get_block("one", func_name="second")
    sch.compute_inline(second)
    i, j, k = sch.get_loops(first)
    sch.reorder(k, j)
    sch.parallel(sch.get_loops(sch.get_block("four", func_name="second"))[0])
    assert sch.func_working_on == "first" and i
    assert "one" not in Tree.of(sch.mod["second"]).blocks
    golden(sch.code())
    again = Schedule(two_functions())
    Trace.from_json(sch.trace.as_json()).apply_to(again)
    assert again.fingerprint() == sch.fingerprint()
    again.work_on("second")
    with pytest.raises(ScheduleError, match="no block 'C'"):
        again.get_block("C")
    again.vectorize(again.get_loops("four")[1])
    assert sch.get(first).name == "C"


def of_two_functions(sch: Schedule) -> Any:
    one = sch.get_loops("C")[0]
    other = sch.get_loops(sch.get_block("one", func_name="second"))[0]
    return sch.reorder(one, other)


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "several functions": (two_functions, of_two_functions, "E-SCHEDULE-SEVERAL-FUNCTIONS"),
    "no such function": (two_functions, lambda s: s.get_block("C", func_name="frist"), "E-SCHEDULE-FUNCTION"),
    "no such block": (p.matmul, lambda s: s.get_block("E"), "E-SCHEDULE-BLOCK"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
