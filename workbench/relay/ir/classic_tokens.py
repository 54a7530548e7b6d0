"""The tokens of relay's classic text, and a cursor over them whose refusals have a line and a column."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ...core.errors import WorkbenchError
from .script_read import Source

_TOKEN = re.compile(
    r"""(?P<space>\s+|/\*.*?\*/|//[^\n]*)
    |(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<number>-?(?:\d+\.\d*(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|\d+|inf|nan)(?:f64|f16|f|i64|u64)?(?![\w]))
    |(?P<local>%[A-Za-z0-9_]+)
    |(?P<global>@[A-Za-z0-9_]+)
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*\??)
    |(?P<sign>->|=>|[-+*/(){}\[\],:;=.?<>])""",
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    kind: str
    text: str
    offset: int


class Tokens:
    """The tokens of a text and the place reached in them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.source = Source(text)
        self.tokens = self._tokens(text)
        self.place: int = 0

    def _tokens(self, text: str) -> list[Token]:
        offset = 0
        header = re.match(r'\s*#\[version\s*=\s*"[^"]*"\]', text)
        if header:
            offset = header.end()
        found: list[Token] = []
        while offset < len(text):
            matched = _TOKEN.match(text, offset)
            if matched is None:
                raise self.error_at(offset, f"unexpected character {text[offset]!r}")
            kind = matched.lastgroup or ""
            if kind == "number" and matched.end() - offset > 400:
                raise self.error_at(offset, f"a number of {matched.end() - offset:,} characters")
            if kind != "space":
                found.append(Token(kind, matched.group(), offset))
            offset = matched.end()
        found.append(Token("end", "", len(text)))
        return found

    def error_at(self, offset: int, message: str, **fields: str) -> WorkbenchError:
        line = self.text.count("\n", 0, offset) + 1
        column = offset - (self.text.rfind("\n", 0, offset) + 1) + 1
        return self.source.error_at(line, column, message, **fields)

    def error(self, message: str, **fields: str) -> WorkbenchError:
        return self.error_at(self.tokens[self.place].offset, message, **fields)

    def peek(self, *texts: str) -> bool:
        token = self.tokens[self.place]
        return token.kind in ("sign", "word") and token.text in texts

    def kind(self) -> str:
        return self.tokens[self.place].kind

    def take(self) -> Token:
        token = self.tokens[self.place]
        self.place = min(self.place + 1, len(self.tokens) - 1)
        return token

    def accept(self, text: str) -> bool:
        if self.peek(text):
            self.place += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.error(f"{text!r} is expected here, not {self.tokens[self.place].text or 'the end'!r}")

    def word(self, kind: str, what: str) -> str:
        if self.kind() != kind:
            raise self.error(f"{what} is expected here, not {self.tokens[self.place].text or 'the end'!r}")
        return self.take().text

    def listed(self, end: str, item: Callable[[], Any]) -> list[Any]:
        """Items with commas between, up to `end`."""
        items: list[Any] = []
        while not self.accept(end):
            items.append(item())
            if not self.accept(","):
                self.expect(end)
                break
        return items
