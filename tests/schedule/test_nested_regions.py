"""Blocks around other blocks declare what those touch, after every change inside."""

from __future__ import annotations

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_steps
from workbench.schedule import Schedule


def test_inlined_into_a_block_inside_a_block(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.blockize(sch.get_loops("four")[1])
        sch.compute_inline("three")

    check_steps(golden, p.chain, steps)


def test_another_layout_of_what_a_block_inside_a_block_reads(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.blockize(sch.get_loops("four")[1])
        sch.transform_layout("three", "three", lambda i, j: (j // 2, i, j % 2))

    check_steps(golden, p.chain, steps)
