"""Static HTML of program text: coloured, folding, without script or style sheet.

Everything is inline, because GitHub and nbviewer drop style sheets; all text is escaped.  Colours are readable on
light and dark grounds (Okabe and Ito's palette, darkened).

>>> highlight("x = 1")
'x = <span style="color:#b35900">1</span>'
"""

from __future__ import annotations

import html
import re
from typing import Final

from .diff import line_hunks

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
_FINGERPRINT: Final = re.compile(r'"([0-9a-f]{8})[0-9a-f]{56}"')
_PRE: Final = (
    "margin:0;padding:8px 10px;overflow:auto;line-height:1.45;font-size:12px;font-family:ui-monospace,monospace"
)
_CHANGED: Final = {"-": "background:rgba(213,94,0,0.16)", "+": "background:rgba(0,158,115,0.18)", " ": ""}
_LIMIT: Final = 90_000
"""Characters of HTML in one display; a snapshot in a notebook must stay small."""


def short_constants(text: str) -> str:
    """The fingerprints of constants cut to eight digits, for reading only: such a text cannot be parsed.

    >>> short_constants('R.constant("' + "0123456789abcdef" * 4 + '", (2,), "float32")')
    'R.constant("01234567…", (2,), "float32")'
    """
    return _FINGERPRINT.sub(r'"\1…"', text)


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


def text_html(text: str, title: str = "") -> str:
    """One text in a block; shortened when very long."""
    body = highlight(_shortened(text))
    heading = f'<div style="font:600 12px system-ui;padding:2px 10px">{html.escape(title)}</div>' if title else ""
    return f'{heading}<pre style="{_PRE}">{body}</pre>'


def _shortened(text: str) -> str:
    if len(text) <= _LIMIT // 3:
        return text
    cut = text.rfind("\n", 0, _LIMIT // 3)
    left = text.count("\n", cut)
    return f"{text[:cut]}\n# ... {left} more lines; str(program) gives all of them"


def program_html(texts: dict[str, str], opened: str | None = None) -> str:
    """The functions of a program, each in a fold; `opened` (default: the first) stands open."""
    first = opened if opened is not None else next(iter(texts), None)
    budget = _LIMIT
    parts: list[str] = []
    for name, text in texts.items():
        lines = text.count("\n") + 1
        body = text_html(text) if budget > 0 else text_html(f"# {lines} lines; look at program[{name!r}]")
        budget -= len(body)
        parts.append(
            f'<details{" open" if name == first else ""}><summary style="font:600 12px system-ui;cursor:pointer">'
            f'{html.escape(name)} <span style="opacity:.6;font-weight:400">{lines} lines</span></summary>'
            f"{body}</details>"
        )
    return "".join(parts)


def difference_html(before: str, after: str, title: str, context: int = 3) -> str:
    """Changed stretches of two texts, with signs as well as colours."""
    rows = difference_lines(before, after, context)
    if not rows:
        return f'<div style="font:12px system-ui;padding:2px 10px">{html.escape(title)}: nothing changed</div>'
    written = [
        f'<span style="{_CHANGED[sign]}">{sign} {highlight(line)}</span>'
        if sign != "@"
        else f'<span style="opacity:.5">{line}</span>'
        for sign, line in rows[:1500]
    ]
    heading = f'<div style="font:600 12px system-ui;padding:2px 10px">{html.escape(title)}</div>'
    return f'{heading}<pre style="{_PRE}">' + "\n".join(written) + "</pre>"


def difference_lines(before: str, after: str, context: int = 3) -> list[tuple[str, str]]:
    """(sign, line) of the changed stretches: "-", "+", " " around them, "@" where lines are left out."""
    old, new = before.split("\n"), after.split("\n")
    rows: list[tuple[str, str]] = []
    shown_to = 0
    for hunk in line_hunks(old, new):
        start = max(shown_to, hunk.before_start - context)
        if start > shown_to:
            rows.append(("@", f"... line {start + 1}"))
        rows += [(" ", line) for line in old[start : hunk.before_start]]
        rows += [("-", line) for line in old[hunk.before_start : hunk.before_start + hunk.before_count]]
        rows += [("+", line) for line in new[hunk.after_start : hunk.after_start + hunk.after_count]]
        after_hunk = hunk.before_start + hunk.before_count
        shown_to = min(len(old), after_hunk + context)
        rows += [(" ", line) for line in old[after_hunk:shown_to]]
    return rows
