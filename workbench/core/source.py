"""Source text given by a person: reading it with `ast`, and errors that point into it.

Nothing is executed.  Whatever is wrong with the text, one `ParseError` says where:

    E-TIR-PARSE  A has 2 axes, not 1
      where     line 3, column 5
      source    A[i] = 1.0
                ^
      fix       write A[i, j]
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from typing import Any, Final

from .errors import WorkbenchError, shorten
from .node import is_unicode

_WINDOW: Final = 88
_ESCAPE: Final = re.compile(r"\\[uU]")
PARSER_FAILURES: Final = (SyntaxError, ValueError, RecursionError, MemoryError, UnicodeError, OverflowError)
"""What Python's parser raises at a text that it cannot read, or whose nesting it gives up at."""


class ParseError(WorkbenchError):
    """An error in a text: `line` and `column` count from 1; `source` is the line, `caret` points into it."""

    def __init__(
        self, code: str, message: str, *, line: int, column: int, source: str = "", fix: str = "", found: str = ""
    ) -> None:
        super().__init__(code, message, where=f"line {line}, column {column}", fix=fix, found=found)
        self.line, self.column = line, column
        self.source, self.caret = _window(source, column)

    def __str__(self) -> str:
        lines = super().__str__().split("\n")
        shown = [f"  source    {self.source}", f"            {self.caret}"] if self.source else []
        return "\n".join([*lines[:2], *shown, *lines[2:]])


def _window(source: str, column: int) -> tuple[str, str]:
    """The part of a line around a column, and a caret below the column."""
    indent = len(source) - len(source.lstrip()) if column > len(source) - len(source.lstrip()) else 0
    start = max(indent, column - 1 - _WINDOW // 2) if len(source) - indent > _WINDOW else indent
    shown = shorten(source[start : start + _WINDOW])
    return shown.rstrip(), " " * min(max(column - 1 - start, 0), _WINDOW) + "^"


class Source:
    """A text with its syntax tree; `code` is the code of the errors it raises."""

    def __init__(self, text: str | bytes, code: str) -> None:
        self.code = code
        self.text = self._decoded(text)
        self.lines = self.text.split("\n")
        self.tree = self._parsed()

    def _decoded(self, text: object) -> str:
        if isinstance(text, bytes):
            try:
                text = text.decode("utf-8")
            except UnicodeDecodeError as error:
                line = text.count(b"\n", 0, error.start) + 1
                column = error.start - text.rfind(b"\n", 0, error.start)
                raise ParseError(
                    self.code, "the text is not UTF-8", line=line, column=column, fix="save it as UTF-8"
                ) from None
        if not isinstance(text, str):
            raise WorkbenchError(self.code, "a program's text is a str", found=type(text).__name__)
        text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        return textwrap.dedent(text) if text[:1] in " \t\n" else text

    def _parsed(self) -> ast.Module:
        for number, line in enumerate(self.lines, 1):
            for character, name in (("\0", "a NUL character"), ("\f", "a form feed")):
                if character in line:
                    raise self.at(number, line.index(character) + 1, f"the text holds {name}", "remove it")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(self.text)
        except PARSER_FAILURES as error:
            raise self._from_parser(error) from None
        if _ESCAPE.search(self.text):
            self._require_unicode(tree)
        return tree

    def _require_unicode(self, tree: ast.Module) -> None:
        """Refuse constants in which escapes make lone surrogates."""
        for piece in ast.walk(tree):
            if isinstance(piece, ast.Constant) and isinstance(piece.value, str) and not is_unicode(piece.value):
                raise self.error(piece, "the text holds a lone surrogate, which is no character", "leave it out")

    def _from_parser(self, error: BaseException) -> WorkbenchError:
        if isinstance(error, SyntaxError):
            message = str(error.msg).split("\n")[0]
            fix = "name the inner part on a line of its own" if "too many nested" in message else ""
            return self.at(error.lineno or 1, error.offset or 1, message, fix)
        if isinstance(error, UnicodeError):
            for number, line in enumerate(self.lines, 1):
                for column, character in enumerate(line, 1):
                    if 0xD800 <= ord(character) < 0xE000:
                        return self.at(number, column, "the text holds a lone surrogate", "save it as UTF-8")
        if isinstance(error, (RecursionError, MemoryError)):
            longest = max(range(len(self.lines)), key=lambda index: len(self.lines[index]))
            return self.at(
                longest + 1, 1, "the text is nested too deeply", "name the inner parts on lines of their own"
            )
        return self.at(1, 1, shorten(str(error)) or "the text cannot be read", "")

    def at(self, line: int, column: int, message: str, fix: str = "", found: str = "") -> ParseError:
        """The error at a place."""
        source = self.lines[line - 1] if 1 <= line <= len(self.lines) else ""
        return ParseError(self.code, message, line=line, column=max(column, 1), source=source, fix=fix, found=found)

    def error(self, tree: ast.AST, message: str, fix: str = "", found: str = "") -> ParseError:
        """The error at a piece of syntax."""
        line = getattr(tree, "lineno", 1)
        source = self.lines[line - 1] if 1 <= line <= len(self.lines) else ""
        column = (
            len(source.encode("utf-8", "surrogatepass")[: getattr(tree, "col_offset", 0)].decode("utf-8", "replace"))
            + 1
        )
        return self.at(line, column, message, fix, found)


def literal(given: str | ast.expr) -> Any:
    """The value of a literal, by its text or tree.  Raises `ValueError` for all that is none, however it is nested."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(given)
    except (*PARSER_FAILURES, TypeError) as error:
        raise ValueError(str(error) or "a text that is nested too deeply") from None


def dotted(tree: ast.AST) -> str:
    """``T.axis.remap`` as text; empty for anything else."""
    words: list[str] = []
    current: Any = tree
    while isinstance(current, ast.Attribute):
        words.append(current.attr)
        current = current.value
    return ".".join([current.id, *reversed(words)]) if isinstance(current, ast.Name) else ""
