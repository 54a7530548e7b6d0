"""Which moves made the loops of a schedule."""

from __future__ import annotations

from tests.schedule.programs import plain_matmul
from workbench.schedule import Schedule
from workbench.schedule.makers import makers


def names(sch: Schedule) -> dict[str, list[str]]:
    moves = sch.moves.done
    return {loop: [moves[number - 1].name for number in numbers] for loop, numbers in makers(sch).items()}


def test_loops_that_nothing_has_touched_have_no_moves() -> None:
    sch = Schedule(plain_matmul(16, 16, 16))
    assert makers(sch) == {}
    i, _, _ = sch.get_loops("C")
    sch.parallel(i)
    assert names(sch) == {"i": ["parallel"], "j": [], "k": []}


def test_splits_marks_and_orders_are_told_and_the_loops_inside_are_left_alone() -> None:
    sch = Schedule(plain_matmul(16, 16, 16))
    i, j, k = sch.get_loops("C")
    sch.split(i, factors=[None, 4])
    assert names(sch) == {"i_0": ["split"], "i_1": ["split"], "j": [], "k": []}
    sch.reorder(k, j)
    assert names(sch) == {"i_0": ["split"], "i_1": ["split"], "j": ["reorder"], "k": ["reorder"]}
    sch.vectorize(j)
    assert names(sch)["j"] == ["reorder", "vectorize"]


def test_a_move_taken_back_is_not_told() -> None:
    sch = Schedule(plain_matmul(16, 16, 16))
    i, _, _ = sch.get_loops("C")
    sch.parallel(i)
    sch.moves.back()
    assert makers(sch) == {}
