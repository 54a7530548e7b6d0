"""The roof of the roofline chart, and the path of a schedule under it: each segment named by its primitive.

    roofline_path_svg(roofline_path(sch))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log10
from typing import Final

from ..analysis.roofline_paths import PathPoint, RooflinePath
from .strings.tables import say
from .svg import BLUE, GREEN, GREY, PALETTE, box, label, line, picture, text_width

_LEFT: Final = 60
_ROW: Final = 15


@dataclass(frozen=True)
class RoofPlot:
    """Both axes logarithmic: intensities from the left to the right, rates from the bottom up."""

    intensities: tuple[float, float]
    lowest_rate: float
    peak: float
    wide: float = 380
    bottom: float = 210
    high: float = 170
    """Up to twice the peak."""

    def at(self, intensity: float, rate: float) -> tuple[float, float]:
        """Where a point is drawn; what is lower than the axes begin stands on them."""
        low, high = self.intensities
        across = log10(max(intensity, low) / low) / log10(high / low)
        up = log10(max(rate, self.lowest_rate) / self.lowest_rate) / log10(self.peak * 2 / self.lowest_rate)
        return _LEFT + across * self.wide, self.bottom - up * self.high

    def roof(self, peak: float, bandwidth: float, faint: bool = False) -> list[str]:
        """The slope that memory gives and the flat part of arithmetic, each with its figure."""
        low, high = self.intensities
        low = max(low, self.lowest_rate / bandwidth)
        start, ridge, end = (self.at(x, min(peak, x * bandwidth)) for x in (low, peak / bandwidth, high))
        width, opacity = (1.0, 0.5) if faint else (2.0, 1.0)
        told = say.charts.peak(peak), say.charts.bandwidth(bandwidth)
        ends = (start, ridge), (ridge, end)
        return [
            *(line(*one, *other, width=width, dashed=faint, opacity=opacity) for one, other in ends),
            label(end[0], end[1] - 5, told[0], anchor="end", size=10, faint=faint),
            *([] if faint else [label(start[0] + 4, start[1] - 18, told[1], size=10)]),
        ]  # fmt: skip


def roofline_path_svg(path: RooflinePath) -> str:
    """The points of a path under the roof of the threads at its end, numbered as in the list below it."""
    peak, bandwidth = path.peak * path.threads, path.bandwidth * path.threads
    across = [peak / bandwidth, *(point.intensity for point in path.points)]
    ends = min(across) / 3, max(across) * 3
    plot = RoofPlot(ends, min(point.rate for point in path.points) / 3, peak, 460, 260, 226)
    parts = [label(8, 14, say.charts.path, bold=True, size=12)]
    if path.threads > 1:
        parts += plot.roof(path.peak, path.bandwidth, faint=True)
    parts += [*plot.roof(peak, bandwidth), line(_LEFT, 260, _LEFT + 460, 260), line(_LEFT, 34, _LEFT, 260, opacity=0.5)]
    parts.append(label(_LEFT, 276, say.charts.path_axes(path.cache), size=10))
    parts += _way(path.points, plot)
    y = 296
    for number, point in enumerate(path.points):
        parts.append(label(_LEFT, y + number * _ROW, _told(number, path), size=10, bold=not point.primitives))
    y += len(path.points) * _ROW
    if path.looked_at < path.states:
        parts.append(label(_LEFT, y, say.charts.path_sampled(path.looked_at, path.states), size=10, faint=True))
        y += _ROW
    first, last = path.points[0], path.points[-1]
    return picture(_LEFT + 480, y - 4, parts, say.charts.path_told(first.rate, last.rate, last.step))


def _told(number: int, path: RooflinePath) -> str:
    point = path.points[number]
    name = point.name or (say.charts.path_end if number else say.charts.path_begin)
    return say.charts.path_point(number, name, point.intensity, point.rate)


def _way(points: Sequence[PathPoint], plot: RoofPlot) -> list[str]:
    """Segments, then points with their numbers, then names where there is room for them."""
    places = [plot.at(point.intensity, point.rate) for point in points]
    parts = [
        line(*before, *after, colour=BLUE, width=1.5, arrow=before != after, opacity=0.8)
        for before, after in pairwise(places)
    ]
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in places]
    for number, ((x, y), point) in enumerate(zip(places, points, strict=True)):
        colour = GREY if number == 0 else GREEN if number == len(points) - 1 else PALETTE[4]
        title = f"{point.name or number} ({point.step})"
        parts.append(box(x - 5, y - 5, 10, 10, colour, opacity=0.9, corner=5, title=title))
        near = _room(x, y, f"{number} {point.name}".strip(), taken)
        if near is not None:
            parts.append(label(*near, f"{number} {point.name}".strip(), size=9))
    return parts


def _room(
    x: float, y: float, text: str, taken: list[tuple[float, float, float, float]]
) -> tuple[float, float] | None:
    """Where a text stands beside a point without covering another, which is noted; None where it would."""
    wide = text_width(text, 9)
    for left, base in ((x + 8, y + 3), (x - 8 - wide, y + 3), (x + 4, y - 8), (x + 4, y + 15), (x - 4 - wide, y - 8)):
        own = left, base - 8, left + wide, base + 2
        clear = all(own[2] < a or c < own[0] or own[3] < b or d < own[1] for a, b, c, d in taken)
        if clear and own[0] >= _LEFT and own[2] <= _LEFT + 480:
            taken.append(own)
            return left, base
    return None
