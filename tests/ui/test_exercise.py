"""An exercise on the screen: marks as in a cell, hints one after another, the answer's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.asking import ask
from workbench import teach
from workbench.core.errors import WorkbenchError
from workbench.schedule import Schedule
from workbench.teach.grade import grade
from workbench.ui.workbench import Workbench


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> teach.Task:
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return teach.Task(teach.task("09_3").exercise, "ada")


def solve(screen: Workbench) -> None:
    ask(screen, "schedule.apply", kernel="main", primitive="split", selection="l:B:1", arguments={"factors": [None, 8]})
    ask(screen, "schedule.accept", kernel="main", primitive="vectorize", selection="l:B:2", number=0)


def test_the_checks_follow_the_schedule_and_are_those_of_a_cell(task: teach.Task) -> None:
    screen = task.show()
    begun = ask(screen, "exercise.open")
    assert begun["points"] == 0 and not begun["passed"] and begun["shapes"] == task.shapes
    assert [one["name"] for one in begun["checks"]] == [one.name for one in task.exercise.checks]
    solve(screen)
    done = ask(screen, "exercise.open")
    assert done["passed"] and done["points"] == done["total"] == task.exercise.points
    assert task.check(screen.schedule).passed
    screen.schedule.undo()
    assert not ask(screen, "exercise.open")["passed"]


def test_hints_come_one_after_another_and_begin_anew_for_another_failure(task: teach.Task) -> None:
    screen = task.show()
    told = [ask(screen, "exercise.hint")["hints"] for _ in range(4)]
    assert [len(one) for one in told] == [1, 2, 3, 4]
    assert told[3] == list(task.check(Schedule(task.program)).hints())
    assert not ask(screen, "exercise.open")["more"]
    solve(screen)
    view = ask(screen, "exercise.hint")
    assert view["hints"] == [] and not view["more"]


def test_what_is_handed_in_is_graded_like_any_answer(task: teach.Task) -> None:
    screen = task.show()
    solve(screen)
    view = ask(screen, "exercise.submit")
    path = Path(view["written"])
    assert path == Path("answers/09_3.py") and "sch.rfactor" in path.read_text()
    handed_in = Path("class/ada/answers")
    handed_in.mkdir(parents=True)
    (handed_in / path.name).write_text(path.read_text())
    (mark,) = grade(Path("class"), [task.exercise]).marks
    assert (mark.student, mark.points, mark.of) == ("ada", task.exercise.points, task.exercise.points)
    ask(screen, "schedule.undo", kernel="main")
    assert ask(screen, "exercise.open")["written"] == "", "the file is of another state"


def test_a_schedule_of_ones_own_is_shown_and_others_are_refused(task: teach.Task) -> None:
    mine = task.start()
    screen = task.show(mine)
    assert screen.schedule is mine
    with pytest.raises(WorkbenchError, match="is no schedule") as caught:
        teach.task("07_1").show()
    assert caught.value.code == "E-TEACH-SCREEN"
    reply = Workbench(task.show().session).ask("exercise.open").content
    assert not reply["ok"] and reply["err"]["code"] == "E-UI-ARGUMENT" and "no exercise" in reply["err"]["message"]
