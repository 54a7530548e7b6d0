"""What an exercise is: a program to start from, a goal, checks that a program computes, hints.

Invariant: an exercise is a value and knows no answer; what a student does lies in a `Task` (see `tasks`).

    Exercise(
        id="06_1",
        title="Eight lanes",
        goal="Make the innermost loop of `C` a vector of 8.",
        start=matmul,                                  # matmul(n, m, k) -> PrimFunc
        shapes={"n": (24, 32), "m": (48, 64), "k": (16, 20)},
        checks=(same_numbers(lambda a, b: a @ b), vectorized("C", lanes=8)),
    )
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ..core.errors import WorkbenchError, nearest, require
from .shapes import shapes_for

if TYPE_CHECKING:
    from .work import Work

AnswerKind = Literal["schedule", "tensors", "function", "value", "pass"]
KINDS: dict[str, tuple[str, str]] = {
    "schedule": ("sch", "the schedule `sch`, changed in place"),
    "tensors": ("{shapes}", "te tensors: inputs, then outputs"),
    "function": ("func", "a loop function"),
    "value": ("func", "a number, a text or a list"),
    "pass": ("", "a pass, to be run on the program"),
}
"""For each kind of answer: its parameters, and what it gives back."""
_ID = re.compile(r"[0-9]{2}_[0-9a-z]+")


@dataclass(frozen=True)
class Verdict:
    """What a check found: whether it holds, the reason, and what the hints are made of."""

    passed: bool
    reason: str
    where: tuple[str, ...] = ()
    """The loops and blocks concerned, by name."""
    primitive: str = ""
    """What would help, by name."""
    lines: tuple[str, ...] = ()
    """Python that does it; the last line is the one that counts."""


@dataclass(frozen=True)
class Check:
    """A property with a name: `run` looks at the work, never at the student's code."""

    name: str
    run: Callable[[Work], Verdict]
    points: int = 1
    """0: a guard, without which the points of the others are not earned."""
    helps: tuple[str, ...] = ()
    """Primitives that may lead there, tried in turn for the hints."""
    remedy: Callable[[Work], tuple[str, ...] | None] | None = None
    """Lines that lead there from the start, where the check knows a search of its own."""


@dataclass(frozen=True)
class Exercise:
    """See the module's header.  `start(**shapes)` makes the program; `hints` are the teacher's words."""

    id: str
    title: str
    goal: str
    start: Callable[..., Any]
    checks: tuple[Check, ...]
    hints: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """By check: in which way, and the line; shown where no line can be computed."""
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    answer: AnswerKind = "schedule"
    template: str = ""
    """The body of the unedited answer; by default a comment."""

    def __post_init__(self) -> None:
        require(
            bool(_ID.fullmatch(self.id)),
            "E-TEACH-EXERCISE",
            f"{self.id!r} cannot be the id of an exercise",
            expected="lesson and number, such as 06_1",
        )
        require(self.answer in KINDS, "E-TEACH-EXERCISE", f"there is no kind of answer {self.answer!r}",
                expected=", ".join(KINDS), fix=nearest(self.answer, KINDS))  # fmt: skip
        require(bool(self.checks), "E-TEACH-EXERCISE", f"{self.id} checks nothing", fix="give it checks")
        require(self.points > 0, "E-TEACH-EXERCISE", f"{self.id} gives no points", fix="a check with points=1")
        require(
            all(len(values) > 0 for values in self.shapes.values()),
            "E-TEACH-EXERCISE",
            f"{self.id} has an extent without a choice",
        )
        names = [check.name for check in self.checks]
        require(len(set(names)) == len(names), "E-TEACH-EXERCISE", f"{self.id} has two checks of one name")
        stray = [name for name in self.hints if name not in names]
        require(
            not stray,
            "E-TEACH-EXERCISE",
            f"{self.id} has a hint for a check that is not there",
            found=repr(stray[:1]),
            expected=", ".join(names),
        )

    @property
    def lesson(self) -> str:
        return self.id.partition("_")[0]

    @property
    def points(self) -> int:
        return sum(check.points for check in self.checks)

    def shapes_of(self, student: str = "") -> dict[str, int]:
        """The extents of one student."""
        return shapes_for(self.id, student, self.shapes)

    def signature(self, name: str = "answer") -> str:
        """The first line of the answer."""
        parameters = KINDS[self.answer][0].format(shapes=", ".join(self.shapes))
        return f"def {name}({parameters}):"

    def unedited(self, name: str = "answer") -> str:
        """The answer as it is handed out: it runs, and solves nothing."""
        body = self.template or {
            "schedule": "    # your steps, e.g. i, j = sch.get_loops(...)\n    return sch",
            "function": "    return func",
        }.get(self.answer, "    return None")
        return f"{self.signature(name)}\n{body}\n"


def find(exercises: Sequence[Exercise], name: str) -> Exercise:
    """The exercise of an id; "06.1" is "06_1"."""
    wanted = str(name).replace(".", "_")
    for exercise in exercises:
        if exercise.id == wanted:
            return exercise
    known = [exercise.id for exercise in exercises]
    raise WorkbenchError(
        "E-TEACH-UNKNOWN",
        f"there is no exercise {str(name)!r}",
        found=f"exercises {', '.join(known)}",
        fix=nearest(wanted, known),
    )
