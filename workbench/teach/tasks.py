"""One student's exercise: the program to start from, checking an answer, hints one after another, handing in.

    task = teach.task("06_1", student="ada")
    sch = task.start()                   # try things out
    def answer(sch): ...
    task.check(answer)                   # a card: what holds, what does not, why
    task.hint()                          # the next hint for the first thing that does not hold
    task.submit(answer)                  # answers/06_1.py, which is what is graded

Invariant: `check` gives the same marks as grading does, because it looks at the same outcome of the answer.
"""

from __future__ import annotations

import inspect
import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._lazy import screen_of, session_of
from ..core.errors import WorkbenchError
from ..core.whole_file import write_whole
from ..schedule.schedule import Schedule
from ..tir import nodes as t
from . import card
from .answers import Outcome, produce, read_back, start_of
from .checks import verdict_of
from .course import exercises
from .exercise import Check, Exercise, Verdict, find
from .hints import ladder, refused_ladder
from .source import HEADER, answer_of
from .work import Work


@dataclass(frozen=True)
class Result:
    check: Check
    verdict: Verdict

    @property
    def points(self) -> int:
        return self.check.points if self.verdict.passed else 0


@dataclass(frozen=True)
class Report:
    """What came of checking one answer.  `refused` is the error that it ended in, if it did."""

    exercise: Exercise
    student: str
    results: tuple[Result, ...]
    refused: BaseException | None = None
    work: Work | None = field(default=None, repr=False)

    @property
    def points(self) -> int:
        """Earned; nothing where a guard fails."""
        return sum(result.points for result in self.results) if self.guarded else 0

    @property
    def guarded(self) -> bool:
        """Whether all checks without points hold."""
        return all(result.verdict.passed for result in self.results if not result.check.points)

    @property
    def total(self) -> int:
        return self.exercise.points

    @property
    def passed(self) -> bool:
        return all(result.verdict.passed for result in self.results)

    @property
    def reason(self) -> str:
        """Of what fails first; empty when nothing does."""
        if self.refused is not None:
            return error_line(self.refused)
        return next((f"{r.check.name}: {r.verdict.reason}" for r in self.results if not r.verdict.passed), "")

    def holds(self, check: str) -> bool:
        """Whether the check of a name passed, and the guards with it."""
        for result in self.results:
            if result.check.name == check:
                return result.verdict.passed and self.guarded
        names = ", ".join(result.check.name for result in self.results)
        raise WorkbenchError("E-TEACH-UNKNOWN", f"{self.exercise.id} has no check {check!r}", found=names)

    def hints(self) -> tuple[str, ...]:
        """The ladder for the first thing that does not hold; empty when all does."""
        if self.refused is not None:
            return refused_ladder(self.exercise, self.refused)
        failed = next((result for result in self.results if not result.verdict.passed), None)
        return () if failed is None else ladder(self.exercise, failed.check, failed.verdict, self.work)

    def __str__(self) -> str:
        return card.report_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return card.report_html(self)


def error_line(error: BaseException) -> str:
    """An error in one line."""
    if isinstance(error, WorkbenchError):
        return f"{error.code}: {error.message}"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def judged(exercise: Exercise, student: str, outcome: Mapping[str, str]) -> Report:
    """The report on the outcome of an answer; runs nothing of the student's."""
    try:
        work = read_back(exercise, exercise.shapes_of(student), outcome)
    except WorkbenchError as error:
        return refused(exercise, student, error)
    results = tuple(Result(check, verdict_of(check, work)) for check in exercise.checks)
    return Report(exercise, student, results, None, work)


def refused(exercise: Exercise, student: str, error: BaseException) -> Report:
    """The report on an answer that gave no outcome."""
    nothing = tuple(Result(check, Verdict(False, "there is nothing to check")) for check in exercise.checks)
    return Report(exercise, student, nothing, error)


def check(exercise: Exercise, answer: Any, student: str = "") -> Report:
    """Run an answer here and check what came of it."""
    outcome: Outcome
    try:
        outcome = produce(exercise, exercise.shapes_of(student), answer)
    except Exception as error:  # whatever a student's code raises is a result, not our failure
        return refused(exercise, student, error)
    return judged(exercise, student, outcome)


class Task:
    """See the module's header.  `student` chooses the shapes; "" has those of the lesson's text."""

    def __init__(self, exercise: Exercise, student: str = "") -> None:
        self.exercise = exercise
        self.student = student
        self.shapes = exercise.shapes_of(student)
        self.report: Report | None = None
        """Of the last check."""
        self.hints_seen = 0

    @property
    def program(self) -> Any:
        """What the exercise begins with."""
        return start_of(self.exercise, self.shapes)

    def start(self) -> Any:
        """A schedule of the program to try things out on; for other kinds of exercises the program itself."""
        program = self.program
        return Schedule(program) if self.exercise.answer == "schedule" and isinstance(program, t.PrimFunc) else program

    def show(self, schedule: Schedule | None = None) -> Any:
        """The screen on a schedule of the exercise (by default a new one), with the checks beside it.

        What is done there, `screen.schedule` has; *Submit* writes the same file as `submit`.  Raises
        E-TEACH-SCREEN where the answer is no schedule, or without the notebook's packages.
        """
        if self.exercise.answer != "schedule":
            raise WorkbenchError(
                "E-TEACH-SCREEN", f"the answer to {self.exercise.id} is no schedule", found=self.exercise.answer,
                expected="a schedule", fix=f"write it in a cell: {self.exercise.signature()} ...",
            )  # fmt: skip
        given = self.start() if schedule is None else schedule
        return screen_of(session_of(given), given, self)

    def check(self, answer: Any) -> Report:
        """Check an answer; the report shows as a card."""
        report = check(self.exercise, answer, self.student)
        if self.report is None or report.reason != self.report.reason:
            self.hints_seen = 0
        self.report = report
        return report

    def hint(self) -> Hint:
        """The next hint for what failed first in the last check."""
        if self.report is None:
            self.check(_unedited(self.exercise))
        assert self.report is not None
        hints = self.report.hints()
        if not hints:
            return Hint(0, 0, "Everything holds.")
        self.hints_seen = min(self.hints_seen + 1, len(hints))
        return Hint(self.hints_seen, len(hints), hints[self.hints_seen - 1])

    def submit(self, answer: Any, folder: str | Path = "answers") -> Path:
        """Write an answer to `folder`/ID.py, ready to be handed in: the source of a function, or a schedule's steps.

        What was done in the schedule editor is `editor.schedule`.
        """
        path = Path(folder) / f"{self.exercise.id}.py"
        try:
            source = _steps(answer) if isinstance(answer, Schedule) else textwrap.dedent(inspect.getsource(answer))
        except (OSError, TypeError):
            raise WorkbenchError(
                "E-TEACH-SOURCE",
                "the source of this answer is not to be had",
                found=type(answer).__name__,
                expected="a function defined by def in a cell or a file",
                fix=f"write {path} by hand: {self.exercise.signature()} ...",
            ) from None
        _stands_alone(self.exercise, self.student, f"{HEADER}{source}")
        path.parent.mkdir(parents=True, exist_ok=True)
        return write_whole(path, f"{HEADER}{source}")

    def solution(self, folder: str | Path | None = None) -> Solution:
        """A reference solution, where the teacher has put one: `folder`/ID.py (default: WORKBENCH_SOLUTIONS)."""
        place = folder or os.environ.get("WORKBENCH_SOLUTIONS") or "solutions"
        path = Path(place) / f"{self.exercise.id}.py"
        if not path.is_file():
            raise WorkbenchError(
                "E-TEACH-SOLUTION",
                f"the solution of {self.exercise.id} has not been released",
                found=f"no file {path}",
                fix="task.hint() goes on until the line itself",
            )
        return Solution(self.exercise.id, path.read_text(encoding="utf-8"))

    reveal = solution

    def __repr__(self) -> str:
        return card.task_text(self)

    def _repr_html_(self) -> str:
        return card.task_html(self)


def task(exercise: str | Exercise, student: str | None = None) -> Task:
    """A student's task: an exercise of the course by its id, or one of your own.

    `student` is by default WORKBENCH_STUDENT; without it the shapes are those of the lesson's text.  The same call
    gives the same task again, so that hints go on from cell to cell.
    """
    chosen = exercise if isinstance(exercise, Exercise) else find(exercises(), exercise)
    name = os.environ.get("WORKBENCH_STUDENT", "") if student is None else student
    chosen.shapes_of(name)  # refuses what is no name
    known = _given.get((chosen.id, name))
    if known is None or known.exercise is not chosen:
        known = _given[chosen.id, name] = Task(chosen, name)
    return known


_given: dict[tuple[str, str], Task] = {}
"""The tasks of this process, by exercise and student."""


@dataclass(frozen=True)
class Progress:
    """How far one is: a card."""

    tasks: tuple[Task, ...]

    def __repr__(self) -> str:
        return card.progress_text(self.tasks)

    def _repr_html_(self) -> str:
        return card.progress_html(self.tasks)


def progress(tasks: Sequence[Task]) -> Progress:
    """A card with the points of each task's last check."""
    return Progress(tuple(tasks))


def _steps(schedule: Schedule) -> str:
    """The steps of a schedule as an answer."""
    return f"def answer(sch):\n{textwrap.indent(schedule.code(), '    ')}    return sch\n"


def _stands_alone(exercise: Exercise, student: str, source: str) -> None:
    """Refuse an answer that needs names of its notebook, which would be missing where it is graded."""
    try:
        missing = check(exercise, answer_of(source, exercise.id), student).refused
    except NameError as error:
        missing = error
    if isinstance(missing, NameError):
        raise WorkbenchError(
            "E-TEACH-SOURCE",
            f"the answer to {exercise.id} does not stand by itself",
            found=str(missing),
            expected="a function that uses np, wb, te, tir, topi, and what it defines or imports itself",
            fix=f"define {missing.name} inside the function",
        )


def _unedited(exercise: Exercise) -> Any:
    return answer_of(HEADER + exercise.unedited(), exercise.id)


@dataclass(frozen=True)
class Hint:
    level: int
    of: int
    text: str

    def __repr__(self) -> str:
        return f"hint {self.level} of {self.of}: {self.text}" if self.of else self.text

    def _repr_html_(self) -> str:
        return card.hint_html(self)


@dataclass(frozen=True)
class Solution:
    id: str
    source: str

    def __repr__(self) -> str:
        return self.source

    def _repr_html_(self) -> str:
        return card.source_html(self.source, f"solution of {self.id}")
