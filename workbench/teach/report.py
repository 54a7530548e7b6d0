"""What a class has learned: for each exercise how many tried and solved it, and what they failed at.

summary(marks)           # a row an exercise
text(marks); html(marks)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from html import escape
from typing import Final

from ..views.html import visible
from .card import bar
from .grade import Mark, Marks

_COMMON: Final = 3
_FONT: Final = "font:13px/1.5 system-ui,sans-serif"


@dataclass(frozen=True)
class Row:
    """One exercise: students, handed in, solved, mean points of `of`, and what failed most often with its count."""

    exercise: str
    students: int
    handed_in: int
    solved: int
    mean: float
    of: int
    failures: tuple[tuple[str, int], ...]


def summary(marks: Marks) -> tuple[Row, ...]:
    """A row for each exercise, in their order."""
    names = list(dict.fromkeys(mark.exercise for mark in marks.marks))
    return tuple(_row(name, [mark for mark in marks.marks if mark.exercise == name]) for name in names)


def _row(name: str, marks: list[Mark]) -> Row:
    failures: Counter[str] = Counter()
    for mark in marks:
        failed = [check["name"] for check in mark.checks if not check["passed"]]
        if mark.handed_in and not mark.checks and mark.points < mark.of:
            failed = [mark.reason.split(":")[0].split(" (")[0]]
        failures.update(failed)
    return Row(
        name,
        len(marks),
        sum(mark.handed_in for mark in marks),
        sum(mark.points == mark.of for mark in marks),
        sum(mark.points for mark in marks) / len(marks),
        marks[0].of,
        tuple(sorted(failures.items(), key=lambda item: (-item[1], item[0]))[:_COMMON]),
    )


def students(marks: Marks) -> tuple[tuple[str, int, int], ...]:
    """(student, points, of) in order of their names."""
    names = list(dict.fromkeys(mark.student for mark in marks.marks))
    return tuple((name, sum(m.points for m in marks.of(name)), sum(m.of for m in marks.of(name))) for name in names)


def text(marks: Marks) -> str:
    """The table for a terminal."""
    lines = [f"{'exercise':<9} {'handed in':>11} {'solved':>7} {'mean':>12}   failed most often"]
    for row in summary(marks):
        failed = "; ".join(f"{name} ({count})" for name, count in row.failures) or "nothing"
        handed_in, mean = f"{row.handed_in} of {row.students}", f"{row.mean:.1f} of {row.of}"
        lines.append(f"{row.exercise:<9} {handed_in:>11} {row.solved:>7} {mean:>12}   {visible(failed)}")
    lines += ["", f"{'student':<24} points"]
    lines += [f"{visible(name):<24} {points} of {of}" for name, points, of in students(marks)]
    unclear = [f"{mark.student}, {mark.exercise}: {mark.reason}" for mark in marks.marks if mark.unclear]
    lines += ["", "to be looked at", *map(visible, unclear)] if unclear else []
    return "\n".join(lines) + "\n"


def html(marks: Marks) -> str:
    """A page without script."""
    exercises = "".join(
        f"<tr><td>{escape(row.exercise)}</td><td>{row.handed_in} of {row.students}</td><td>{row.solved}</td>"
        f"<td style='min-width:8em'>{bar(round(row.mean * 100), row.of * 100)}{row.mean:.1f} of {row.of}</td>"
        f"<td>{'<br>'.join(f'{count} × {escape(visible(name))}' for name, count in row.failures)}</td></tr>"
        for row in summary(marks)
    )
    people = "".join(
        f"<tr><td>{escape(visible(name))}</td><td style='min-width:8em'>{bar(points, of)}</td><td>{points} of {of}</td>"
        f"<td>{_reasons(marks.of(name))}</td></tr>"
        for name, points, of in students(marks)
    )
    head = "<tr><th>exercise</th><th>handed in</th><th>solved</th><th>mean</th><th>failed most often</th></tr>"
    style = "td,th{text-align:left;padding:2px 12px 2px 0;vertical-align:top}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>marks</title><style>{style}</style>'
        f'<body style="{_FONT};margin:2em"><h1 style="font-size:18px">Exercises</h1><table>{head}{exercises}</table>'
        f'<h1 style="font-size:18px">Students</h1><table>{people}</table></body></html>\n'
    )


def _reasons(marks: tuple[Mark, ...]) -> str:
    lines = [f"{mark.exercise}: {mark.reason}" for mark in marks if mark.reason and (mark.handed_in or mark.unclear)]
    return "<br>".join(escape(visible(line)) for line in lines)
