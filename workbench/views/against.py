"""Where the time went against a peer, as text and as a table: what loses most first, the totals below.

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

_SHOWN: Final = 40
"""Rows."""
_BUSY: Final = 1.25
_LOSS: Final = "213,94,0"
_GAIN: Final = "0,158,115"


def against_bundle(found: Any) -> dict[str, str]:
    """The comparison as plain text and as HTML."""
    rows = [_cells(found, row) for row in found.rows[:_SHOWN]]
    text = "\n".join([table(_heads(found), rows), *_notes(found)])
    return {"text/plain": plain(text), "text/html": against_html(found)}


def against_html(found: Any) -> str:
    """One element; the colour behind a difference says how large it is."""
    head = "".join(f'<th style="text-align:left">{_text(name)}</th>' for name in _heads(found))
    most = max((abs(row.difference) for row in found.rows), default=0.0) or 1.0
    rows = "".join(_row(found, row, abs(row.difference) / most) for row in found.rows[:_SHOWN])
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


def _heads(found: Any) -> tuple[str, ...]:
    told = say.peers
    return told.nodes, told.kernels, told.ours, told.theirs(found.peer.split()[0]), told.ratio, told.share


def _cells(found: Any, row: Any) -> tuple[str, ...]:
    return (
        _several([shorten(node, 32) for node in row.nodes], 3),
        _several([shorten(kernel, 44) for kernel in row.kernels], 1),
        _ms(row.ours),
        _ms(row.theirs),
        say.peers.none if row.ratio is None else f"{row.ratio:.2f}",
        f"{100 * found.share(row):+.0f} %",
    )


def _several(names: list[str], most: int) -> str:
    shown = ", ".join(names[:most]) or say.peers.none
    return f"{shown} {say.peers.and_more(len(names) - most)}" if len(names) > most else shown


def _notes(found: Any) -> list[str]:
    told = say.peers
    notes = [
        told.whole_run(
            _ms(found.ours), found.peer, _ms(found.theirs), found.ours / found.theirs, found.threads, found.rounds
        ),
        told.call_by_call(
            _ms(found.kernels), found.cost, found.peer, _ms(found.peer_kernels), found.peer_cost
        ),
    ]
    if found.ours > _BUSY * found.kernels and found.theirs > _BUSY * found.peer_kernels:
        notes.append(told.busy)
    if len(found.rows) > _SHOWN:
        notes.append(told.more_groups(len(found.rows) - _SHOWN))
    if found.own_alone:
        notes.append(told.own_alone(*_alone(found.own_alone, "kernel")))
    if found.peer_alone:
        notes.append(told.peer_alone(*_alone(found.peer_alone, "name"), found.peer))
    return notes


def _alone(calls: Any, name: str) -> tuple[int, str, str]:
    names = _several([shorten(getattr(call, name), 40) for call in calls], 5)
    return len(calls), _ms(sum(call.seconds for call in calls)), names


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3f}"
