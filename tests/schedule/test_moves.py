"""Moves: the history as a person reads it."""

from __future__ import annotations

import copy
import pickle

import pytest

import workbench as wb
from tests.schedule.programs import plain_matmul
from workbench.core.errors import WorkbenchError
from workbench.tir import Schedule


def names(sch: Schedule) -> tuple[list[str], list[str]]:
    return [move.name for move in sch.moves.done], [move.name for move in sch.moves.ahead]


def test_questions_belong_to_the_move_after_them() -> None:
    sch = Schedule(plain_matmul())
    assert not sch.moves.back() and not sch.moves.forward()
    i, j, k = sch.get_loops("C")
    assert names(sch) == ([], [])
    sch.reorder(i, k, j)
    sch.get_block("C")
    assert names(sch) == (["reorder"], [])
    assert sch.moves.done[0].code.splitlines()[-1] == "sch.reorder(l0, l2, l1)" and len(sch.moves.done[0].steps) == 3


def test_references_of_a_cell_outlive_taking_back() -> None:
    sch = Schedule(plain_matmul())
    i, _, k = sch.get_loops("C")
    sch.unroll(k)
    sch.parallel(i)
    for left in (["unroll"], []):
        assert sch.moves.back() and names(sch)[0] == left
    assert not sch.moves.back() and sch.get(i).var.name == "i"
    assert sch.moves.forward() and sch.moves.forward() and not sch.moves.forward()
    assert names(sch) == (["unroll", "parallel"], [])


def test_ends_where_only_questions_were_asked_are_no_branches() -> None:
    sch = Schedule(plain_matmul())
    sch.unroll(sch.get_loops("C")[2])
    sch.moves.back()
    sch.get_block("C")
    assert sch.moves.stories == ("unroll", "as it was") and sch.moves.branch == 1
    sch.parallel(sch.get_loops("C")[0])
    assert sch.moves.stories == ("unroll", "parallel")
    sch.moves.switch(0)
    assert sch.moves.branch == 0 and names(sch)[0] == ["unroll"]
    for number in (-1, 9):
        with pytest.raises(WorkbenchError, match="no such branch"):
            sch.moves.switch(number)


def test_a_suggestion_of_several_steps_is_several_moves() -> None:
    sch = Schedule(plain_matmul())
    copy = sch.copy()
    i, j, _ = copy.get_loops("C")
    outer, inner = copy.split(j, factors=[None, 2])
    copy.vectorize(inner)
    sch.follow(copy)
    assert names(sch)[0] == ["split", "vectorize"] and sch.fingerprint() == copy.fingerprint()
    sch.parallel(i)
    assert sch.get(outer).var.name == "j_0"


def test_the_rules_of_a_kernel_are_its_moves() -> None:
    from tests.views.test_static import small

    session = wb.open(small())
    sch = session.schedule(session.kernels[0])
    bare = session["Lower"].program[session.kernels[0]].function
    assert sch.moves.done
    while sch.moves.back():
        pass
    assert sch.script() == wb.schedule.Schedule(bare).script()


class _Screen:
    def moved(self) -> None:
        self.told = True


def test_a_schedule_that_is_shown_is_copied_and_pickled_like_any_other() -> None:
    sch, screen = Schedule(plain_matmul()), _Screen()
    sch.watch(screen.moved)
    for made in (copy.deepcopy(sch), pickle.loads(pickle.dumps(sch)), sch.copy()):
        made.parallel(made.get_loops("C")[0])
        assert names(made)[0] == ["parallel"]
    assert not hasattr(screen, "told") and names(sch)[0] == []


def test_ends_with_the_same_moves_are_one_branch_and_none_is_lost() -> None:
    """Each hid the other."""
    sch = Schedule(plain_matmul())
    i, _, k = sch.get_loops("C")
    sch.unroll(k)
    sch.get_block("C")
    sch.undo()
    sch.get_loops("C")
    sch.moves.back()
    sch.parallel(i)
    assert sch.moves.stories == ("unroll", "parallel") and sch.moves.branch == 1
    sch.moves.switch(0)
    assert names(sch)[0] == ["unroll"] and sch.moves.branch == 0
    sch.vectorize(sch.get_loops("C")[1])
    assert sch.moves.stories == ("parallel", "unroll, vectorize")


def test_moves_are_those_of_now() -> None:
    sch = Schedule(plain_matmul())
    moves = sch.moves
    i, _, k = sch.get_loops("C")
    sch.unroll(k)
    sch.parallel(i)
    assert moves.back() and moves.back() and not moves.back() and names(sch) == ([], ["unroll", "parallel"])
    assert moves.forward() and moves.forward() and not moves.forward()


def test_only_a_copy_of_now_is_followed_and_its_branches_come_with_it() -> None:
    sch = Schedule(plain_matmul())
    i, _, k = sch.get_loops("C")
    copy_of_now = sch.copy()
    copy_of_now.unroll(k)
    copy_of_now.undo()
    copy_of_now.parallel(i)
    sch.follow(copy_of_now)
    assert names(sch)[0] == ["parallel"] and sch.moves.stories == ("unroll", "parallel")
    assert sch.undo() and names(sch)[0] == []
    earlier = sch.copy()
    sch.unroll(k)
    earlier.parallel(i)
    for other in (earlier, Schedule(plain_matmul()), pickle.loads(pickle.dumps(sch))):
        with pytest.raises(WorkbenchError, match="E-SCHEDULE-FOLLOW"):
            sch.follow(other)
    assert names(sch)[0] == ["unroll"]


def test_going_back_to_a_mark_leaves_nothing_of_what_came_since() -> None:
    sch = Schedule(plain_matmul())
    i, j, k = sch.get_loops("C")
    sch.unroll(k)
    sch.parallel(i)
    sch.moves.back()
    mark, stories, tree, before = sch.moves.mark(), sch.moves.stories, sch.moves.tree, sch.fingerprint()
    sch.vectorize(j)
    sch.moves.back()
    sch.moves.back()
    sch.moves.back_to(mark)
    assert (sch.moves.stories, sch.moves.tree, sch.fingerprint()) == (stories, tree, before)
    assert names(sch) == (["unroll"], ["parallel"]) and sch.moves.forward() and names(sch)[0] == ["unroll", "parallel"]


def test_a_state_is_found_by_its_fingerprint() -> None:
    sch = Schedule(plain_matmul())
    first = sch.fingerprint()
    sch.unroll(sch.get_loops("C")[2])
    second = sch.fingerprint()
    sch.moves.back()
    sch.parallel(sch.get_loops("C")[0])
    assert sch.moves.find(sch.fingerprint()) == sch.moves.here
    for wanted in (first, second):
        number = sch.moves.find(wanted)
        assert number is not None
        sch.moves.go(number)
        assert sch.fingerprint() == wanted
    assert sch.moves.find("no such") is None


def test_moves_that_were_told_are_forgotten_with_the_states_they_led_to() -> None:
    sch = Schedule(plain_matmul())
    i, _, k = sch.get_loops("C")
    mark = sch.moves.mark()
    sch.unroll(k)
    assert names(sch) == (["unroll"], [])
    sch.moves.back_to(mark)
    sch.parallel(i)  # a state of the same number
    assert names(sch) == (["parallel"], []) and names(sch.copy()) == (["parallel"], [])
