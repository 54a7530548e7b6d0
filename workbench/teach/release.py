"""What is handed out: notebooks without solutions, templates of the answers, and tests for the graders that people use.

    OUT/06_primitives.ipynb      the lesson; its answer and check cells carry nbgrader's metadata (schema 3)
    OUT/answers/06_1.py          the answer to write, as a file
    OUT/tests/q06_1.py           the checks in the format of OK, as otter-grader reads it

Invariant: nothing that is released holds a solution: exercises know none, and what stands between `### BEGIN SOLUTION`
and `### END SOLUTION` in a notebook is taken out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.errors import WorkbenchError
from ..core.whole_file import write_whole
from .card import shapes_text
from .exercise import Exercise
from .handed_in import CELL
from .source import HEADER

_SOLUTION = re.compile(r"^([ \t]*)### BEGIN SOLUTION.*?### END SOLUTION[^\n]*\n?", re.DOTALL | re.MULTILINE)
_TASK = re.compile(r"""teach\.task\((["'])([0-9]{2}[_.][0-9a-z]+)\1\)""")


def release(
    out: str | Path,
    exercises: Sequence[Exercise],
    notebooks: Mapping[str, Path] | None = None,
    student: str = "",
    course: str = "",
) -> list[Path]:
    """Write everything for `exercises`; the paths written.

    `notebooks` gives a lesson's notebook by lesson ("06"); a lesson without one gets a notebook of its exercises alone.
    `student` fixes the shapes; `course` is a file of a teacher's own exercises, which is handed out too.
    """
    folder = Path(out)
    written: list[Path] = []
    for lesson in dict.fromkeys(exercise.lesson for exercise in exercises):
        own = [exercise for exercise in exercises if exercise.lesson == lesson]
        source = (notebooks or {}).get(lesson)
        book = _read(source) if source is not None else exercise_book(own, course)
        name = source.name if source is not None else f"{lesson}_exercises.ipynb"
        written.append(_write(folder / name, json.dumps(student_book(book, student), indent=1) + "\n"))
    for exercise in exercises:
        written.append(_write(folder / "answers" / f"{exercise.id}.py", template(exercise, student)))
        written.append(_write(folder / "tests" / f"q{exercise.id}.py", otter_test(exercise, student, course)))
    if course:
        written.append(_write(folder / Path(course).name, Path(course).read_text(encoding="utf-8")))
    return written


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_whole(path, text)


def _read(path: Path) -> dict[str, Any]:
    try:
        book = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(book["cells"], list):
            raise ValueError("no cells")
        return book
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkbenchError("E-TEACH-NOTEBOOK", f"{path.name} is not a notebook", found=str(error)) from None


# --- notebooks ----------------------------------------------------------------------------------------------------


def student_book(book: Mapping[str, Any], student: str = "") -> dict[str, Any]:
    """A notebook without outputs and solutions; with the student's name in its tasks."""
    cells = [_student_cell(cell, student) for cell in book["cells"]]
    return {**book, "cells": cells}


def _student_cell(cell: Mapping[str, Any], student: str) -> dict[str, Any]:
    text = "".join(cell["source"])
    text = _SOLUTION.sub(r"\1# your answer\n", text)
    if student:
        text = _TASK.sub(lambda found: f"teach.task({json.dumps(found[2])}, student={json.dumps(student)})", text)
    made = {**cell, "source": text.splitlines(keepends=True)}
    if cell["cell_type"] == "code":
        made |= {"outputs": [], "execution_count": None}
    return made


def answer_metadata(exercise: Exercise) -> dict[str, Any]:
    """nbgrader's metadata of the cell that a student writes."""
    return _metadata(f"{CELL}{exercise.id}", grade=False, solution=True, locked=False)


def check_metadata(exercise: Exercise) -> dict[str, Any]:
    """nbgrader's metadata of the cell that gives the points: its last value is the number of points earned."""
    return {**_metadata(f"check-{exercise.id}", grade=True, solution=False, locked=True), "points": exercise.points}


def _metadata(name: str, grade: bool, solution: bool, locked: bool) -> dict[str, Any]:
    return {
        "grade": grade, "grade_id": name, "locked": locked, "schema_version": 3, "solution": solution, "task": False,
    }  # fmt: skip


def check_source(exercise: Exercise) -> str:
    """The text of the cell that gives the points."""
    name = f"answer_{exercise.id}"
    return f'report = teach.task("{exercise.id}").check({name})\ndisplay(report)\nreport.points'


def exercise_cells(exercise: Exercise, named: str = "") -> list[dict[str, Any]]:
    """Three cells: the card, the answer, the check."""
    task = f'teach.task("{exercise.id}")' if not named else f"teach.task({named})"
    check = check_source(exercise) if not named else check_source(exercise).replace(f'"{exercise.id}"', named)
    return [
        code_cell(f"exercise-{exercise.id}", task),
        code_cell(
            f"answer-{exercise.id}", exercise.unedited(f"answer_{exercise.id}").rstrip(), answer_metadata(exercise)
        ),
        code_cell(f"check-{exercise.id}", check, check_metadata(exercise)),
    ]


def code_cell(name: str, source: str, grader: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {
        "cell_type": "code", "id": name.replace("_", "-"), "execution_count": None, "outputs": [],
        "metadata": {"nbgrader": dict(grader)} if grader is not None else {},
        "source": source.splitlines(keepends=True),
    }  # fmt: skip


def exercise_book(exercises: Sequence[Exercise], course: str = "") -> dict[str, Any]:
    """A notebook of exercises alone."""
    begin = f"{HEADER.strip()}\nfrom workbench import teach"
    if course:
        mine = f"mine = {{e.id: e for e in exercises_of({Path(course).name!r})}}"
        begin += f"\nfrom workbench.teach.course import exercises_of\n\n{mine}"
    cells = [code_cell("begin", begin)]
    for exercise in exercises:
        cells += exercise_cells(exercise, f'mine["{exercise.id}"]' if course else "")
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


# --- files --------------------------------------------------------------------------------------------------------


def template(exercise: Exercise, student: str = "") -> str:
    """The file of an answer as it is handed out."""
    shapes = exercise.shapes_of(student)
    goal = "\n".join(line.strip() for line in exercise.goal.strip().split("\n"))
    text = f"{exercise.id}  {exercise.title}\n\n{goal}\n"
    if shapes:
        text += f"\nYour shapes: {shapes_text(shapes)}.\n"
    quoted = text.replace("\\", "\\\\").replace('"""', "'''")
    return f'"""{quoted}"""\n\n{HEADER}{exercise.unedited()}'


def otter_test(exercise: Exercise, student: str = "", course: str = "") -> str:
    """A test file of OK's format: one case for each check with points.  The answer is `answer_ID` of the notebook."""
    chosen = f"exercises_of({Path(course).name!r})" if course else "exercises()"
    given = f", student={student!r}" if student else ""
    setup = [
        "from workbench import teach",
        "from workbench.teach.course import exercises, exercises_of",
        f"report = teach.task(teach.find({chosen}, {exercise.id!r}){given}).check(answer_{exercise.id})",
    ]
    # Suites of otter do not share names between cases, so each case checks by itself.
    cases = [
        {
            "code": "\n".join([*(f">>> {line}" for line in setup), f">>> report.holds({check.name!r})", "True"]),
            "hidden": False,
            "locked": False,
            "points": check.points,
        }
        for check in exercise.checks
        if check.points
    ]
    test = {
        "name": f"q{exercise.id}",
        "points": None,
        "suites": [{"cases": cases, "scored": True, "setup": "", "teardown": "", "type": "doctest"}],
    }
    import pprint

    return f"OK_FORMAT = True\n\ntest = {pprint.pformat(test, width=110, sort_dicts=False)}\n"
