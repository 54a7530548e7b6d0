"""A page of pictures of what benchmarks found: one file, nothing is fetched.

    python -m benchmarks.report results.json report.html
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from typing import Any

from .results import OURS, Row, load


def page(rows: list[Row], about: dict[str, Any]) -> str:
    """HTML: what was measured on what, and for each group a chart of ratios with the spread of their rounds."""
    import plotly.io

    rows_of_facts = (f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in _flat(about))
    facts = "".join(rows_of_facts)
    charts: list[str] = []
    for group in dict.fromkeys((row.group, row.threads) for row in rows):
        figure = _chart([row for row in rows if (row.group, row.threads) == group], *group)
        charts.append(plotly.io.to_html(figure, full_html=False, include_plotlyjs=not charts))
    style = "body{font-family:sans-serif;max-width:70em;margin:2em auto}th{text-align:left;padding-right:1em}"
    title = "Benchmarks: time over that of each peer"
    return (
        f"<!doctype html><meta charset='utf-8'><title>{title}</title><style>{style}</style>"
        f"<h1>{title}</h1><table>{facts}</table>{''.join(charts)}\n"
    )


def _chart(rows: list[Row], group: str, threads: int) -> Any:
    import plotly.graph_objects as go

    figure = go.Figure()
    for peer in rows[0].peers():
        ratios = [row.ratio(peer) for row in rows]
        spread = {
            "type": "data", "symmetric": False, "array": [high - middle for _, middle, high in ratios],
            "arrayminus": [middle - low for low, middle, _ in ratios],
        }  # fmt: skip
        names, middles = [row.subject for row in rows], [middle for _, middle, _ in ratios]
        told = [f"{row.best(OURS):.3f} ms, {peer} {row.best(peer):.3f} ms" for row in rows]
        figure.add_bar(y=names, x=middles, error_x=spread, orientation="h", name=f"over {peer}", hovertext=told)
    figure.add_vline(x=1, line_dash="dot")
    figure.update_layout(
        title=f"{group}, {threads} thread{'s' * (threads > 1)}", height=180 + 34 * len(rows),
        xaxis_title="ratio (less is better)", yaxis={"autorange": "reversed"}, margin={"l": 280}, barmode="group",
    )  # fmt: skip
    return figure


def _flat(about: dict[str, Any], before: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in about.items():
        found += _flat(value, f"{before}{name} ") if isinstance(value, dict) else [(before + name, value)]
    return found


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(page(*load(Path(sys.argv[1]))), encoding="utf-8")
