"""What is opened: schedules with their history."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import te, tir
from workbench.core.module import IRModule

SIZE = 32
RNG = np.random.default_rng(7)
INPUTS = {name: RNG.standard_normal((SIZE, SIZE)).astype(np.float32) for name in "AB"}


def _product() -> list[Any]:
    a, b = (te.placeholder((SIZE, SIZE), name=name) for name in "AB")
    k = te.reduce_axis((0, SIZE), "k")
    return [a, b, te.compute((SIZE, SIZE), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]


def _loops(*names: str) -> tir.Schedule:
    functions = {name: te.create_prim_func(_product(), name=name) for name in names}
    return tir.Schedule(IRModule(functions) if len(names) > 1 else functions[names[0]])


def _split(schedule: tir.Schedule, factor: int = 8) -> tir.Schedule:
    i, j, k = schedule.get_loops(schedule.get_block("C"))
    outer, inner = schedule.split(j, factors=[None, factor])
    schedule.reorder(i, outer, k, inner)
    schedule.vectorize(inner)
    return schedule


def _taken_back() -> tir.Schedule:
    schedule = _split(_loops("main"))
    schedule.undo()
    return schedule


def _of_stages() -> Any:
    c = _product()[-1]
    schedule = te.create_schedule(c.op)
    schedule[c].vectorize(schedule[c].split(schedule[c].op.axis[1], factor=8)[1])
    return schedule


def _unsafe() -> tir.Schedule:
    schedule = _loops("main")
    schedule.parallel(schedule.get_loops(schedule.get_block("C"))[1], unsafe=True)
    return schedule


@pytest.mark.parametrize(
    ("make", "moves"),
    [
        (lambda: _split(_loops("main")), ["split", "reorder", "vectorize"]),
        (lambda: _split(_loops("product")), ["split", "reorder", "vectorize"]),
        (_taken_back, ["split", "reorder"]),
        (_of_stages, ["split", "vectorize", "decompose_reduction"]),
        (_unsafe, ["parallel"]),
        (lambda: _loops("main"), []),
    ],
    ids=["loops", "another name", "one step taken back", "stages", "unsafe", "nothing done"],
)
def test_a_schedule_opens_with_its_moves(make: Callable[[], Any], moves: list[str], tmp_path: Path) -> None:
    opened = make()
    loops = opened if isinstance(opened, tir.Schedule) else opened.to_schedule()
    session = wb.open(opened)
    (kernel,) = session.kernels
    assert [move.name for move in session.schedule(kernel).moves.done] == moves
    assert session.tir.script() == loops.mod.script()
    assert session.schedule(kernel, default=False).moves.done == ()
    session.save(str(tmp_path / "s.wb.json"))
    for made in (session, wb.open(str(tmp_path / "s.wb.json"))):
        np.testing.assert_allclose(made.run(INPUTS)["C"], INPUTS["A"] @ INPUTS["B"], rtol=1e-4, atol=1e-4)


def test_a_step_of_an_opened_schedule_is_taken_back() -> None:
    session = wb.open(_split(_loops("main")))
    schedule = session.schedule("main")
    assert schedule.moves.back()
    assert "T.vectorized" not in session.edit(schedule={"main": schedule}).tir["main"].script()
    assert "T.vectorized" in session.tir["main"].script()


def test_what_is_done_to_a_schedule_later_leaves_its_session_alone() -> None:
    schedule = _split(_loops("main"))
    session = wb.open(schedule)
    schedule.restart()
    assert "T.vectorized" in session.tir["main"].script()


def test_of_two_functions_the_one_that_was_scheduled_has_the_moves() -> None:
    schedule = _loops("first", "second")
    schedule.work_on("second")
    session = wb.open(_split(schedule))
    assert [len(session.schedule(name).moves.done) for name in ("first", "second")] == [0, 3]


def test_a_schedule_of_two_functions_opens_as_what_it_made() -> None:
    """A trace tells of one function: the program is what both became, and no move is lost from it."""
    schedule = _loops("first", "second")
    schedule.work_on("first")
    _split(schedule)
    schedule.work_on("second")
    session = wb.open(_split(schedule, 4))
    assert "Schedule" not in session.labels and session.tir.script() == schedule.mod.script()


def test_a_schedule_that_went_on_from_another_opens_as_what_it_made() -> None:
    """Where the first steps belong to another handle, the program before them is not known."""
    begun = _split(_loops("main"))
    session = wb.open(tir.Schedule(begun.state))
    assert session.tir.script() == begun.mod.script()
