"""Found by random schedules (seed 102554): cache_read copied elements of a buffer that its producer never writes."""

from __future__ import annotations

import numpy as np

from tests.schedule.executing import inputs
from tests.schedule.programs import fused_pair
from workbench.schedule import Schedule
from workbench.tir.interpret import interpret


def test_cache_read_copies_only_what_is_written() -> None:
    func = fused_pair()
    sch = Schedule(func)
    copy = sch.cache_write("use", 0, "local")
    sch.cache_read(copy, 0, "global")
    expected, found = inputs(func), inputs(func)
    interpret(func, *expected)
    interpret(sch.func, *found)
    assert np.array_equal(found[-1], expected[-1])
