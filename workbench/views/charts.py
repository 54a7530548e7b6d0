"""Charts of facts: heat maps, footprints against caches, misses, reuse.

heat_map(["8", "16"], ["4", "8"], [[1.0, 2.0], [3.0, None]], "cycles")
footprint_svg(footprints(sch)); cache_svg(simulate_cache(sch)); reuse_svg(reuse)
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from math import log2
from typing import Final

from ..analysis.cache import CacheReport
from ..analysis.fact import bytes_text
from ..analysis.footprint import Footprints
from ..analysis.reuse import Reuse
from ..core.errors import WorkbenchError
from ..driver.sweep import Sweep
from .strings.tables import say
from .svg import BLUE, GREEN, GREY, ORANGE, RED, SKY, box, label, line, picture, text_width

_SERVED: Final = (SKY, BLUE, ORANGE, RED)
"""Colours of what serves an access: the first cache, the next ones, memory."""


def short(value: float) -> str:
    """A number in a cell.

    >>> short(1234567), short(12.34), short(999)
    ('1.23M', '12.3', '999')
    """
    for limit, scale, unit in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if abs(value) >= limit:
            return f"{value / scale:.3g}{unit}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def heat_map(
    rows: Sequence[object],
    columns: Sequence[object],
    values: Sequence[Sequence[float | None]],
    title: str = "",
    *,
    row_name: str = "",
    column_name: str = "",
    reasons: Mapping[tuple[int, int], str] | None = None,
    lower_is_better: bool = True,
) -> str:
    """A table of numbers as coloured cells, the best framed; None is a refused cell, crossed, with its reason.

    `reasons` are texts by (row, column).  Raises `WorkbenchError` E-VIEW-HEAT if the sizes do not fit.
    """
    if len(values) != len(rows) or any(len(row) != len(columns) for row in values) or not rows or not columns:
        raise WorkbenchError(
            "E-VIEW-HEAT", "the values do not fit the rows and columns",
            found=f"{len(values)} rows of {sorted({len(row) for row in values})} values",
            expected=f"{len(rows)} rows of {len(columns)} values, at least one",
        )  # fmt: skip
    known = [value for row in values for value in row if value is not None]
    best = (min(known) if lower_is_better else max(known)) if known else None
    left = max(text_width(row_name), *(text_width(row) for row in rows)) + 18
    wide = max(62.0, *(text_width(column) + 14 for column in columns))
    top = 52
    parts = [label(8, 14, title, bold=True, size=12)]
    parts.append(label(left, 30, f"{column_name} \u2192" if column_name else "", faint=True))
    parts.append(label(8, top - 6, f"{row_name} \u2193" if row_name else "", faint=True))
    for number, column in enumerate(columns):
        parts.append(label(left + (number + 0.5) * wide, top - 6, column, anchor="middle"))
    for i, row in enumerate(rows):
        parts.append(label(left - 8, top + i * 30 + 19, row, anchor="end"))
        for j, value in enumerate(values[i]):
            reason = (reasons or {}).get((i, j), say.charts.refused)
            parts += _cell(left + j * wide, top + i * 30, wide, value, known, value == best, reason)
    return picture(
        max(left + len(columns) * wide + 8, 200), top + len(rows) * 30 + 8, parts, title or say.charts.heat_map
    )


def _cell(
    x: float, y: float, wide: float, value: float | None, known: Sequence[float], best: bool, reason: str
) -> list[str]:
    if value is None:
        return [
            box(x + 1, y + 1, wide - 2, 28, GREY, opacity=0.12, border=False, title=reason),
            line(x + 8, y + 6, x + wide - 8, y + 24, opacity=0.5),
            line(x + 8, y + 24, x + wide - 8, y + 6, opacity=0.5),
        ]
    low, high = min(known), max(known)
    share = (value - low) / (high - low) if high > low else 0.0
    parts = [box(x + 1, y + 1, wide - 2, 28, BLUE, opacity=round(0.08 + 0.62 * share, 2), border=False, title=value)]
    if best:
        parts.append(box(x + 2, y + 2, wide - 4, 26, GREEN, opacity=0.0))
    star = "\u2605 " if best else ""
    parts.append(label(x + wide / 2, y + 19, star + short(value), anchor="middle", bold=best))
    return parts


def sweep_svg(sweep: Sweep) -> str:
    """The results of a sweep as a heat map: the last parameter across, the others down."""
    *down, across = sweep.choices
    rows = list(itertools.product(*down))
    wide = len(across)
    trials = [sweep.trials[i * wide : (i + 1) * wide] for i in range(len(rows))]
    return heat_map(
        [", ".join(map(str, row)) for row in rows],
        across,
        [[trial.result for trial in row] for row in trials],
        sweep.measure,
        row_name=", ".join(sweep.names[:-1]),
        column_name=sweep.names[-1],
        reasons={(i, j): trial.reason for i, row in enumerate(trials) for j, trial in enumerate(row) if trial.reason},
    )


def footprint_svg(footprints: Footprints) -> str:
    """A bar for each loop: what one run of it touches, on a scale of powers of two, against the caches."""
    levels = footprints.levels
    names = [("\u00a0\u00a0" * level.depth) + (level.loop or say.charts.everything) for level in levels]
    left = max(text_width(name) for name in names) + 24
    greatest = max([level.bytes for level in levels] + [cache.size for cache in footprints.caches] + [2])
    unit = 440 / log2(greatest * 2)

    def at(size: int) -> float:
        return left + log2(max(size, 1)) * unit

    height = 40 + len(levels) * 24
    parts = [label(8, 12, say.charts.touched_by_loops, bold=True, size=12)]
    for number, (name, level) in enumerate(zip(names, levels, strict=True)):
        y = 40 + number * 24
        colour = _SERVED[_rank(level.fits, [cache.name for cache in footprints.caches])]
        text = say.charts.fits(bytes_text(level.bytes), level.fits, level.exact)
        title = "; ".join(say.charts.touched(b.buffer, b.elements, bytes_text(b.bytes)) for b in level.buffers)
        parts.append(label(8, y + 13, name))
        parts.append(box(left, y, max(at(level.bytes) - left, 1), 18, colour, opacity=0.35, title=title))
        parts.append(label(left + 6, y + 13, text, size=10))
    for number, cache in enumerate(footprints.caches):
        x, y = at(cache.size), 34 - 11 * (number % 2)
        parts.append(line(x, y + 3, x, height, dashed=True, opacity=0.7))
        parts.append(label(x, y, f"{cache.name} {bytes_text(cache.size)}", anchor="middle", size=10, faint=True))
    return picture(left + 490, height + 8, parts, say.charts.footprints)


def _rank(fits: str, names: Sequence[str]) -> int:
    return min(names.index(fits), len(_SERVED) - 2) if fits in names else len(_SERVED) - 1


def cache_svg(report: CacheReport) -> str:
    """A bar for each load and store, parted by what served it; below it the misses of each set of the first cache."""
    names = [f"{site.name}  ({' '.join(site.loops)})" for site in report.sites]
    left = max((text_width(name) for name in names), default=60) + 20
    levels = [count.cache.name for count in report.levels]
    parts = [label(8, 14, say.charts.what_served, bold=True, size=12)]
    x = left
    for number, name in enumerate([*levels, say.charts.memory]):
        parts.append(box(x, 20, 10, 10, _colour(number, len(levels)), opacity=0.6))
        parts.append(label(x + 14, 29, name, size=10))
        x += 24 + text_width(name)
    for number, (name, site) in enumerate(zip(names, report.sites, strict=True)):
        y = 40 + number * 22
        parts.append(label(8, y + 12, name, size=10))
        x = left
        served = [site.accesses, *site.misses, 0]
        for level in range(len(levels) + 1):
            share = (served[level] - served[level + 1]) / site.accesses if site.accesses else 0
            if share:
                by = [*levels, say.charts.memory][level]
                title = say.charts.served_by(served[level] - served[level + 1], by)
                parts.append(
                    box(x, y, share * 320, 16, _colour(level, len(levels)), opacity=0.6, title=title, corner=0)
                )
                x += share * 320
        rate = 100 * site.misses[0] / site.accesses if site.accesses else 0
        parts.append(label(left + 326, y + 12, say.charts.miss_rate(short(site.accesses), rate), size=10))
    y = 52 + len(names) * 22
    drawn, height = _sets(report, y)
    parts += drawn
    parts.append(label(8, y + height + 14, str(report.cycles), size=10))
    return picture(left + 520, y + height + 24, parts, say.charts.misses(report.misses, report.accesses))


def _colour(level: int, levels: int) -> str:
    return RED if level == levels else _SERVED[min(level, 2)]


def _sets(report: CacheReport, y: float) -> tuple[list[str], float]:
    """Misses by set as a strip; neighbouring sets are joined when there are many."""
    counts = list(report.set_misses)
    joined = -(-len(counts) // 128)
    groups = [sum(counts[i : i + joined]) for i in range(0, len(counts), joined)]
    most = max(groups, default=0) or 1
    cache = report.levels[0].cache
    parts = [label(8, y + 4, say.charts.misses_by_set(cache.name, cache.sets, cache.ways, joined), size=10)]
    wide = min(14.0, 640 / len(groups))
    for number, count in enumerate(groups):
        title = say.charts.set_misses(number * joined, count)
        parts.append(
            box(8 + number * wide, y + 10, wide - 0.5, 16, RED, opacity=round(0.05 + 0.8 * count / most, 2),
                border=False, title=title, corner=0)
        )  # fmt: skip
    return parts, 34


def reuse_svg(reuse: Reuse) -> str:
    """A histogram of reuse distances: bars left of a cache's line hit it (if it were fully associative)."""
    names = [
        f"{low:,}" if low + 1 >= high else f"{low:,}\u2013{high - 1:,}"
        for low, high in zip(reuse.edges, reuse.edges[1:], strict=False)
    ]
    bars = [*zip(names, reuse.counts, strict=False), (say.charts.first_touch, reuse.cold)]
    most = max((count for _, count in bars), default=1) or 1
    parts = [label(8, 14, say.charts.touched_between(reuse.line), bold=True, size=12)]
    for number, (name, count) in enumerate(bars):
        y = 26 + number * 20
        parts.append(label(108, y + 12, name, anchor="end", size=10))
        colour = RED if number == len(bars) - 1 else BLUE
        parts.append(box(114, y, 300 * count / most, 15, colour, opacity=0.5, corner=0))
        parts.append(label(120 + 300 * count / most, y + 12, f"{count:,}", size=10))
    return picture(480, 34 + len(bars) * 20, parts, say.charts.reuse_distances(reuse.accesses))
