"""The annotation "double_buffer_scope": kept, printed and replayed; builds for CPUs ignore it."""

from __future__ import annotations

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_steps
from tests.schedule.numpy_checks import check_matmul
from workbench.schedule import Schedule


def doubled(sch: Schedule) -> None:
    block = sch.cache_read("C", 1, "global")
    sch.compute_at(block, sch.get_loops("C")[0])
    sch.annotate(block, "double_buffer_scope", 0)
    sch.annotate(sch.get_loops(block)[0], "double_buffer_write", 1)


def test_printed_and_replayed(golden: Golden) -> None:
    check_steps(golden, p.matmul, doubled)


def test_machine_code_agrees_with_numpy() -> None:
    check_matmul(doubled)
