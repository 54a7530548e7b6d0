"""Where the time went against a peer, as text and as a table: the largest difference first, the totals below.

Pure: takes anything with the fields of `driver.against.Against`, runs nothing.  All text is escaped; the HTML is
well-formed, so that the screen can draw it too.
"""

from __future__ import annotations

from html import escape
from typing import Any, Final

from ..analysis.fact import table
from ..core.errors import shorten
from .html import plain, visible
from .strings.tables import say

_SHOWN: Final = 30
"""Rows; the others are summed in one."""
_LOSS: Final = "213,94,0"
_GAIN: Final = "0,158,115"


def against_bundle(found: Any) -> dict[str, str]:
    """The comparison as plain text and as HTML."""
    rows = [*map(list, (_heads(found), *(_cells(found, row) for row in _told(found)), *_sums(found)))]
    for place in range(2, len(rows[0])):
        width = max(len(row[place]) for row in rows)
        for row in rows:
            row[place] = row[place].rjust(width)
    text = "\n".join([table(rows[0], rows[1:]), *_notes(found)])
    return {"text/plain": plain(text), "text/html": against_html(found)}


def against_html(found: Any) -> str:
    """One element; the colour behind a difference says how large it is."""
    head = "".join(f'<th style="text-align:left">{_text(name)}</th>' for name in _heads(found))
    most = max((abs(row.difference) for row in _told(found)), default=0.0) or 1.0
    rows = "".join(_row(found, row, abs(row.difference) / most) for row in _told(found))
    for sums in _sums(found):
        rows += f"<tr>{''.join(_cell(text, place > 1) for place, text in enumerate(sums))}</tr>"
    notes = "".join(f'<div style="font:12px system-ui;padding:2px 10px">{_text(note)}</div>' for note in _notes(found))
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{notes}</div>"


def _text(text: str) -> str:
    return escape(visible(text))


def _row(found: Any, row: Any, part: float) -> str:
    nodes, kernels, *numbers = _cells(found, row)
    colour = f"rgba({_LOSS if row.difference > 0 else _GAIN},{0.05 + 0.4 * part:.2f})"
    cells = "".join(f'<td style="text-align:right">{number}</td>' for number in numbers[:-1])
    return (
        f'<tr><td style="text-align:left" title="{_text("; ".join(row.nodes)[:600])}">{_text(nodes)}</td>'
        f'<td style="text-align:left" title="{_text("; ".join(row.kernels)[:600])}">{_text(kernels)}</td>{cells}'
        f'<td style="text-align:right;background:{colour}">{numbers[-1]}</td></tr>'
    )


def _cell(text: str, number: bool) -> str:
    return f'<td style="text-align:{"right" if number else "left"}">{_text(text)}</td>'


def _told(found: Any) -> list[Any]:
    """The groups that have a row: the largest differences of either sign."""
    return [row for row in found.rows if not row.short][:_SHOWN]


def _sums(found: Any) -> list[tuple[str, ...]]:
    """One row for the further groups, and one for those that are too short to tell."""
    told = say.peers
    more, short = [row for row in found.rows if not row.short][_SHOWN:], [row for row in found.rows if row.short]
    sums: list[tuple[str, ...]] = []
    for name, rows in ((told.more_groups, more), (told.too_short, short)):
        if rows:
            ours, theirs = sum(row.ours for row in rows), sum(row.theirs for row in rows)
            ratio = _ratio(ours / theirs if theirs and rows is more else None)
            share = _part(sum(map(found.share, rows))) if rows is more else told.none
            sums.append((name(len(rows)), "", _time(ours), _time(theirs), ratio, share))
    return sums


def _heads(found: Any) -> tuple[str, ...]:
    told = say.peers
    return told.nodes, told.kernels, told.ours, told.theirs(found.peer.split()[0]), told.ratio, told.share


def _cells(found: Any, row: Any) -> tuple[str, ...]:
    return (
        _several([shorten(node, 32) for node in row.nodes], 3),
        _several([shorten(kernel, 44) for kernel in row.kernels], 1),
        _time(row.ours) if row.kernels else say.peers.none,
        _time(row.theirs) if row.peers else say.peers.none,
        _ratio(row.ratio),
        _part(found.share(row)),
    )


def _ratio(ratio: float | None) -> str:
    return say.peers.none if ratio is None else f"{ratio:.2f}"


def _part(share: float) -> str:
    return f"{100 * share:+.0f} %"


def _several(names: list[str], most: int) -> str:
    shown = ", ".join(names[:most]) or say.peers.none
    return f"{shown} {say.peers.and_more(len(names) - most)}" if len(names) > most else shown


def _notes(found: Any) -> list[str]:
    told = say.peers
    notes = [
        told.whole_run(
            _time(found.ours), found.peer, _time(found.theirs), found.ours / found.theirs, found.threads, found.rounds
        ),
        told.call_by_call(
            _time(found.kernels), found.cost, found.peer, _time(found.peer_kernels), found.peer_cost
        ),
    ]
    if found.apart:
        ours, theirs = found.parts
        notes.append(told.apart(ours, found.peer, theirs, found.threads))
    if _told(found):
        notes.append(told.share_help)
    if any(row.short for row in found.rows):
        notes.append(told.too_short_help(*found.floors))
    if found.own_alone:
        notes.append(told.own_alone(*_alone(found.own_alone, "kernel")))
    if found.peer_alone:
        notes.append(told.peer_alone(*_alone(found.peer_alone, "name"), found.peer))
    return notes


def _alone(calls: Any, name: str) -> tuple[int, str, str]:
    names = _several([shorten(getattr(call, name), 40) for call in calls], 5)
    return len(calls), _time(sum(call.seconds for call in calls)), names


def _time(seconds: float) -> str:
    return say.peers.time(seconds)
