"""An exercise on the screen: what is asked, which checks hold of the schedule now, hints, handing in.

    screen = teach.task("09_3").show()         # the checks follow every move, of the mouse, of a key, of a cell

What is checked, hinted and written is the task's own doing: the same marks as `task.check` in a cell and as grading.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from workbench.core.errors import WorkbenchError
from workbench.ui.protocol import Answer

if TYPE_CHECKING:
    from pathlib import Path

    from workbench.schedule.schedule import Schedule


class GivenTask(Protocol):
    """What the screen needs of a `teach.Task`."""

    exercise: Any
    shapes: dict[str, int]
    report: Any
    """Of the last check; None before it."""
    hints_seen: int

    def check(self, answer: Any) -> Any: ...
    def hint(self) -> Any: ...
    def submit(self, answer: Any) -> Path: ...


class ExerciseCommands:
    """The commands on a task and the schedule that answers it; no task, and they are refused."""

    def __init__(self, task: GivenTask | None, schedule: Callable[[], Schedule]) -> None:
        self._task, self._schedule = task, schedule
        self._report: Any = None
        self._checked = ""
        """The state that the report is about."""
        self._hints: list[str] = []
        """Those told for what fails first now."""
        self._written = ""

    @property
    def title(self) -> str:
        """The exercise's title; empty without one."""
        return f"{self._task.exercise.id} {self._task.exercise.title}" if self._task is not None else ""

    def table(self) -> dict[str, Callable[[dict[str, Any]], Answer]]:
        """The commands by name."""
        own = {"open": lambda args: self._open(), "hint": self._hint, "submit": self._submit}
        return {f"exercise.{name}": command for name, command in own.items()}

    def _asked(self) -> GivenTask:
        if self._task is None:
            raise WorkbenchError("E-UI-ARGUMENT", "this screen shows no exercise", fix="teach.task(id).show()")
        return self._task

    def _open(self) -> Answer:
        task, schedule = self._asked(), self._schedule()
        state, report = schedule.fingerprint(), self._report
        if state != self._checked or report is None:
            before = report.reason if report is not None else ""
            report = self._report = task.check(schedule)
            if report.reason != before:
                self._hints.clear()
            self._checked, self._written = state, ""
        exercise = task.exercise
        return Answer(state, {
            "id": exercise.id, "title": exercise.title, "goal": exercise.goal, "shapes": task.shapes,
            "checks": [
                {"name": one.check.name, "points": one.check.points, "passed": one.verdict.passed,
                 "reason": one.verdict.reason}
                for one in report.results
            ],
            "points": report.points, "total": report.total, "passed": report.passed,
            "refused": report.reason if report.refused is not None else "",
            "hints": list(self._hints), "more": not report.passed and len(self._hints) < len(report.hints()),
            "written": self._written,
        })  # fmt: skip

    def _hint(self, args: dict[str, Any]) -> Answer:
        """One more hint for what fails first."""
        task = self._asked()
        self._open()
        task.report, task.hints_seen = self._report, len(self._hints)  # a cell may have checked something else since
        hint = task.hint()
        if hint.of and hint.text not in self._hints:
            self._hints.append(hint.text)
        return self._open()

    def _submit(self, args: dict[str, Any]) -> Answer:
        """Write the answer's file; it holds the Python of the schedule shown."""
        self._open()
        self._written = str(self._asked().submit(self._schedule()))
        return self._open()
