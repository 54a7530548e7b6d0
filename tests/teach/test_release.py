"""What is handed out: no solution, nbgrader's metadata, otter's tests, templates that run."""

from __future__ import annotations

import doctest
import json
import os
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.teach.test_course import SOLUTIONS
from workbench import teach
from workbench.core.errors import WorkbenchError
from workbench.teach.course import NOTEBOOKS, exercises, exercises_of
from workbench.teach.release import answer_metadata, check_metadata, otter_test, release, student_book, template
from workbench.teach.source import HEADER, answer_of

ROOT = Path(__file__).resolve().parents[2]
OWN = """
from workbench import te, teach


def double(n):
    a = te.placeholder((n,), name="A")
    return te.create_prim_func([a, te.compute((n,), lambda i: a[i] * 2.0, name="B")])


EXERCISES = (
    teach.Exercise("90_1", "Threads", "Make it parallel.", double, (teach.parallel("B"),), shapes={"n": (8, 16)}),
)
"""


@pytest.mark.parametrize("lesson", sorted({exercise.lesson for exercise in exercises()}))
def test_lessons_carry_the_metadata_of_nbgrader(lesson: str) -> None:
    """Schema 3: an answer cell (solution) and a locked cell that gives the points (grade), for every exercise."""
    book = nbformat.read(ROOT / "notebooks" / f"{NOTEBOOKS[lesson]}.ipynb", as_version=4)
    found = {cell.metadata.nbgrader.grade_id: cell for cell in book.cells if "nbgrader" in cell.metadata}
    own = [exercise for exercise in exercises() if exercise.lesson == lesson]
    assert 2 <= len(own) <= 4
    assert len(found) == 2 * len(own)
    for exercise in own:
        answer, check = found[f"answer-{exercise.id}"], found[f"check-{exercise.id}"]
        assert answer.metadata.nbgrader == answer_metadata(exercise)
        assert check.metadata.nbgrader == check_metadata(exercise)
        assert answer.source == exercise.unedited(f"answer_{exercise.id}").rstrip()
        assert check.source.endswith("report.points")


def test_a_release_holds_notebooks_templates_and_tests(tmp_path: Path) -> None:
    own = [exercise for exercise in exercises() if exercise.lesson == "06"]
    written = release(tmp_path, own, {"06": ROOT / "notebooks" / "06_primitives.ipynb"}, student="ada")
    names = {path.relative_to(tmp_path).as_posix() for path in written}
    assert "06_primitives.ipynb" in names and "answers/06_1.py" in names and "tests/q06_4.py" in names
    text = (tmp_path / "06_primitives.ipynb").read_text(encoding="utf-8")
    assert 'teach.task(\\"06_1\\", student=\\"ada\\")' in text
    nbformat.validate(nbformat.reads(text, as_version=4))
    for exercise in own:
        source = (tmp_path / "answers" / f"{exercise.id}.py").read_text(encoding="utf-8")
        report = teach.check_answer(exercise, answer_of(source, exercise.id), "ada")
        assert report.points == 0
        assert (SOLUTIONS / f"{exercise.id}.py").read_text(encoding="utf-8").split("\n", 2)[2] not in source


def test_solutions_in_a_teachers_notebook_are_taken_out() -> None:
    source = "def answer(sch):\n    ### BEGIN SOLUTION\n    sch.secret()\n    ### END SOLUTION\n    return sch"
    cell = {"cell_type": "code", "metadata": {}, "source": source, "outputs": [{"output_type": "stream"}]}
    made = student_book({"cells": [cell], "metadata": {}})["cells"][0]
    text = "".join(made["source"])
    assert "secret" not in text and "    # your answer\n    return sch" in text
    assert made["outputs"] == [] and made["execution_count"] is None


@pytest.mark.parametrize("solved", [True, False])
def test_the_tests_for_otter_run_as_doctests(solved: bool) -> None:
    for exercise in (item for item in exercises() if item.lesson == "06"):
        names: dict[str, Any] = {}
        exec(otter_test(exercise, "ada"), names)
        test = names["test"]
        assert names["OK_FORMAT"] is True and test["name"] == f"q{exercise.id}"
        (suite,) = test["suites"]
        assert suite["type"] == "doctest" and not suite["setup"] and not suite["teardown"]
        assert sum(case["points"] for case in suite["cases"]) == exercise.points
        path = SOLUTIONS / f"{exercise.id}.py"
        source = HEADER + (path.read_text(encoding="utf-8") if solved else exercise.unedited())
        world = {f"answer_{exercise.id}": answer_of(source, exercise.id)}
        passed = [_doctest(case["code"], world) for case in suite["cases"]]
        assert all(passed) if solved else not any(passed)


def _doctest(code: str, names: dict[str, Any]) -> bool:
    test = doctest.DocTestParser().get_doctest(code, names, "case", None, None)
    return doctest.DocTestRunner(verbose=False).run(test, out=lambda text: None).failed == 0


def test_a_teachers_own_exercises(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN, encoding="utf-8")
    own = exercises_of(file)
    out = tmp_path / "out"
    release(out, own, course=str(file))
    book = json.loads((out / "90_exercises.ipynb").read_text(encoding="utf-8"))
    nbformat.validate(nbformat.from_dict(book))
    assert any('mine["90_1"]' in "".join(cell["source"]) for cell in book["cells"])
    from workbench.teach.grade import grade

    answers = tmp_path / "submissions" / "ada" / "answers"
    answers.mkdir(parents=True)
    (answers / "90_1.py").write_text('def answer(sch):\n    sch.parallel(sch.get_loops("B")[0])\n', encoding="utf-8")
    (mark,) = grade(tmp_path / "submissions", own, course=str(file)).marks
    assert (mark.points, mark.of, mark.reason) == (1, 1, "")


def test_exercises_changed_in_the_same_second_are_those_of_now(tmp_path: Path) -> None:
    """Bytecode of the earlier text was taken for a file of the same size and second."""
    file = tmp_path / "mine.py"
    for name in ("90_1", "90_2"):
        typed = "\ndef probe(x: int) -> None: ...\nassert probe.__annotations__['x'] is int\n"
        file.write_text(OWN.replace("90_1", name) + typed, encoding="utf-8")
        os.utime(file, (1_000_000_000, 1_000_000_000))
        assert [item.id for item in exercises_of(file)] == [name]


@pytest.mark.parametrize("text", ["EXERCISES = 3\n", "x = 1\n", "EXERCISES = (1,)\n"])
def test_files_that_are_no_course_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    with pytest.raises(WorkbenchError) as caught:
        exercises_of(tmp_path / "mine.py")
    assert caught.value.code == "E-TEACH-COURSE"


def test_a_notebook_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "06.ipynb").write_text("{}", encoding="utf-8")
    with pytest.raises(WorkbenchError) as caught:
        release(tmp_path / "out", [exercises()[0]], {exercises()[0].lesson: tmp_path / "06.ipynb"})
    assert caught.value.code == "E-TEACH-NOTEBOOK"


def test_templates_say_the_goal_and_the_shapes() -> None:
    text = template(exercises()[3], "ada")
    assert text.startswith('"""06_1  Another order\n') and "Your shapes: n = " in text and "def answer(sch):" in text
