"""Cards: tasks, reports, hints and progress as static HTML and as text.

No script, no style sheet; signs as well as colours.

All text of students and teachers is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Final

from ..core.errors import WorkbenchError
from ..views.html import text_html, visible

if TYPE_CHECKING:
    from .predictions import Prediction
    from .tasks import Hint, Report, Task

_FONT: Final = "font:13px/1.5 system-ui,sans-serif"
_BOX: Final = (
    f"{_FONT};border:1px solid rgba(128,128,128,.4);border-radius:6px;padding:8px 12px;margin:4px 0;max-width:60em"
)
_GOOD, _BAD, _FAINT = "#00794f", "#b3400f", "opacity:.7"
GUESS_FIRST: Final = "write it in this cell, `guess=...`, in place of the dots, and run the cell again"
AGAIN: Final = "then run this cell again"
_SIGN: Final = {True: "✓", False: "✗"}
_COLOUR: Final = {True: _GOOD, False: _BAD}


def _text(value: str) -> str:
    return escape(visible(value))


def _prose(text: str) -> str:
    """Text with `code` and line breaks."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _text(text)).replace("\n", "<br>")


def shapes_text(shapes: dict[str, int]) -> str:
    return ", ".join(f"{name} = {extent}" for name, extent in shapes.items())


def _worth(points: int) -> str:
    return "a must" if not points else "1 point" if points == 1 else f"{points} points"


def task_text(task: Task) -> str:
    lines = [f"{task.exercise.id}  {task.exercise.title}", f"  {task.exercise.goal}"]
    if task.shapes:
        lines.append(f"  your shapes: {shapes_text(task.shapes)}")
    lines += [f"  [ ] {check.name} ({_worth(check.points)})" for check in task.exercise.checks]
    lines.append(f"  the answer: {task.exercise.signature()} ...")
    return "\n".join(lines)


def task_html(task: Task) -> str:
    exercise = task.exercise
    whose = f" · {_text(task.student)}" if task.student else ""
    shapes = f'<div style="{_FAINT}">your shapes{whose}: {shapes_text(task.shapes)}</div>' if task.shapes else ""
    checks = "".join(
        f"<li>{_prose(check.name)} <span style='{_FAINT}'>({_worth(check.points)})</span></li>"
        for check in exercise.checks
    )
    return (
        f'<div style="{_BOX}"><b>{exercise.id} · {_text(exercise.title)}</b>{shapes}'
        f'<div style="margin:6px 0">{_prose(exercise.goal)}</div>'
        f'<ul style="margin:4px 0;padding-left:1.4em">{checks}</ul>'
        f'<div style="{_FAINT}">answer: <code>{_text(exercise.signature())} …</code></div></div>'
    )


def report_text(report: Report) -> str:
    passed = sum(result.verdict.passed for result in report.results)
    lines = [
        f"{report.exercise.id}: {passed} of {len(report.results)} checks hold, {report.points} of {report.total} points"
    ]
    if report.refused is not None:
        lines += ["  the answer ended in an error:", *(f"    {line}" for line in _error_lines(report.refused))]
    else:
        lines += [f"  {_SIGN[r.verdict.passed]} {r.check.name}: {r.verdict.reason}" for r in report.results]
    return "\n".join(lines)


def _error_lines(error: BaseException) -> list[str]:
    return str(error).split("\n") if isinstance(error, WorkbenchError) else [f"{type(error).__name__}: {error}"]


def report_html(report: Report) -> str:
    head = f"<b>{report.exercise.id} · {_text(report.exercise.title)}</b> · {report.points} of {report.total} points"
    if report.refused is not None:
        rows = text_html("\n".join(_error_lines(report.refused)), "the answer ended in an error")
    else:
        rows = "".join(
            f'<tr><td style="color:{_COLOUR[r.verdict.passed]};font-weight:700">{_SIGN[r.verdict.passed]}</td>'
            f'<td style="text-align:left">{_prose(r.check.name)}</td>'
            f'<td style="text-align:left">{_prose(r.verdict.reason)}</td></tr>'
            for r in report.results
        )
        rows = f'<table style="font:inherit;margin:4px 0"><tbody>{rows}</tbody></table>'
    ask = f'Stuck? <code>teach.task("{report.exercise.id}").hint()</code> says a little more each time.'
    more = "" if report.passed else f'<div style="{_FAINT}">{ask}</div>'
    return f'<div style="{_BOX}">{head}{bar(report.points, report.total)}{rows}{more}</div>'


def bar(points: int, total: int) -> str:
    """A bar of progress."""
    share = round(100 * points / total) if total else 0
    return (
        '<div style="background:rgba(128,128,128,.25);border-radius:3px;height:6px;max-width:30em;margin:4px 0">'
        f'<div style="background:{_GOOD};height:6px;border-radius:3px;width:{share}%"></div></div>'
    )


def hint_html(hint: Hint) -> str:
    title = f"Hint {hint.level} of {hint.of}" if hint.of else "No hint needed"
    text = (
        f"<pre style='margin:4px 0'>{_text(hint.text)}</pre>"
        if "\n" in hint.text
        else f"<div>{_prose(hint.text)}</div>"
    )
    return f'<div style="{_BOX}"><b>{title}</b>{text}</div>'


def source_html(source: str, title: str) -> str:
    return text_html(source, title)


def prediction_text(prediction: Prediction) -> str:
    lines = [prediction.question]
    if not prediction.guesses:
        return f"{lines[0]}\n  guess first: {GUESS_FIRST}"
    lines.append(f"  predicted: {prediction.guesses[0]!r}")
    if prediction.revealed:
        lines.append(f"  found:     {prediction.found!r}   {_SIGN[prediction.right]} {prediction.comment}")
    return "\n".join(lines)


def prediction_html(prediction: Prediction) -> str:
    rows = "".join(f"<div>{_prose(line)}</div>" for line in prediction_text(prediction).split("\n"))
    return f'<div style="{_BOX}">{rows}</div>'


def covered_text(prediction: Prediction) -> str:
    """Names the question, so that one finds the cell that waits."""
    return f"Covered until you have guessed: {prediction.question}\n  {AGAIN}"


def covered_html(prediction: Prediction) -> str:
    rows = "".join(f"<div>{_prose(line)}</div>" for line in covered_text(prediction).split("\n"))
    return f'<div style="{_BOX};{_FAINT}">{rows}</div>'


def progress_text(tasks: Sequence[Task]) -> str:
    rows = []
    for task in tasks:
        report = task.report
        state = "not tried" if report is None else f"{report.points} of {report.total}"
        rows.append(f"  {task.exercise.id:<8} {task.exercise.title:<40} {state}")
    return "\n".join([f"{_earned(tasks)} of {_total(tasks)} points", *rows])


def _earned(tasks: Sequence[Task]) -> int:
    return sum(task.report.points for task in tasks if task.report is not None)


def _total(tasks: Sequence[Task]) -> int:
    return sum(task.exercise.points for task in tasks)


def progress_html(tasks: Sequence[Task]) -> str:
    rows = ""
    for task in tasks:
        report = task.report
        points = report.points if report is not None else 0
        note = "not tried" if report is None else (report.reason or "done")
        rows += (
            f'<tr><td>{task.exercise.id}</td><td style="text-align:left">{_text(task.exercise.title)}</td>'
            f'<td style="min-width:8em">{bar(points, task.exercise.points)}</td>'
            f"<td>{points} of {task.exercise.points}</td>"
            f'<td style="text-align:left">{_prose(note)}</td></tr>'
        )
    head = f"<b>{_earned(tasks)} of {_total(tasks)} points</b>"
    table = f'<table style="font:inherit"><tbody>{rows}</tbody></table>'
    return f'<div style="{_BOX}">{head}{bar(_earned(tasks), _total(tasks))}{table}</div>'
