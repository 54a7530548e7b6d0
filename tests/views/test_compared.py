"""A layer of one session beside the same of another."""

from __future__ import annotations

import workbench as wb
from tests.schedule.programs import plain_matmul
from workbench.schedule import Schedule
from workbench.views.compared import compared
from workbench.views.layers import LayersModel


def test_what_a_compiler_numbers_anew_is_no_difference() -> None:
    """A remark in the loops changes lines of debug information and nothing that is computed."""
    plain = wb.open(Schedule(plain_matmul(16, 16, 16)))
    schedule = plain.schedule("main")
    schedule.annotate(schedule.get_block("C"), "remark", "x")
    other = plain.edit(schedule={"main": schedule})
    found = compared(LayersModel(plain), LayersModel(other), "asm", "main")
    assert found.hunks == ()
    schedule.parallel(schedule.get_loops("C")[0])
    parallel = plain.edit(schedule={"main": schedule})
    assert compared(LayersModel(plain), LayersModel(parallel), "asm", "main").added > 0
