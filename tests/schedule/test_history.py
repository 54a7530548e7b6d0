"""Undo, redo, branches, and moving a tail of steps onto another branch."""

from __future__ import annotations

import numpy as np
import pytest

from tests.schedule import programs as p
from tests.schedule.executing import inputs
from workbench.schedule import Schedule, ScheduleError
from workbench.tir.interpret import interpret


def tiled() -> Schedule:
    sch = Schedule(p.matmul())
    block = sch.get_block("D")
    _, j = sch.get_loops(block)
    _, inner = sch.split(j, factors=[None, 3])
    sch.vectorize(inner)
    return sch


def test_a_step_after_an_undo_begins_a_branch() -> None:
    sch = tiled()
    first = sch.fingerprint()
    assert sch.undo()
    sch.unroll(sch.get_loops("D")[2])
    second = sch.fingerprint()
    assert len(sch.branches) == 2
    assert [branch.current for branch in sch.branches] == [False, True]
    sch.switch(0)
    assert sch.fingerprint() == first
    sch.switch(1)
    assert sch.fingerprint() == second
    assert sch.undo(3) and sch.redo(3) and sch.fingerprint() == second


def test_redo_follows_the_branch_last_visited() -> None:
    sch = tiled()
    first = sch.fingerprint()
    sch.undo()
    sch.unroll(sch.get_loops("D")[2])
    sch.switch(0)
    assert sch.undo() and sch.redo()
    assert sch.fingerprint() == first
    assert not sch.redo()
    assert not sch.undo(100) and sch.fingerprint() == first


def test_branches_print_as_a_tree() -> None:
    sch = tiled()
    sch.undo()
    sch.parallel(sch.get_loops("D")[0])
    assert str(sch.branches) == (
        "  0  get_block, get_loops, split, vectorize\n* 1  from 0 after step 3: get_block, get_loops, parallel"
    )


def test_a_copy_has_branches_of_its_own() -> None:
    sch = tiled()
    other = sch.copy()
    other.undo()
    other.parallel(other.get_loops("D")[0])
    assert len(other.branches) == 2 and len(sch.branches) == 1


@pytest.mark.parametrize("number", [2, -3, "0"])
def test_an_unknown_branch_is_refused(number: object) -> None:
    sch = tiled()
    sch.undo()
    sch.parallel(sch.get_loops("D")[0])
    before = sch.fingerprint()
    with pytest.raises(ScheduleError) as caught:
        sch.switch(number)  # type: ignore[arg-type]
    assert caught.value.code == "E-SCHEDULE-BRANCH-NUMBER" and "0 to 1" in str(caught.value)
    assert sch.fingerprint() == before


def test_rebase_applies_the_tail_to_another_branch() -> None:
    sch = Schedule(p.matmul())
    i, _ = sch.get_loops("D")
    sch.parallel(i)
    sch.undo()
    _, j = sch.get_loops("C")[:2]
    sch.split(j, factors=[None, 2])
    report = sch.rebase(0)
    assert report.complete and report.shared == 2
    assert [step.primitive for step in report.schedule.trace][-2:] == ["get_loops", "split"] or report.applied
    assert "T.parallel" in report.schedule.script()
    expected, found = inputs(p.matmul()), inputs(p.matmul())
    interpret(p.matmul(), *expected)
    interpret(report.schedule.func, *found)
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


def test_rebase_says_what_no_longer_applies() -> None:
    """The other branch has split the loop; what needs the loop, or what it became, is left out with a reason."""
    sch = Schedule(p.matmul())
    i, j = sch.get_loops("D")
    sch.split(j, factors=[None, 2])
    sch.undo()
    sch.parallel(i)
    outer, inner = sch.split(j, factors=[None, 3])
    sch.vectorize(inner)
    sch.unroll(outer)
    before = sch.fingerprint()
    report = sch.rebase(0)
    assert [item.step.primitive for item in report.dropped] == ["split", "vectorize", "unroll"]
    assert str(report) == (
        "1 of 4 steps apply (the first 2 are shared)\n"
        "  step 4, l2, l3 = sch.split(l1, factors=[None, 3]): loop l1 is gone: step 3 (split) replaced it\n"
        "  step 5, sch.vectorize(l3): needs what step 4 made\n"
        "  step 6, sch.unroll(l2): needs what step 4 made"
    )
    assert "T.parallel" in report.schedule.script() and sch.fingerprint() == before


def test_rebase_of_another_function_is_refused() -> None:
    from workbench.core.module import IRModule

    module = IRModule({"one": p.matmul(), "two": p.chain()})
    first, second = Schedule(module), Schedule(module)
    second.work_on("two")
    with pytest.raises(ScheduleError) as caught:
        first.rebase(second)
    assert caught.value.code == "E-SCHEDULE-REBASE" and caught.value.fix


def test_restarting_goes_to_the_first_state_and_keeps_what_was_done() -> None:
    sch = tiled()
    first, last = sch.first_state.fingerprint, sch.fingerprint()
    sch.restart()
    assert sch.fingerprint() == first and sch.trace.steps == ()
    sch.restart()
    sch.unroll(sch.get_loops("D")[0])
    assert len(sch.branches) == 2
    sch.switch(0)
    assert sch.fingerprint() == last


def test_a_schedule_that_begins_anew_has_the_history_of_its_program_and_finds_the_way_back() -> None:
    sch, other = Schedule(p.matmul()), Schedule(p.matmul(16))
    sch.parallel(sch.get_loops("D")[0])
    before = sch.moves.fingerprint
    other.unroll(other.get_loops("D")[1])
    sch.moves.begin_anew(other.moves)
    assert sch.fingerprint() == other.fingerprint() and sch.first_state.func is other.first_state.func
    assert [move.name for move in sch.moves.done] == ["unroll"] and len(sch.branches) == 1
    assert len(sch.moves.tree) == 2 and len(sch.moves.stories) == 1
    assert sch.moves.find(before) is None
    sch.restart()
    assert sch.func is other.first_state.func and not sch.undo() and sch.redo()
    back = sch.moves.find(before, everywhere=True)
    assert back is not None
    sch.moves.go(back)
    assert sch.moves.fingerprint == before and [move.name for move in sch.moves.done] == ["parallel"]
