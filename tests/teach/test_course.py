"""Every exercise of the course: the reference solves it, the unedited answer does not, and the hints lead on.

The references lie in `solutions/`, outside of all that students get.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.nightly import some
from workbench import teach
from workbench.schedule import Schedule
from workbench.teach.course import NOTEBOOKS, exercises
from workbench.teach.exercise import Exercise
from workbench.teach.source import answer_of
from workbench.teach.tasks import HEADER

SOLUTIONS = Path(__file__).parent / "solutions"
STUDENTS = ("", "ada", "grace")
EXERCISES = exercises()


def solution(exercise: Exercise) -> Any:
    source = (SOLUTIONS / f"{exercise.id}.py").read_text(encoding="utf-8")
    return answer_of(HEADER + source, exercise.id)


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.id)
def test_the_reference_passes_with_every_students_shapes(exercise: Exercise) -> None:
    for student in STUDENTS:
        report = teach.check_answer(exercise, solution(exercise), student)
        assert report.passed, f"{student}\n{report}"
        assert report.points == report.total > 0
        assert report.hints() == ()


@pytest.mark.parametrize("exercise", some(EXERCISES, 3), ids=lambda exercise: exercise.id)
def test_the_unedited_answer_earns_nothing_and_gets_hints(exercise: Exercise) -> None:
    report = teach.check_answer(exercise, answer_of(HEADER + exercise.unedited(), exercise.id))
    assert not report.passed and report.points == 0
    hints = report.hints()
    assert len(hints) == 4 and len(set(hints)) == 4 and all(len(hint) > 10 for hint in hints)
    solved = textwrap.dedent((SOLUTIONS / f"{exercise.id}.py").read_text(encoding="utf-8")).split("\n", 1)[1]
    assert solved.strip() not in exercise.unedited()


@pytest.mark.parametrize("exercise", [e for e in EXERCISES if e.answer == "schedule"], ids=lambda exercise: exercise.id)
def test_the_last_hint_mends_what_failed_first(exercise: Exercise) -> None:
    """Following the last rung again and again solves the exercise, or comes to where only the teacher knows on."""
    program = teach.task(exercise).program
    done: list[str] = []

    def so_far(sch: Schedule) -> None:
        for lines in done:
            exec(lines, {"sch": sch})

    for _ in range(len(exercise.checks)):
        report = teach.check_answer(exercise, so_far)
        if report.passed:
            break
        failed = next(r.check.name for r in report.results if not r.verdict.passed)
        if failed in exercise.hints:  # the teacher's own words: more than lines
            break
        line = report.hints()[-1]
        assert line.startswith(("i", "j", "k", "sch.", "o", "r", "v", "x", "y", "b")) and "sch." in line, line
        done.append(line)
        after = teach.check_answer(exercise, so_far)
        assert next(r for r in after.results if r.check.name == failed).verdict.passed, f"{line}\n{after}"
    assert isinstance(Schedule(program), Schedule)


def test_every_lesson_has_its_notebook_and_every_exercise_its_solution() -> None:
    root = Path(__file__).resolve().parents[2] / "notebooks"
    for exercise in EXERCISES:
        assert (SOLUTIONS / f"{exercise.id}.py").is_file()
        assert (root / f"{NOTEBOOKS[exercise.lesson]}.ipynb").is_file()
    assert sorted(path.stem for path in SOLUTIONS.glob("*.py")) == sorted(exercise.id for exercise in EXERCISES)


def test_no_solution_lies_in_the_package_or_the_notebooks() -> None:
    root = Path(__file__).resolve().parents[2]
    texts = [path.read_text(encoding="utf-8") for path in (root / "workbench" / "teach").rglob("*.py")]
    texts += [path.read_text(encoding="utf-8") for path in (root / "notebooks").glob("*.ipynb")]
    for path in SOLUTIONS.glob("*.py"):
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()[1:]]
        body = [line for line in lines if line and not line.startswith(("return", "#")) and "get_loops" not in line]
        for text in texts:
            present = [line for line in body if f"{line}\\n" in text or f"{line}\n" in text]
            assert len(present) < max(2, len(body)), f"{path.name}: {present}"
