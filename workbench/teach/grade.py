"""Grading a folder of submissions: each answer in a process of its own, each mark with its reason.

    submissions/ada/answers/06_1.py        # or ada/06_1.py, or a cell `answer-06_1` of a notebook ada/*.ipynb

    book = grade("submissions", exercises())
    book.csv(); book.json()

Invariant: one submission, wrong or hostile, costs its own points and nothing else; every exercise of every student has
a mark; what cannot be read or is ambiguous is said in it, and is not taken for nothing.
"""

from __future__ import annotations

import csv
import io
import json
import os
import unicodedata
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from ..core.errors import WorkbenchError
from .contain import Contained, Limits
from .exercise import Exercise
from .handed_in import LIMIT, shown, why
from .source import NOTHING, submitted

FORMAT = "workbench.teach.marks"
VERSION = 1


@dataclass(frozen=True)
class Mark:
    """Points of one student for one exercise; `reason` says why points are missing, and what else is to be known."""

    student: str
    exercise: str
    points: int
    of: int
    reason: str = ""
    handed_in: bool = True
    checks: tuple[dict[str, Any], ...] = ()
    unclear: bool = False
    """Whether a teacher should look: something cannot be read, is ambiguous, or was not looked at."""


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
    text = text.encode("utf-8", "replace").decode()  # a half of a pair is no character, and cannot be written
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
    students = students_of(submissions)[0]
    alike = _alike(students)
    waiting: SimpleQueue[Contained] = SimpleQueue()

    def one(pair: tuple[Path, Exercise]) -> Mark:
        box = waiting.get()
        try:
            mark = _noted(mark_of(pair[0], pair[1], box, course), alike.get(pair[0], ""))
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


def students_of(submissions: str | Path) -> tuple[list[Path], list[str]]:
    """The students' folders, and the names of what else is there and is not graded.

    Raises `WorkbenchError` for a folder that is not there or holds no student.
    """
    folder, reason = Path(submissions), ""
    try:
        names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError as error:
        names, reason = [], why(error)
    students = [folder / name for name in names if not name.startswith("_") and os.path.isdir(folder / name)]
    if students:
        return students, [shown(name) for name in names if folder / name not in students]
    raise WorkbenchError(
        "E-TEACH-SUBMISSIONS",
        f"there are no submissions in {folder}",
        found=reason,
        expected="a folder for each student, with answers/ID.py",
        fix="name the folder that holds the students' folders",
    )


def _alike(students: Sequence[Path]) -> dict[Path, str]:
    """What is to be known of students whose names are one name but for capitals or Unicode's normal form."""
    named: dict[str, list[Path]] = {}
    for student in students:
        plain = unicodedata.normalize("NFKC", shown(student.name))
        named.setdefault(unicodedata.normalize("NFKC", plain.casefold()), []).append(student)
    notes: dict[Path, str] = {}
    for same in named.values():
        for student in same if len(same) > 1 else ():
            others = ", ".join(ascii(other.name) for other in same if other != student)
            notes[student] = f"a folder of nearly the same name is there: {others}"
    return notes


def _noted(mark: Mark, note: str) -> Mark:
    if not note:
        return mark
    return replace(mark, reason=f"{mark.reason} ({note})" if mark.reason else note, unclear=True)


def mark_of(student: Path, exercise: Exercise, box: Contained, course: str = "") -> Mark:
    """One mark.  Answers run in `box`.  The student's name is the name of the folder, which also chooses the shapes."""
    nothing = Mark(shown(student.name), exercise.id, 0, exercise.points)
    try:
        found = submitted(student, exercise.id, exercise.unedited())
    except OSError as error:
        return replace(nothing, reason=f"cannot be read: {why(error)}", unclear=True)
    if found.source is None:
        unclear = found.note != NOTHING
        return replace(nothing, reason=found.note, handed_in=found.handed_in, unclear=unclear)
    return _noted(_graded(student.name, found.source, exercise, box, course), found.note)


def _graded(name: str, source: str, exercise: Exercise, box: Contained, course: str) -> Mark:
    nothing = Mark(shown(name), exercise.id, 0, exercise.points)
    if len(source) > LIMIT:
        return replace(nothing, reason=f"is longer than {LIMIT:,} characters")
    common = {"exercise": exercise.id, "student": name, "course": str(Path(course).resolve()) if course else ""}
    answered = box.do({"do": "answer", "source": source, **common})
    if answered.result is None:
        return replace(nothing, reason=answered.reason)
    outcome = answered.result.get("outcome")
    if not isinstance(outcome, dict) or set(outcome) != {"kind", "text"} or not isinstance(outcome["text"], str):
        return replace(nothing, reason="answered something that cannot be read")
    judged = box.do({"do": "judge", "outcome": outcome, **common})
    if judged.result is None:
        return replace(nothing, reason=f"while it was checked: {judged.reason}")
    report = judged.result
    return replace(nothing, points=report["points"], reason=report["reason"], checks=tuple(report["checks"]))
