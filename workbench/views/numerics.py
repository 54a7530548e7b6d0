"""A numerics report as a table: a line a step, its verdict in words and colour, and the first wrong tensor below.

Pure: takes anything with the fields of `driver.numerics.NumericsReport`, runs nothing.  All text is escaped.
"""

from __future__ import annotations

from html import escape
from typing import Any, Final

from .html import plain, visible
from .strings.tables import say

_COLOURS: Final = {
    "right": "#00794f", "wrong": "#c0392b", "failed": "#c0392b", "crashed": "#c0392b", "hangs": "#c0392b",
}  # fmt: skip
_QUIET: Final = "#6a737d"
_LEFT: Final = "text-align:left"


def numerics_bundle(report: Any) -> dict[str, str]:
    """The report as plain text and as HTML."""
    told = say.checks
    heads = (
        told.step, told.verdict, told.kernels, told.greatest_absolute, told.greatest_relative, told.of_tolerance, "",
    )  # fmt: skip
    head = "".join(f'<th style="{_LEFT}">{name}</th>' for name in heads)
    rows = "".join(_row(check) for check in report.checks)
    return {
        "text/plain": plain(str(report)),
        "text/html": f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{_below(report)}",
    }


def _row(check: Any) -> str:
    colour = _COLOURS.get(check.verdict, _QUIET)
    verdict = say.checks.verdicts.get(check.verdict, str(check.verdict))
    ran = sum(kernel.verdict not in ("same", "not run") for kernel in check.kernels)
    known = check.verdict in ("right", "wrong")
    numbers = (f"{check.absolute:.2e}", f"{check.relative:.2e}", f"{100 * check.part:.1f} %") if known else ("", "", "")
    cells = "".join(f"<td>{number}</td>" for number in (str(ran) if check.kernels else "", *numbers))
    return (
        f'<tr><td style="{_LEFT}">{escape(visible(check.step))}</td>'
        f'<td style="{_LEFT};color:{colour}">{escape(verdict)}</td>{cells}'
        f'<td style="{_LEFT}">{escape(visible(check.note[:300]))}</td></tr>'
    )


def _below(report: Any) -> str:
    if report.first_wrong is None:
        left = any(check.verdict == "not run" for check in report.checks)
        said = [say.checks.right_so_far if left else say.checks.all_the_same]
    else:
        said = [say.checks.first_wrong_step(report.first_wrong)]
        if report.tensor is not None:
            said.append(say.checks.first_wrong_tensor(report.tensor))
        if report.writer is not None:
            said.append(say.checks.test_writer)
        if report.no_test:
            said.append(say.checks.no_test(report.no_test))
    said += [say.checks.note(note) for note in report.notes]
    return "".join(f'<div style="font:12px system-ui;padding:2px 10px">{escape(visible(line))}</div>' for line in said)
