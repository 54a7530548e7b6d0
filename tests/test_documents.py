"""What docs/architecture.md shows is what the compiler prints.

A fenced block after the comment ``<!-- shows: EXPRESSION -->`` holds the text of the expression, evaluated in the
example of `tests/test_tiny.py`; a line of dots stands for lines that are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests import test_tiny

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "architecture.md"
SHOWN = re.compile(r"<!-- shows: (?P<expression>.+?) -->\n+```\w*\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)


def excerpts() -> list[tuple[str, str]]:
    return [(found["expression"], found["text"]) for found in SHOWN.finditer(DOCUMENT.read_text(encoding="utf-8"))]


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    """The names that expressions in the document may use."""
    session = wb.open(test_tiny.model(), target="llvm -mcpu=x86-64-v3")
    (kernel,) = session.kernels
    return {"session": session, "kernel": kernel, "tiny": test_tiny}


def missing_line(excerpt: str, text: str) -> str | None:
    """The first line of an excerpt that does not stand in the text where it should; None when all do."""
    lines = [line.rstrip() for line in text.splitlines()]
    at, skipping = 0, False
    for line in excerpt.splitlines():
        if line.strip() in ("...", "; ...", "# ..."):
            skipping = True
            continue
        places = [place for place in range(at, len(lines)) if lines[place] == line.rstrip()]
        if not places or (places[0] != at and not skipping):
            return line
        at, skipping = places[0] + 1, False
    return None


def test_the_document_shows_something() -> None:
    assert len(excerpts()) >= 6


@pytest.mark.parametrize(("expression", "excerpt"), excerpts(), ids=[expression for expression, _ in excerpts()])
def test_what_is_shown_is_printed(expression: str, excerpt: str, example: dict[str, Any]) -> None:
    text = str(eval(expression, dict(example)))
    missing = missing_line(excerpt, text)
    assert missing is None, f"not printed (in this place): {missing}\n\n{text}"
