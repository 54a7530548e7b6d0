"""One layout engine for all program text: pieces in, text and spans out.

A printer is a function from a node (and a context value, such as a precedence) to pieces: text, `NEWLINE`, `INDENT`,
`DEDENT`, and `Child(node, context)` for what is printed by the printer in turn.  The engine is iterative and keeps
the span of every node, which hover, error underlining, diffs and debug locations use.

>>> from workbench.core.text import NEWLINE, Text, layout
>>> layout(None, lambda node, context: ["if x:", INDENT, NEWLINE, "y", DEDENT]).text
'if x:\\n    y'
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple


class Mark(Enum):
    """Layout commands."""

    NEWLINE = "newline"
    INDENT = "indent"
    DEDENT = "dedent"


NEWLINE, INDENT, DEDENT = Mark.NEWLINE, Mark.INDENT, Mark.DEDENT
INDENT_WIDTH = 4


class Child(NamedTuple):
    """A node to print here, with a context for its printer."""

    node: Any
    context: Any = None


Piece = str | Mark | Child
Printer = Callable[[Any, Any], Sequence[Piece]]


class Span(NamedTuple):
    """The half-open range of characters that a node printed as."""

    start: int
    end: int


_NEWLINES: Final = re.compile("\n")


@dataclass
class Text:
    """Printed text with the spans of its nodes."""

    text: str
    spans: list[tuple[Any, Span]] = field(default_factory=list[tuple[Any, Span]])
    """(node, span), inner nodes before the nodes around them."""

    def __post_init__(self) -> None:
        self._starts = [0, *(found.end() for found in _NEWLINES.finditer(self.text))]

    def __str__(self) -> str:
        return self.text

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    def position(self, offset: int) -> tuple[int, int]:
        """(line, column) of a character, both from 1."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def spans_of(self, node: Any) -> list[Span]:
        return [span for other, span in self.spans if other is node]

    def line_of(self, node: Any) -> int | None:
        """The line on which `node` first begins, from 1."""
        found = self.spans_of(node)
        return self.position(min(span.start for span in found))[0] if found else None

    def at(self, line: int, column: int) -> Any:
        """The innermost node printed at a position (from 1), or None."""
        if not 1 <= line <= len(self._starts):
            return None
        offset = self._starts[line - 1] + column - 1
        return next((node for node, span in self.spans if span.start <= offset < span.end), None)

    def underlined(self, nodes: Sequence[Any], around: int = 2) -> str:
        """The lines where `nodes` stand, each underlined with carets, with a few lines of surroundings."""
        marked: dict[int, list[tuple[int, int]]] = {}
        for wanted in nodes:
            for span in self.spans_of(wanted):
                line, column = self.position(span.start)
                last_line, last_column = self.position(span.end)
                width = last_column - column if last_line == line else len(self.lines[line - 1]) - column + 1
                marked.setdefault(line, []).append((column, max(width, 1)))
        shown = sorted({near for line in marked for near in range(line - around, line + around + 1)})
        output: list[str] = []
        for line in shown:
            if 1 <= line <= len(self.lines):
                output.append(f"{line:5d}  {self.lines[line - 1]}")
                if line in marked:
                    output.append("       " + _carets(marked[line]))
        return "\n".join(output)


def _carets(ranges: list[tuple[int, int]]) -> str:
    width = max(column + length for column, length in ranges)
    row = [" "] * width
    for column, length in ranges:
        row[column - 1 : column - 1 + length] = "^" * length
    return "".join(row).rstrip()


def layout(root: Any, printer: Printer, context: Any = None) -> Text:
    """Print `root`: expand pieces depth-first, left to right."""
    written: list[str] = []
    spans: list[tuple[Any, Span]] = []
    length, depth = 0, 0
    opened: list[tuple[Any, int]] = []
    """The nodes being printed, each with where its text began."""
    stack: list[Iterator[Piece]] = [iter((Child(root, context),))]
    while stack:
        for piece in stack[-1]:
            if isinstance(piece, str):
                written.append(piece)
                length += len(piece)
            elif isinstance(piece, Child):
                opened.append((piece.node, length))
                stack.append(iter(printer(piece.node, piece.context)))
                break
            elif piece is NEWLINE:
                added = "\n" + " " * (INDENT_WIDTH * depth)
                written.append(added)
                length += len(added)
            else:
                depth += 1 if piece is INDENT else -1
        else:
            stack.pop()
            if opened:
                node, start = opened.pop()
                spans.append((node, Span(start, length)))
    return Text("".join(written), spans)


def fresh_name(base: str, taken: set[str]) -> str:
    """`base`, or with a number behind it, that is not `taken` yet; then it is."""
    name, number = base, 0
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    taken.add(name)
    return name
