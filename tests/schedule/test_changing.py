"""A step done again with other arguments: the later steps follow, or nothing happens and one of them is named."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.schedule.programs import plain_matmul
from workbench.core.equal import fingerprint
from workbench.schedule import Schedule, ScheduleError


def tiled(factor: int = 8, size: int = 24) -> Schedule:
    sch = Schedule(plain_matmul(size, size, size))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    i_0, i_1 = sch.split(i, factors=[None, 4])
    j_0, j_1 = sch.split(j, factors=[None, factor])
    sch.reorder(i_0, j_0, k, i_1, j_1)
    sch.vectorize(j_1)
    return sch


@pytest.mark.parametrize("factor", [1, 5, 12, 24, 40])
def test_the_program_is_the_one_that_the_other_factor_makes(factor: int) -> None:
    sch = tiled()
    sch.change(4, factors=[None, factor])
    assert fingerprint(sch.func) == fingerprint(tiled(factor).func)
    assert sch.code() == tiled(factor).code()


def test_the_changed_program_computes_the_same() -> None:
    sch = tiled()
    sch.change(4, factors=[None, 7])
    a, b = (np.random.default_rng(n).integers(-3, 4, (24, 24)).astype("float32") for n in (0, 1))
    c = np.zeros((24, 24), "float32")
    wb.build(sch.func)(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def test_what_it_was_stays_a_branch_and_is_found_again() -> None:
    sch = tiled()
    before = sch.fingerprint()
    sch.change(4, factors=[None, 12])
    assert len(sch.branches) == 2
    sch.change(4, factors=[None, 8])
    assert sch.fingerprint() == before
    assert len(sch.branches) == 2
    sch.change(4, factors=[None, 12])
    assert len(sch.branches) == 2
    assert [move.name for move in sch.moves.done] == ["split", "split", "reorder", "vectorize"]


def test_a_later_move_that_is_refused_is_named_and_nothing_happens() -> None:
    sch = Schedule(plain_matmul(24, 24, 24))
    block = sch.get_block("C")
    i, j, _ = sch.get_loops(block)
    _, j_1 = sch.split(j, factors=[None, 8])
    sch.split(j_1, factors=[4, 2], disable_predication=True)
    sch.parallel(i)
    before, branches = sch.fingerprint(), len(sch.branches)
    with pytest.raises(ScheduleError) as caught:
        sch.change(3, factors=[None, 6])
    assert caught.value.code == "E-SCHEDULE-CHANGE"
    assert "split in step 4" in caught.value.message
    assert (sch.fingerprint(), len(sch.branches)) == (before, branches)


@pytest.mark.parametrize(
    ("number", "arguments", "code"),
    [
        (0, {"factors": [None, 2]}, "E-SCHEDULE-STEP-NUMBER"),
        (9, {"factors": [None, 2]}, "E-SCHEDULE-STEP-NUMBER"),
        (4, {"factor": 3}, "E-SCHEDULE-ARGUMENT"),
        (4, {"factors": [None, None]}, "E-SCHEDULE-SPLIT-FACTORS"),
        (4, {"factors": [None, 0]}, "E-SCHEDULE-ARGUMENT"),
    ],
)
def test_what_cannot_be_meant_is_refused(number: int, arguments: dict[str, object], code: str) -> None:
    sch = tiled()
    before = sch.fingerprint()
    with pytest.raises(ScheduleError) as caught:
        sch.change(number, **arguments)
    assert caught.value.code == code
    assert sch.fingerprint() == before


def test_a_step_from_before_the_schedule_began_is_refused() -> None:
    sch = Schedule(tiled().state)
    with pytest.raises(ScheduleError, match="before this schedule began"):
        sch.change(4, factors=[None, 12])


def test_whoever_watches_is_told() -> None:
    class Watcher:
        seen = 0

        def moved(self) -> None:
            self.seen += 1

    sch, watcher = tiled(), Watcher()
    sch.watch(watcher.moved)
    sch.change(4, factors=[None, 12])
    assert watcher.seen == 1


def test_a_step_is_left_out_and_the_later_ones_follow() -> None:
    sch = tiled()
    number = next(at for at, step in enumerate(sch.trace.steps, 1) if step.primitive == "reorder")
    sch.leave_out(number)
    assert [move.name for move in sch.moves.done] == ["split", "split", "vectorize"]
    expected = Schedule(plain_matmul(24, 24, 24))
    i, j, _ = expected.get_loops(expected.get_block("C"))
    expected.split(i, factors=[None, 4])
    _, j_1 = expected.split(j, factors=[None, 8])
    expected.vectorize(j_1)
    assert fingerprint(sch.func) == fingerprint(expected.func)
    assert len(sch.branches) == 2


def test_a_step_that_later_ones_need_is_not_left_out() -> None:
    sch = tiled()
    before = sch.fingerprint()
    number = next(at for at, step in enumerate(sch.trace.steps, 1) if step.primitive == "split")
    with pytest.raises(ScheduleError, match="without step"):
        sch.leave_out(number)
    assert sch.fingerprint() == before
    with pytest.raises(ScheduleError, match="changes nothing"):
        sch.leave_out(1)
    with pytest.raises(ScheduleError, match="no such step"):
        sch.leave_out(99)
