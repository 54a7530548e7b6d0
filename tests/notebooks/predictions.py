"""Predictions in notebooks: where they are asked, what covers their answers, and the same notebook with guesses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import nbformat

WAITS, COVERED, FOUND = "guess first: ", "Covered until you have guessed: ", "  found:     "
TRUTH = "import json as _json\nprint(_json.dumps(_._truth(), default=str))"
"""Run after a cell that shows a prediction: its answer, without revealing it."""


def calls(source: str) -> Iterator[ast.Call]:
    """The calls of a cell; magics and shell lines are left out."""
    lines = [line for line in source.split("\n") if not line.startswith(("%", "!"))]
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.Call):
            yield node


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def asks(source: str) -> int:
    """How many predictions a cell asks for."""
    return sum(_called(call) == "predict" for call in calls(source))


def covers(source: str) -> bool:
    """Whether a cell waits for a prediction."""
    return any(_called(call) == "then" for call in calls(source))


def guesses(source: str) -> list[str]:
    """The guesses that a cell makes: none, as long as there are only dots."""
    made: list[str] = []
    for call in calls(source):
        if _called(call) == "predict":
            given = [item.value for item in call.keywords if item.arg == "guess"] + call.args[2:3]
            made += [ast.unparse(value) for value in given if not _is_dots(value)]
        elif _called(call) == "guess":
            made.append(ast.unparse(call))
    return made


def _is_dots(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value in (None, ...)


def guessed(book: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook with a guess in place of the dots, up to the last cell that waits for one; without exercises."""
    cells = [cell for cell in book.cells if cell.cell_type == "code" and "nbgrader" not in cell.metadata]
    last = max(number for number, cell in enumerate(cells) if asks(cell.source) or covers(cell.source))
    book.cells = cells[: last + 1]
    for cell in book.cells:
        cell.source = re.sub(r"\bguess=\.\.\.", "guess=0", cell.source)
    return book


def ways_to_write(answer: Any) -> tuple[str, ...]:
    """The texts that would give an answer away; none for those that may stand anywhere: small numbers, words, times."""
    if isinstance(answer, int) and not isinstance(answer, bool) and answer >= 100:
        return (str(answer), f"{answer:,}")
    return (repr(answer),) if isinstance(answer, list) else ()
