"""What can compute a kernel, as plain data and as a table without a kernel: the cheapest first, then what does not fit.

    view = candidates_view(session, "fused_nn_conv2d")
    candidates_html(view)          # the same as static HTML
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final, Literal

from ..core.errors import WorkbenchError
from ..driver.choices import Candidates, candidates_of
from .html import visible
from .schema import SCHEMA_VERSION, View
from .strings.tables import say

if TYPE_CHECKING:
    from ..driver.session import Session
    from ..lower.choosing import Candidate

CONFIGS: Final = 40
"""Configs of one implementation that are listed: the cheapest."""
_LONG: Final = 400

Numbers = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class CandidateView(View):
    """One implementation.  Where it cannot compute the kernel, `refusal` says why, and there are no figures."""

    name: str
    about: str
    taken: Literal["", "cost", "hand", "schedule"] = ""
    """Whether it computes the kernel now, and by what; "schedule": its loops are scheduled by hand."""
    cycles: float = 0.0
    """On one core by the cost model, with `config`."""
    times: float = 0.0
    """How many times the cycles of the cheapest."""
    config: Numbers = ()
    """The one in use; of others the cheapest."""
    count: int = 0
    """How many configs there are."""
    configs: tuple[tuple[float, Numbers], ...] = ()
    """The cheapest of them, each with its cycles; none where there is one."""
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class CandidatesView(View):
    """The candidates of a kernel; `note` says why there are none."""

    kernel: str
    workload: str = ""
    rows: tuple[CandidateView, ...] = ()
    note: str = ""
    version: int = SCHEMA_VERSION


def candidates_view(session: Session, kernel: str) -> CandidatesView:
    """What can compute a kernel.  Raises `WorkbenchError` for one that is not there, and what stopped Lower."""
    try:
        return view_of(candidates_of(session, kernel))
    except WorkbenchError as error:
        notes = {"E-CHOICE-UNKNOWN": say.candidates.none, "E-STEP-UNKNOWN": say.candidates.of_loops}
        if error.code not in notes:
            raise
        return CandidatesView(kernel, note=notes[error.code])


def view_of(found: Candidates) -> CandidatesView:
    """The rows of candidates."""
    least = min((one.cycles for one in found if one.refusal is None), default=1.0)
    rows = tuple(_row(found, one, least) for one in found)
    return CandidatesView(found.kernel, str(found.workload)[:_LONG], rows)


def _row(found: Candidates, one: Candidate, least: float) -> CandidateView:
    name, about = one.implementation.name, one.implementation.about
    if one.refusal is not None:
        refusal = say.candidates.refusal(one.refusal.clause, one.refusal.found)
        return CandidateView(name, about, refusal=refusal[:_LONG])
    every = one.implementation.priced(found.workload)
    config = found.config(one)
    cycles = next(cycles for numbers, cycles in every if dict(numbers) == dict(config))
    listed = tuple((cycles, _numbers(numbers)) for numbers, cycles in every[:CONFIGS]) if len(every) > 1 else ()
    taken: Literal["", "cost", "hand", "schedule"] = ""
    if found.taken is not None and found.is_taken(one):
        taken = "schedule" if found.scheduled_by_hand else "hand" if found.taken.by_hand else "cost"
    return CandidateView(
        name, about, taken, cycles, cycles / least if least else 1.0, _numbers(config), len(every), listed
    )


def _numbers(config: Mapping[str, int]) -> Numbers:
    return tuple(config.items())


# --- without a kernel ---------------------------------------------------------------------------------------------


def candidates_text(view: CandidatesView) -> str:
    """A line each, what computes the kernel marked; of a kernel without candidates the reason."""
    if view.note:
        return f"{say.candidates.heading(view.kernel)}\n  {view.note}"
    told, width = say.candidates, max(len(row.name) for row in view.rows)
    figures = {row.name: _figures(row) for row in view.rows if not row.refusal}
    widest = [max(map(len, column)) for column in zip(*figures.values(), strict=True)]
    lines = [f"{told.heading(view.kernel)}: {view.workload}"]
    for row in view.rows:
        if row.refusal:
            lines.append(f"  {row.name:<{width}}  {told.not_fitting(row.refusal)}")
            continue
        cycles, times, config = figures[row.name]
        told_cycles = told.in_cycles(cycles.rjust(widest[0]))
        lines.append(f"{'*' if row.taken else ' '} {row.name:<{width}}  {told_cycles}  {times:>{widest[1]}}  {config}")
    return "\n".join(line.rstrip() for line in lines)


def candidates_html(view: CandidatesView) -> str:
    """A heading and a table that need no style."""
    told = say.candidates
    heading = f"<h4>{escape(visible(told.heading(view.kernel)))}</h4>"
    if view.note:
        return f"{heading}<p>{escape(view.note)}</p>"
    heading += f"<p>{escape(visible(view.workload), quote=False)}</p>"
    titles = (told.implementation, told.state, told.cycles, told.times, told.config)
    head = "".join(f'<th scope="col">{escape(title)}</th>' for title in titles)
    rows = [
        f"<tr>{_first(row.name)}{''.join(map(_cell, (told.taken[row.taken], *_figures(row))))}</tr>"
        for row in view.rows
        if not row.refusal
    ]
    refused = [row for row in view.rows if row.refusal]
    if refused:
        rows.append(f'<tr><th></th><th scope="col" colspan="{len(titles) - 1}">{escape(told.refused)}</th></tr>')
    rows += [
        f'<tr>{_first(row.name)}<td colspan="{len(titles) - 1}">{escape(visible(row.refusal))}</td></tr>'
        for row in refused
    ]
    return f"{heading}<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _figures(row: CandidateView) -> tuple[str, str, str]:
    """What is told of one that fits: its cycles, how many times the least they are, its configuration of how many."""
    told, config = say.candidates, " ".join(f"{name}={value}" for name, value in row.config)
    return told.figure(row.cycles), told.times_the_cheapest(row.times), told.one_of(config, row.count)


def _first(name: str) -> str:
    return f'<th scope="row">{escape(visible(name))}</th>'


def _cell(text: str) -> str:
    return f"<td>{escape(visible(text))}</td>"
