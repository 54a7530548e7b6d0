"""What the lines of branches say of schedules: the moves that a branch has and the one it parts from has not."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest

import workbench as wb
from tests.driver.programs import small_model
from workbench.driver import branches
from workbench.driver.history import History

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


def test_a_branch_names_the_steps_as_the_list_of_steps_does() -> None:
    """Three steps are called FoldConstant: which of them is gone, and after which one another came, was not said."""
    session = wb.open(small_model())
    session.without("FoldConstant#2")
    session.without("FuseOps")
    made = session.rerun(insert={"FoldConstant#3": "FoldConstant"})
    made.rerun(replace={"FuseOps": wb.relay.transform.FuseOps(fuse_opt_level=0)})
    said = [line[5:].rpartition(" (")[0] for line in str(session.branches).split("\n")]
    before = session.labels[session.labels.index("FoldConstant#2") - 1]
    assert said[1:] == [
        f"from 0 after {before}: -FoldConstant#2", "from 0 after FoldConstant#3: -FuseOps",
        "from 0 after FoldConstant#3: +FoldConstant#4", "from 3 after FoldConstant#4: ~FuseOps",
    ]  # fmt: skip


def test_no_two_branches_have_one_title() -> None:
    """The moves of a default schedule taken back one by one end in the same three, and splits differ in factors."""
    session = wb.open(small_model())
    kernel = session.kernels[0]
    schedule = session.schedule(kernel).copy()
    while schedule.moves.back():
        session.edit(schedule={kernel: schedule})
    for size in (1, 2):
        one = session.schedule(kernel).copy()
        one.split(one.get_loops(one.get_child_blocks(one.get_block("root"))[0])[1], [None, size])
        session.edit(schedule={kernel: one})
    told = lines(session)
    assert len(set(told)) == len(told) > 5
    assert re.match(r"~Schedule \(\d+ moves: \.\.\., ", told[1])
    assert told[-2:] == ["~Schedule (split)", "~Schedule (split) #2"]


def test_two_threads_number_branches_alike_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One looks at the branches while the other has begun to: both had numbered each branch, the second time anew."""
    session = wb.open(small_model())
    for name in ("FoldConstant", "FuseOps", "SimplifyExpr"):
        session.without(name)
    begun, done = threading.Event(), threading.Event()

    def parts(history: History, index: int) -> str:
        if threading.current_thread() is second:
            begun.set()
            done.wait(10)
        elif index == 1:
            second.start()
            begun.wait(0.3)  # no longer where it has to wait for this one
        return "from 0 after Import: other order"

    monkeypatch.setattr(branches, "_parts", parts)
    second = threading.Thread(target=lambda: lines(session))
    told = lines(session)
    done.set()
    second.join()
    assert lines(session) == told and told[1:] == ["other order", "other order #2", "other order #3"]
