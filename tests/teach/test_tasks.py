"""Tasks, shapes of one's own, hints one by one, predictions, cards."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from workbench import teach
from workbench.core.errors import WorkbenchError
from workbench.teach.shapes import shapes_for

CHOICES = {"n": (24, 32, 40), "m": (48, 64, 80, 96)}


@pytest.fixture(autouse=True)
def new_tasks() -> None:
    from workbench.teach import tasks

    tasks._given.clear()


class Balanced(HTMLParser):
    """Raises for scripts, handlers, and tags that are not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "script" and not any(name.startswith("on") for name, _ in attrs)
        if tag not in ("br", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def is_static(page: str) -> None:
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []


def test_shapes_are_a_students_own_and_the_same_everywhere() -> None:
    assert shapes_for("06_1", "", CHOICES) == {"n": 24, "m": 48}
    assert shapes_for("06_1", "ada", CHOICES) == {"n": 40, "m": 48}  # known: any machine, any year
    assert shapes_for("06_1", "ada", dict(reversed(CHOICES.items()))) == {"n": 40, "m": 48}
    assert len({tuple(shapes_for("06_1", f"s{i}", CHOICES).values()) for i in range(60)}) == 12
    code = f"from workbench.teach.shapes import shapes_for; print(shapes_for('06_1', 'ada', {CHOICES!r}))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=50)
    assert other.stdout.strip() == "{'n': 40, 'm': 48}"
    with pytest.raises(WorkbenchError) as caught:
        shapes_for("06_1", 7, CHOICES)  # type: ignore[arg-type]
    assert caught.value.code == "E-TEACH-STUDENT"
    with pytest.raises(WorkbenchError):
        teach.task("06_1", student=["ada"])  # type: ignore[arg-type]


def test_a_task_from_start_to_submission(tmp_path: Path) -> None:
    task = teach.task("06.1", student="ada")
    assert task.shapes == task.exercise.shapes_of("ada") != {}
    assert task.start().get_loops("C")

    def answer(sch):  # type: ignore[no-untyped-def]
        i, j, k = sch.get_loops("C")
        sch.reorder(i, k, j)

    assert "4 of 4 checks hold, 2 of 2 points" in str(task.check(answer))
    assert repr(task.hint()) == "Everything holds."
    path = task.submit(answer, tmp_path / "answers")
    from workbench.teach.source import answer_of

    assert path.name == "06_1.py"
    assert teach.task("06_1").check(answer_of(path.read_text(encoding="utf-8"), "06_1")).passed


def test_a_schedule_from_the_editor_is_checked_and_handed_in(tmp_path: Path) -> None:
    task = teach.task("06_3", student="ada")
    from workbench.teach.source import answer_of
    from workbench.ui.schedule import ScheduleEditor

    editor = ScheduleEditor(task.start())
    sch = editor.schedule
    i, j, k = sch.get_loops("C")
    outer, lanes = sch.split(j, factors=[None, 8])
    sch.reorder(i, outer, k, lanes)
    sch.vectorize(lanes)
    assert task.check(editor.schedule).passed
    path = task.submit(editor.schedule, tmp_path)
    assert teach.check_answer(task.exercise, answer_of(path.read_text(encoding="utf-8"), "06_3"), "ada").passed


def test_an_answer_that_cannot_be_handed_in_says_why(tmp_path: Path) -> None:
    name = "C"
    task = teach.task("06_1")

    def answer(sch):  # type: ignore[no-untyped-def]
        sch.get_loops(name)

    def annotated(sch: Any) -> Any:
        return sch

    for wrong, reason in ((len, "builtin_function_or_method"), (answer, "'name'"), (annotated, "'Any'")):
        with pytest.raises(WorkbenchError) as caught:
            task.submit(wrong, tmp_path)
        assert caught.value.code == "E-TEACH-SOURCE" and reason in caught.value.found
    assert list(tmp_path.iterdir()) == []


def test_the_same_task_is_given_again_so_that_hints_go_on() -> None:
    """Each cell of a lesson asks for the task anew."""
    teach.task("06_4").check(lambda sch: sch.compute_at("C", sch.get_loops("D")[0]))
    assert "parallel" in teach.task("06_4").hint().text
    assert teach.task("06_4").hint().level == 2
    assert teach.task("06_4", student="ada").report is None
    from dataclasses import replace

    other = replace(teach.task("06_4").exercise, title="another of the same name")
    assert teach.task(other).report is None


def test_hints_come_one_after_another_and_begin_anew_with_another_failure() -> None:
    task = teach.task("06_4")
    assert [task.hint().level for _ in range(5)] == [1, 2, 3, 4, 4]
    task.check(lambda sch: sch.compute_at("C", sch.get_loops("D")[0]))
    hint = task.hint()
    assert hint.level == 1 and "parallel" in hint.text
    is_static(hint._repr_html_())


def test_solutions_are_shown_when_the_teacher_has_put_them_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = teach.task("06_1")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WorkbenchError) as caught:
        task.solution()
    assert caught.value.code == "E-TEACH-SOLUTION"
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "06_1.py").write_text("def answer(sch): ...\n", encoding="utf-8")
    assert task.reveal().source == "def answer(sch): ...\n"
    monkeypatch.setenv("WORKBENCH_SOLUTIONS", str(tmp_path / "solutions"))
    assert "answer(sch)" in task.solution()._repr_html_()


def test_the_student_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_STUDENT", "ada")
    assert teach.task("06_1").shapes == teach.task("06_1", student="ada").shapes
    assert teach.task("06_1", student="").shapes == {"n": 24, "m": 32, "k": 16}


def test_unknown_exercises_are_refused_with_the_nearest() -> None:
    with pytest.raises(WorkbenchError) as caught:
        teach.task("06_11")
    assert caught.value.code == "E-TEACH-UNKNOWN" and "06_1" in caught.value.fix
    with pytest.raises(WorkbenchError):
        teach.task("06_1").check(None).holds("no such check")


def test_answers_that_are_no_answers() -> None:
    task = teach.task("06_1")
    for answer, reason in (
        (None, "E-TEACH-ANSWER"), (7, "E-TEACH-ANSWER"), (lambda sch: 7, "E-TEACH-ANSWER"),
        (lambda: None, "TypeError"), (lambda sch: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda sch: sch.parallel(sch.get_loops("C")[2]), "E-SCHEDULE-DEPENDENCE"),
    ):  # fmt: skip
        report = task.check(answer)
        assert report.points == 0 and reason in report.reason, report
        assert len(report.hints()) == 4 and all(report.hints())
        is_static(report._repr_html_())


def test_cards_are_static_and_escape() -> None:
    from dataclasses import replace

    exercise = replace(teach.task("06_3").exercise, title="<script>alert(1)</script>", goal="`a < b` & <b>c")
    task = teach.task(exercise, student="<i>eve</i>")
    for page in (task._repr_html_(), task.check(lambda sch: sch)._repr_html_(), teach.progress([task])._repr_html_()):
        is_static(page)
        assert "<script" not in page and "<i>" not in page and "<b>c" not in page
    assert "0 of 3 points" in repr(teach.progress([task]))
    assert "not tried" in repr(teach.progress([teach.task("06_1")]))


def accepted(number: int) -> tuple[teach.Task, Any]:
    """Exercise 06_3 in the editor, after one of what it suggests with a gain in place of lanes along the reduction."""
    from workbench.ui.schedule import ScheduleEditor

    task = teach.task("06_3")
    editor = ScheduleEditor(task.start())
    found = asked(editor, "ways", primitive="vectorize", selection="l:C:2")["suggestions"]
    assert sum(one["gains"] for one in found) > number, "the best come first"
    asked(editor, "accept", primitive="vectorize", selection="l:C:2", number=number)
    return task, editor.schedule


def asked(editor: Any, op: str, **args: Any) -> Any:
    reply = editor.ask(op, **args).content
    assert reply["ok"], reply
    return reply["view"]


@pytest.mark.parametrize("number", range(3))
def test_whatever_the_editor_suggests_in_06_3_with_a_gain_the_last_hint_can_be_done_from_there(number: int) -> None:
    """It was refused: nothing is split or moved across lanes, once they are lanes."""
    task, schedule = accepted(number)
    for _ in range(3):
        report = task.check(schedule)
        if report.passed:
            return
        line = report.hints()[-1]
        assert "sch." in line and "The answer looks like" not in line, line
        exec(line, {"sch": schedule})
    raise AssertionError(task.check(schedule))


def test_the_first_suggestion_in_06_3_leaves_no_loop_inside_of_lanes_and_one_solves_it() -> None:
    task, schedule = accepted(0)
    assert schedule.get_loops("C")[-1].target.name == "j_1"
    assert not task.check(schedule).passed
    assert any(task.check(accepted(number)[1]).passed for number in range(3))


def test_a_hint_says_what_to_take_back() -> None:
    task = teach.task("06_3")
    schedule = task.start()
    schedule.vectorize(schedule.get_loops("C")[1])
    hints = task.check(schedule).hints()
    assert hints[2].startswith("Take vectorize back; then try reorder")
    assert hints[3].startswith("sch.moves.back()\n")
