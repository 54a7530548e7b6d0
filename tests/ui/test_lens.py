"""The commands of the tile lens: what is drawn, releasing a factor, running the result."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from tests.browser.lens_programs import matmul_tiled
from tests.schedule.programs import plain_matmul
from workbench.analysis.cache import simulate_cache
from workbench.core.errors import WorkbenchError
from workbench.schedule import Schedule
from workbench.ui.lens import LensCommands, TileLens
from workbench.ui.protocol import Answer
from workbench.ui.workbench import Workbench


def asked(commands: LensCommands, name: str, **args: Any) -> Answer:
    return commands.table()[name](args)


def factors_of(answer: Answer) -> list[tuple[Any, ...]]:
    view: Any = answer.view
    return [split.factors for split in view.splits]


def test_releasing_changes_the_schedule_itself_and_answers_the_new_nest() -> None:
    sch = matmul_tiled("IJKikj", 4, 4, 4)
    commands = LensCommands(sch, lambda: None)
    shown = asked(commands, "open")
    answer = asked(commands, "release", step=4, factors=[None, 6], seen=shown.state)
    assert factors_of(answer) == [(None, 4), (None, 6), (None, 4)]
    assert answer.state == sch.fingerprint()
    assert "factors=[None, 6]" in sch.code()
    assert commands.call == "sch.change(4, factors=[None, 6])"


def test_a_picture_that_is_behind_is_refused() -> None:
    sch = matmul_tiled("IJKikj", 4, 4, 4)
    commands = LensCommands(sch, lambda: None)
    state = asked(commands, "open").state
    sch.unroll(sch.get_loops("C")[-1])
    before = sch.fingerprint()
    with pytest.raises(WorkbenchError, match="E-UI-STALE") as caught:
        asked(commands, "release", step=4, factors=[None, 6], seen=state)
    error = caught.value
    assert sch.fingerprint() == before
    assert error.where == "schedule of main" and error.found != error.expected and error.fix and error.kept


def test_a_move_that_stands_in_the_way_is_named() -> None:
    sch = Schedule(matmul_tiled("IJKikj", 4, 4, 4).func)
    j = sch.get_loops("C")[-1]
    _, j_1 = sch.split(j, factors=[None, 2])
    sch.split(j_1, factors=[1, 2], disable_predication=True)
    commands = LensCommands(sch, lambda: None)
    state = asked(commands, "open").state
    number = next(n for n, step in enumerate(sch.trace.steps, 1) if step.primitive == "split")
    with pytest.raises(WorkbenchError, match=rf"split in step {number + 1} is refused"):
        asked(commands, "release", step=number, factors=[None, 3], seen=state)
    assert sch.fingerprint() == state


def test_exact_counts_the_misses_of_the_simulation() -> None:
    sch = matmul_tiled("IJKikj", 5, 4, 4)
    answer = asked(LensCommands(sch, lambda: None), "exact")
    view: Any = answer.view
    report = simulate_cache(sch)
    assert view.misses == tuple((level.cache.name, level.misses) for level in report.levels)
    assert view.accesses == report.accesses and view.why_no_misses == ""
    assert view.milliseconds > 0 and view.text and view.why_not == ""


def test_what_is_too_large_to_count_is_timed_all_the_same() -> None:
    sch = matmul_tiled("IJKikj", 16, 16, 16, 128)
    view: Any = asked(LensCommands(sch, lambda: None), "exact").view
    assert "too many to simulate" in view.why_no_misses and view.misses == ()
    assert view.milliseconds > 0


def test_a_cell_that_moves_the_schedule_is_told_once_to_the_pages() -> None:
    told: list[bool] = []
    sch = matmul_tiled("IJKikj", 4, 4, 4)
    commands = LensCommands(sch, lambda: told.append(True))
    state = asked(commands, "open").state
    sch.change(4, factors=[None, 2])
    sch.change(4, factors=[None, 3])
    assert len(told) == 1
    assert asked(commands, "open").state != state
    asked(commands, "release", step=4, factors=[None, 4], seen=sch.fingerprint())
    assert len(told) == 1, "a page knows what it did itself"


def test_the_screen_holds_the_schedule() -> None:
    sch = matmul_tiled("IJKikj", 4, 4, 4)
    assert TileLens(sch).schedule is sch


def test_caches_are_those_of_the_sessions_target() -> None:
    """Loops of one's own name no target; the lens then spoke of this machine, whatever the session was opened for."""
    screen = Workbench(wb.open(Schedule(plain_matmul(32, 32, 32)), target="llvm -l1-cache=2048"))
    view = screen.ask("lens.open", kernel="main").content["view"]
    assert view["caches"][0]["size"] == 2048
    (first, *_) = screen.ask("lens.exact", kernel="main").content["view"]["misses"]
    assert first[0] == "L1" and first[1] > 192
