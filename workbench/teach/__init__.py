"""Teaching with the workbench: exercises that are checked by the compiler itself.

    from workbench import teach
    task = teach.task("06_1", student="ada")     # an exercise with ada's shapes
    task.check(answer); task.hint()              # a card; then hints that say a little more each time
    teach.predict("How many misses?", truth=count, guess=1000).reveal()

On the command line: `workbench teach release | grade | report`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from . import card
from .cache_checks import cycles_at_most, misses_at_most
from .checks import at_most_steps, avoids, holds, legal, metric, same_numbers, same_program, uses, value_is
from .exercise import Check, Exercise, Verdict, find
from .loop_checks import loop_extents, loop_order, parallel, vectorized
from .predict import Prediction, predict
from .shapes import shapes_for
from .stage_checks import inlined, inside, partial_results, scratch_at_most
from .task import Report, Task
from .task import check as check_answer
from .work import Work


def task(exercise: str | Exercise, student: str | None = None) -> Task:
    """A student's task: an exercise of the course by its id, or one of your own.

    `student` is by default WORKBENCH_STUDENT; without it the shapes are those of the lesson's text.
    """
    from .course import exercises

    chosen = exercise if isinstance(exercise, Exercise) else find(exercises(), exercise)
    return Task(chosen, os.environ.get("WORKBENCH_STUDENT", "") if student is None else student)


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


__all__ = [
    "Check",
    "Exercise",
    "Prediction",
    "Progress",
    "Report",
    "Task",
    "Verdict",
    "Work",
    "at_most_steps",
    "avoids",
    "check_answer",
    "cycles_at_most",
    "find",
    "holds",
    "inlined",
    "inside",
    "legal",
    "loop_extents",
    "loop_order",
    "metric",
    "misses_at_most",
    "parallel",
    "partial_results",
    "predict",
    "progress",
    "same_numbers",
    "same_program",
    "scratch_at_most",
    "shapes_for",
    "task",
    "uses",
    "value_is",
    "vectorized",
]
