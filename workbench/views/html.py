"""Static HTML of program text: coloured, folding, without script or style sheet.

Everything is inline, because GitHub and nbviewer drop style sheets; all text is escaped.  Colours are readable on
light and dark grounds (Okabe and Ito's palette, darkened).

>>> highlight("x = 1")
'x = <span style="color:#b35900">1</span>'
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ..core.errors import PICTURES
from ..driver.text import short_constants
from .strings.tables import say

_COLOURS: Final = {
    "comment": "#6a737d",
    "string": "#00794f",
    "number": "#b35900",
    "keyword": "#8a3fa8",
    "decorator": "#8a3fa8",
    "name": "#0067b1",
}
_TOKEN: Final = re.compile(
    r"(?P<comment>\#.*)"
    r"|(?P<string>\"[^\"\n]*\"|'[^'\n]*')"
    r"|(?P<decorator>@[\w.]+)"
    r"|(?P<keyword>\b(?:def|class|for|in|with|if|else|elif|while|return|pass|as|and|or|not|assert|lambda|True|False|None)\b)"
    r"|(?P<name>\b[TRI]\.[\w.]+)"
    r"|(?P<number>(?<![\w.])-?\d+(?:\.\d*)?(?:e[-+]?\d+)?)"
)
_PRE: Final = (
    "margin:0;padding:8px 10px;overflow:auto;line-height:1.45;font-size:12px;font-family:ui-monospace,monospace"
)
_CHANGED: Final = {"-": "background:rgba(213,94,0,0.16)", "+": "background:rgba(0,158,115,0.18)", " ": ""}
_LEFT_OUT: Final = "opacity:.5"
_TITLE: Final = "font:600 12px system-ui;"
_LIMIT: Final = 76_000
"""Bytes of HTML in one display; a snapshot in a notebook must stay small."""
_FUNCTION: Final = 24_000
"""Bytes of HTML for one function among others."""
_PLAIN_LIMIT: Final = 24_000
_LINE: Final = 1_000
"""Characters of a line that are shown."""


def highlight(text: str) -> str:
    """Program text as HTML with coloured tokens."""
    written: list[str] = []
    position = 0
    for found in _TOKEN.finditer(text):
        written.append(html.escape(text[position : found.start()], quote=False))
        colour = _COLOURS[str(found.lastgroup)]
        written.append(f'<span style="color:{colour}">{html.escape(found.group(), quote=False)}</span>')
        position = found.end()
    written.append(html.escape(text[position:], quote=False))
    return "".join(written)


def visible(text: str) -> str:
    """`text` for a display: constants short, control characters (escape sequences of terminals) made visible.

    >>> visible("a\\x1b[31m")
    'a␛[31m'
    """
    return short_constants(text).translate(PICTURES)


def plain(text: str) -> str:
    """`text` for a display without HTML; cut when very long."""
    shown = visible(text)
    if len(shown) <= _PLAIN_LIMIT:
        return shown
    cut = max(shown.rfind("\n", 0, _PLAIN_LIMIT), 0) or _PLAIN_LIMIT
    return f"{shown[:cut]}\n{say.snapshot.more_lines_in_script(shown.count(chr(10), cut))}"


def text_html(text: str, title: str = "", budget: int = 0) -> str:
    """One text in a block; cut when very long."""
    lines = (highlight(line) for line in _cut_lines(text))
    return f"{_heading(title)}{_block(lines, text.count(chr(10)) + 1, budget or _LIMIT)}"


def _heading(title: str) -> str:
    return f'<div style="{_TITLE}padding:2px 10px">{html.escape(visible(title))}</div>' if title else ""


def _cut_lines(text: str) -> list[str]:
    return [line if len(line) <= _LINE else line[: _LINE - 1] + "…" for line in visible(text).split("\n")]


def _block(lines: Iterable[str], total: int, budget: int) -> str:
    """Lines of HTML in a block, as many as the budget (in bytes) has room for."""
    written: list[str] = []
    for line in lines:
        budget -= len(line.encode()) + 1
        if budget < 0:
            more = html.escape(say.snapshot.more_lines_in_part(total - len(written)))
            written.append(f'<span style="opacity:.6">{more}</span>')
            break
        written.append(line)
    return f'<pre style="{_PRE}">' + "\n".join(written) + "</pre>"


def program_html(texts: Mapping[str, str], opened: str | None = None) -> str:
    """The functions of a program, each in a fold; `opened` (default: the first) stands open."""
    first = opened if opened is not None else next(iter(texts), None)
    budget = _LIMIT
    parts: list[str] = []
    for name, text in texts.items():
        lines = html.escape(say.snapshot.lines(text.count("\n") + 1))
        part = (
            f'<details{" open" if name == first else ""}><summary style="{_TITLE}cursor:pointer">'
            f'{html.escape(visible(name))} <span style="opacity:.6;font-weight:400">{lines}</span></summary>'
        )
        if budget < len(part) + 1_000:
            more = html.escape(say.snapshot.more_functions(len(texts) - len(parts)))
            parts.append(f'<div style="{_TITLE}opacity:.6">{more}</div>')
            break
        part += text_html(text, budget=min(budget, _FUNCTION) if len(texts) > 2 else budget) + "</details>"
        budget -= len(part.encode())
        parts.append(part)
    return "".join(parts)


def changes_html(title: str, kinds: Iterable[tuple[str, Sequence[tuple[str, str]]]], budget: int = _LIMIT) -> str:
    """Changes by kind: a heading each, and lines with signs as well as colours; those without lines only named."""
    parts = [_heading(title)]
    for heading, rows in kinds:
        lines = [f'<span style="{_CHANGED.get(sign, _LEFT_OUT)}">{sign} {highlight(visible(line)[:_LINE])}</span>'
                 for sign, line in rows]  # fmt: skip
        part = f'<div style="{_TITLE}padding:4px 10px 0;font-weight:400">{html.escape(visible(heading))}</div>'
        part += _block(lines, len(lines), min(budget, _FUNCTION)) if lines else ""
        budget -= len(part.encode())
        if budget < 0:
            more = html.escape(say.snapshot.further_kinds)
            parts.append(f'<div style="{_TITLE}opacity:.6;padding:2px 10px">{more}</div>')
            break
        parts.append(part)
    return "".join(parts)
