"""Displays of what questions are answered with: errors, traces, breakpoints, trails, comparisons.

Each is a mime bundle of plain text and static HTML; every name is escaped, and what is long is cut and says so.

>>> problem_bundle(WorkbenchError("E-X", "no such <step>", fix="s.labels"))["text/plain"].split("\\n")[0]
'E-X  no such <step>'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from ..core.errors import WorkbenchError, shorten
from .html import changes_html, plain, text_html, visible
from .provenance import TrailView, steps_shown, trail_view
from .strings.tables import say

if TYPE_CHECKING:
    from ..driver.compare import Comparison
    from ..driver.debugging import Stops, StopView, WrongRewrite
    from ..driver.trails import Trail
    from ..schedule.trace import Trace

Bundle = dict[str, str]
_FONT: Final = "font:13px/1.5 system-ui,sans-serif"
_BOX: Final = f"{_FONT};border-left:4px solid #b3400f;padding:4px 12px;margin:4px 0;max-width:72em"
_CELL: Final = "text-align:left;vertical-align:top;padding:1px 12px 1px 0"
_ROWS: Final = 60
_STOPS: Final = 20
_TEXT: Final = 240
"""Characters of one cell."""


def _text(value: Any, limit: int = _TEXT) -> str:
    return escape(shorten(visible(str(value)), limit))


def table_html(rows: Iterable[Sequence[Any]], heads: Sequence[str] = ()) -> str:
    """A table of texts, the first column set apart; cut after some rows."""
    listed = list(islice(rows, _ROWS + 1))
    head = "".join(f'<th scope="col" style="{_CELL}">{_text(name)}</th>' for name in heads)
    body = "".join(
        f'<tr><th scope="row" style="{_CELL};font-weight:400;opacity:.75">{_text(row[0])}</th>'
        + "".join(f'<td style="{_CELL}">{_text(cell)}</td>' for cell in row[1:])
        + "</tr>"
        for row in listed[:_ROWS]
    )
    further = escape(say.session.further_rows)
    more = f'<div style="{_FONT};opacity:.7">{further}</div>' if len(listed) > _ROWS else ""
    top = f"<thead><tr>{head}</tr></thead>" if heads else ""
    return f'<table style="{_FONT};border-collapse:collapse">{top}<tbody>{body}</tbody></table>{more}'


def problem_html(error: WorkbenchError) -> str:
    """An error as a card: its code and message, then each field that it has."""
    fields = [(told, getattr(error, name)) for name, told in say.session.error_fields.items() if getattr(error, name)]
    head = f"<b>{_text(error.message, 400)}</b> <code>{_text(error.code)}</code>"
    return f'<div style="{_BOX}">{head}{table_html(fields)}</div>'


def problem_bundle(error: WorkbenchError) -> Bundle:
    return {"text/plain": plain(str(error)), "text/html": problem_html(error)}


def trace_bundle(trace: Trace) -> Bundle:
    """The steps of a schedule as the Python that repeats them."""
    code = trace.as_python() or say.snapshot.nothing_done
    return {"text/plain": plain(code), "text/html": text_html(code)}


def _stop_rows(stop: StopView) -> tuple[str, list[tuple[str, str]]]:
    """A stop as a heading and lines with signs: what the pattern met, before, after."""
    head, *lines = str(stop).split("\n")
    signs = {"before": "-", "after": "+"}
    return head, [(signs.get(line.split(maxsplit=1)[0], " ") if line.strip() else " ", line.strip()) for line in lines]


def stops_bundle(stops: Stops | Sequence[StopView], title: str = "") -> Bundle:
    """Rewrites at which a breakpoint stopped: what each pattern met, and what it made of it."""
    kinds = [_stop_rows(stop) for stop in islice(stops, _STOPS)]
    if len(stops) > _STOPS:
        kinds.append((say.session.more_stops(len(stops) - _STOPS), []))
    text = "\n".join(str(stop) for stop in stops) if stops else str(stops)
    return {"text/plain": plain(text), "text/html": changes_html(title, kinds) if kinds else text_html(text)}


def wrong_rewrite_bundle(found: WrongRewrite) -> Bundle:
    """The first wrong rewrite: how wrong, and the rewrite itself."""
    text = str(found)
    if found.stop is None:
        return {"text/plain": plain(text), "text/html": text_html(text)}
    head = text.removesuffix(str(found.stop)).strip()
    return {"text/plain": plain(text), "text/html": changes_html(shorten(head), [_stop_rows(found.stop)])}


def times_of(found: Comparison) -> tuple[str, str]:
    """The least time of either side, and how much longer its slowest run took."""
    one, other = (f"{found.milliseconds[place]:.3f} ({found.spread(place)})" for place in (0, 1))
    return one, other


def comparison_bundle(found: Comparison) -> Bundle:
    """Two sessions side by side as a table, and where they part."""
    one, other = found.names
    figures = (
        (say.session.kernels, *(f"{count}" for count in found.kernels)),
        (say.session.time_of(found.runs), *times_of(found)),
    )
    told = str(found).split("\n")[4:-1]
    rows = [tuple(part.strip() for part in line.split(": ", 1)) for line in told]
    return {
        "text/plain": plain(str(found)),
        "text/html": table_html(figures, ("", one, other)) + table_html(rows),
    }


def trail_bundle(trail: Trail) -> Bundle:
    """What a thing became: its expressions and statements step by step, and its lines in each kernel's texts."""
    view = trail_view(trail)
    rows = _trail_rows(view)
    text = "\n".join(f"{name:<26}{what}" for name, what in rows)
    return {"text/plain": plain(text), "text/html": table_html(rows)}


def _trail_rows(view: TrailView) -> list[tuple[str, str]]:
    rows = [(say.session.file, ", ".join(view.onnx) or say.session.nothing_of_file)]
    rows += [(label, ", ".join(things) or say.session.nothing) for label, things in view.steps]
    for kernel in view.kernels:
        rows += [(f"{kernel.kernel}, {form}", _lines(lines)) for form, lines in kernel.lines.items()]
    return rows


def _lines(lines: Sequence[int]) -> str:
    """Numbers of lines, those in a row as a range: 3-5, 9."""
    runs: list[list[int]] = []
    for line in sorted(lines):
        if runs and line == runs[-1][1] + 1:
            runs[-1][1] = line
        else:
            runs.append([line, line])
    shown = [f"{first}-{last}" if last > first else f"{first}" for first, last in runs[:_ROWS]]
    return say.session.lines(", ".join(shown), len(lines)) if shown else say.session.no_line


def became_bundle(steps: Mapping[str, tuple[Any, ...]]) -> Bundle:
    """What a thing became by step, its nodes as brief texts."""
    rows = [(label, ", ".join(things) or say.session.nothing) for label, things in steps_shown(steps)]
    text = "\n".join(f"{label:<26}{what}" for label, what in rows)
    return {"text/plain": plain(text), "text/html": table_html(rows, (say.session.step, say.session.what_it_is))}
