"""One run, call by call, as text and as a table: kernels, that which takes most first, the totals below.

Pure: takes anything with the fields of `driver.run_profile.RunProfile`, runs nothing.  All text is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, Final

from ..analysis.fact import table
from ..core.errors import shorten
from .html import plain, visible
from .strings.tables import say

_SHOWN: Final = 20
"""Kernels; the others are summed in one row."""


def profile_bundle(found: Any) -> dict[str, str]:
    """The profile as plain text and as HTML."""
    heads, *rows = _rows(found)
    padded = [list(row) for row in (heads, *rows)]
    for place in range(1, len(heads)):
        width = max(len(row[place]) for row in padded)
        for row in padded:
            row[place] = row[place].rjust(width)
    text = "\n".join([table(padded[0], padded[1:]), *_notes(found)])
    return {"text/plain": plain(text), "text/html": _html(heads, rows, _notes(found))}


def _html(heads: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    head = "".join(f'<th style="text-align:left">{_text(name)}</th>' for name in heads)
    body = "".join(f"<tr>{''.join(_cell(text, place > 0) for place, text in enumerate(row))}</tr>" for row in rows)
    below = "".join(f'<div style="font:12px system-ui;padding:2px 10px">{_text(note)}</div>' for note in notes)
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</div>"


def _cell(text: str, number: bool) -> str:
    return f'<td style="text-align:{"right" if number else "left"}">{_text(text)}</td>'


def _text(text: str) -> str:
    return escape(visible(text))


def _rows(found: Any) -> list[tuple[str, ...]]:
    told = say.runs
    kernels: dict[str, list[Any]] = {}
    for call in found.calls:
        kernels.setdefault(call.kernel, []).append(call)
    order = sorted(kernels.items(), key=lambda item: -_seconds(item[1]))
    rows = [_row(shorten(name, 60), calls, found.seconds) for name, calls in order[:_SHOWN]]
    if more := order[_SHOWN:]:
        rows.append(_row(told.more_kernels(len(more)), [call for _, calls in more for call in calls], found.seconds))
    return [(told.kernel, told.calls, told.time, told.share, told.operations, told.moved), *rows]


def _row(name: str, calls: Sequence[Any], total: float) -> tuple[str, ...]:
    spent = _seconds(calls)
    known = all(call.operations for call in calls)
    return (
        name, f"{len(calls):,}", say.runs.spent(spent), f"{100 * spent / (total or 1.0):.1f} %",
        _rate(sum(call.operations for call in calls) if known else 0, spent),
        _rate(sum(call.moved for call in calls), spent),
    )  # fmt: skip


def _seconds(calls: Sequence[Any]) -> float:
    return sum(call.seconds for call in calls)


def _rate(amount: float, seconds: float) -> str:
    """Billions a second, where both are known."""
    return say.runs.rate(amount / seconds / 1e9) if amount and seconds else say.runs.none


def _notes(found: Any) -> list[str]:
    told = say.runs
    notes = [told.together(len(found.calls), found.seconds, found.runs, found.empty)]
    if found.whole:
        notes.append(told.whole_run(found.whole))
    return [*notes, told.rates]
