"""What the lines of branches say of schedules: the moves that a branch has and the one it parts from has not."""

from __future__ import annotations

from typing import Any

import workbench as wb
from tests.driver.programs import small_model

ALL = ("annotate", "unroll", "parallel", "split")


def moved(session: Any, moves: tuple[str, ...], *kernels: str) -> Any:
    """The session with these moves on the loops of each kernel's first block."""
    schedules: dict[str, Any] = {}
    for kernel in kernels:
        schedule = session.schedule(kernel).copy()
        first, *inner = schedule.get_loops(schedule.get_child_blocks(schedule.get_block("root"))[0])
        for move in moves:
            if move == "annotate":
                schedule.annotate(first, "seen", 1)
            elif move == "split":
                schedule.split(inner[0], [None, 1])
            else:
                getattr(schedule, move)(inner[-1] if move == "unroll" else first)
        schedules[kernel] = schedule
    return session.edit(schedule=schedules)


def lines(session: Any) -> list[str]:
    """What each branch has that the one it parts from has not."""
    return [line.partition(": ")[2].rpartition(" (")[0] for line in str(session.branches).split("\n")]


def test_the_moves_of_a_branch_are_named_the_last_three_of_many() -> None:
    session = wb.open(small_model())
    kernel, other, *_ = session.kernels
    moved(session, ALL[:2], kernel)
    moved(session, ALL, kernel)
    moved(session, ALL[:1], kernel, other)
    under = moved(session, ALL[:1], other).rerun(target="llvm -mcpu=x86-64-v3")
    assert lines(under)[1:] == [
        "~Schedule (annotate, unroll)",
        "~Schedule (..., unroll, parallel, split)",
        "~Schedule (2 kernels)",
        "~Schedule (annotate)",
        "target llvm -mcpu=x86-64-v3",
    ]
