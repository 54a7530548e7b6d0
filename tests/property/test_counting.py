"""Reads of unfinished sums are told by counting."""

from __future__ import annotations

import random

from tests.property.counting import unfinished_reads
from tests.property.schedule_programs import Case, drawn
from tests.property.sum_programs import running_sum
from workbench.schedule import Schedule


def test_what_has_been_added_so_far_is_unfinished() -> None:
    case = Case("running_sum", *running_sum(2, 3))
    assert unfinished_reads(case.func, case) == {"so_far"}


def test_a_copy_in_the_loop_of_a_sum_reads_it_unfinished() -> None:
    case = drawn(random.Random(3), "pooling")
    assert unfinished_reads(case.func, case) == set()
    inside, outside = Schedule(case.func), Schedule(case.func)
    loops = inside.get_loops("pool")
    inside.write_at(loops[3], inside.get_block("pool"), 0, "local", unsafe=True)
    outside.write_at(outside.get_loops("pool")[1], outside.get_block("pool"), 0, "local")
    assert unfinished_reads(inside.func, case) == {"pool_local_copy"}
    assert unfinished_reads(outside.func, case) == set()


def test_a_sum_made_again_is_finished_each_time() -> None:
    case = drawn(random.Random(1), "average")
    sch = Schedule(case.func)
    sch.compute_at(sch.get_block("pool"), sch.get_loops("out")[1])
    assert unfinished_reads(sch.func, case) == set()
