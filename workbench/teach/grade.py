"""Grading a folder of submissions: each answer in a process of its own, each mark with its reason.

    submissions/ada/answers/06_1.py        # or ada/06_1.py, or a cell `answer-06_1` of a notebook ada/*.ipynb

    book = grade("submissions", exercises())
    book.csv(); book.json()

Invariant: one submission, wrong or hostile, costs its own points and nothing else; every exercise of every student has
a mark.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from ..core.errors import WorkbenchError
from .contain import Contained, Ending, Limits
from .exercise import Exercise
from .source import LIMIT, submitted

FORMAT = "workbench.teach.marks"
VERSION = 1


@dataclass(frozen=True)
class Mark:
    """Points of one student for one exercise; `reason` says why points are missing."""

    student: str
    exercise: str
    points: int
    of: int
    reason: str = ""
    handed_in: bool = True
    checks: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Marks:
    """All marks of a batch, by student and then by exercise."""

    marks: tuple[Mark, ...] = field(default_factory=tuple)

    def of(self, student: str) -> tuple[Mark, ...]:
        return tuple(mark for mark in self.marks if mark.student == student)

    def csv(self) -> str:
        """One line a mark: student, exercise, points, of, reason."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(("student", "exercise", "points", "of", "reason"))
        for mark in self.marks:
            rows.writerow((_cell(mark.student), mark.exercise, mark.points, mark.of, _cell(mark.reason)))
        return text.getvalue()

    def json(self) -> str:
        rows = [asdict(mark) for mark in self.marks]
        return json.dumps({"format": FORMAT, "version": VERSION, "marks": rows}, indent=1) + "\n"

    @staticmethod
    def from_json(text: str) -> Marks:
        """Marks that `json` wrote.  Raises E-TEACH-MARKS for anything else."""
        try:
            data = json.loads(text)
            if data["format"] != FORMAT or data["version"] != VERSION:
                raise ValueError(f"format {data['format']!r}, version {data['version']!r}")
            return Marks(tuple(Mark(**{**row, "checks": tuple(row["checks"])}) for row in data["marks"]))
        except (ValueError, KeyError, TypeError) as error:
            raise WorkbenchError(
                "E-TEACH-MARKS",
                "this is not a file of marks",
                found=str(error)[:200],
                fix="workbench teach grade -o ...",
            ) from None


def _cell(text: str) -> str:
    """A text that a spreadsheet takes for text and not for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def grade(
    submissions: str | Path,
    exercises: Sequence[Exercise],
    limits: Limits | None = None,
    jobs: int = 1,
    course: str = "",
    done: Callable[[Mark], None] | None = None,
) -> Marks:
    """Marks of all students (the folders in `submissions`) for all `exercises`.

    `course` is the file that the exercises come from, if they are a teacher's own; `done` is called with every mark.
    Raises `WorkbenchError` for a folder that is not there or holds no student.
    """
    folder = Path(submissions)
    students = sorted(path for path in folder.glob("*") if _is_student(path))
    if not students:
        raise WorkbenchError(
            "E-TEACH-SUBMISSIONS",
            f"there are no submissions in {folder}",
            expected="a folder for each student, with answers/ID.py",
            fix="name the folder that holds the students' folders",
        )
    waiting: SimpleQueue[Contained] = SimpleQueue()

    def one(pair: tuple[Path, Exercise]) -> Mark:
        box = waiting.get()
        try:
            mark = mark_of(pair[0], pair[1], box, course)
        finally:
            waiting.put(box)
        if done is not None:
            done(mark)
        return mark

    pairs = [(student, exercise) for student in students for exercise in exercises]
    pool = ThreadPoolExecutor(max_workers=max(1, jobs))
    with ExitStack() as boxes:
        for _ in range(max(1, jobs)):
            waiting.put(boxes.enter_context(Contained(limits or Limits())))
        try:
            return Marks(tuple(pool.map(one, pairs)))
        finally:
            pool.shutdown(cancel_futures=True)  # Ctrl-C waits for the answers that run now, not for all of them


def _is_student(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not path.name.startswith((".", "_"))


def mark_of(student: Path, exercise: Exercise, box: Contained, course: str = "") -> Mark:
    """One mark.  Answers run in `box`.  The student's name is the name of the folder, which also chooses the shapes."""
    name = student.name
    try:
        source = submitted(student, exercise.id)
    except OSError as error:
        return Mark(name, exercise.id, 0, exercise.points, f"cannot be read: {error.strerror}")
    if source is None:
        return Mark(name, exercise.id, 0, exercise.points, "nothing was handed in", handed_in=False)
    if len(source) > LIMIT:
        return Mark(name, exercise.id, 0, exercise.points, f"is longer than {LIMIT:,} characters")
    common = {"exercise": exercise.id, "student": name, "course": str(Path(course).resolve()) if course else ""}
    answered = box.do({"do": "answer", "source": source, **common})
    if answered.result is None:
        return Mark(name, exercise.id, 0, exercise.points, answered.reason)
    outcome = answered.result.get("outcome")
    if not isinstance(outcome, dict) or set(outcome) != {"kind", "text"} or not isinstance(outcome["text"], str):
        return Mark(name, exercise.id, 0, exercise.points, "answered something that cannot be read")
    judged = box.do({"do": "judge", "outcome": outcome, **common})
    return _mark(name, exercise, judged)


def _mark(student: str, exercise: Exercise, judged: Ending) -> Mark:
    if judged.result is None:
        return Mark(student, exercise.id, 0, exercise.points, f"while it was checked: {judged.reason}")
    found = judged.result
    return Mark(student, exercise.id, found["points"], exercise.points, found["reason"], True, tuple(found["checks"]))
