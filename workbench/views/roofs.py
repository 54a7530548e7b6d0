"""Rooflines as pictures: one point, and the path of a schedule, each segment named by its primitive.

Nominal figures make the roof; where this process has measured the peak, that is told too.  A point that is faster than
the roof stands over it.

    roofline_svg(roofline(sch)); roofline_path_svg(roofline_path(sch))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log2, log10
from typing import Final

from ..analysis.fact import bytes_text
from ..analysis.roofline_paths import PathPoint, RooflinePath
from ..analysis.rooflines import Roofline
from ..driver.peak import measured_peak
from .strings.tables import say
from .svg import BLUE, GREEN, GREY, PALETTE, RED, box, label, line, picture, text_width

_LEFT, _WIDE, _TOP, _BOTTOM = 62, 470, 40, 216
_ROW: Final = 14
_NAMED: Final = 8
"""Points with their names beside them; of the others the list says more."""
_TICKS: Final = 9
"""At most so many on an axis."""

_Place = tuple[float, float]
_Area = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass(frozen=True)
class RoofPlot:
    """Both axes logarithmic: intensities from the left to the right, rates from the bottom up."""

    intensities: tuple[float, float]
    rates: tuple[float, float]

    @classmethod
    def around(cls, places: Sequence[tuple[float, float]], peak: float, bandwidth: float) -> RoofPlot:
        """Room for points (intensity, rate), the ridge, and what is above the roof."""
        across = [peak / bandwidth, *(x for x, _ in places)]
        up = [peak, *(y for _, y in places)]
        return cls((min(across) / 3, max(across) * 3), (min(*up, peak / 10) / 2, max(up) * 1.7))

    def at(self, intensity: float, rate: float) -> tuple[float, float]:
        """Where a point is drawn; what is lower than the axes begin stands on them."""
        (left, right), (low, high) = self.intensities, self.rates
        across = log10(max(intensity, left) / left) / log10(right / left)
        up = log10(max(rate, low) / low) / log10(high / low)
        return _LEFT + across * _WIDE, _BOTTOM - up * (_BOTTOM - _TOP)

    def axes(self, across: str) -> list[str]:
        """Lines and ticks with their figures: at powers of two of intensities, of ten (or two) of rates."""
        parts = [line(_LEFT, _BOTTOM, _LEFT + _WIDE, _BOTTOM), line(_LEFT, _TOP, _LEFT, _BOTTOM)]
        for intensity in _ticks(*self.intensities, 2):
            x, _ = self.at(intensity, self.rates[0])
            parts.append(line(x, _TOP, x, _BOTTOM + 3, opacity=0.12))
            parts.append(label(x, _BOTTOM + 13, _power(intensity), anchor="middle", size=9))
        low, high = (rate / 1e9 for rate in self.rates)
        for rate in _ticks(low, high, 10 if high / low > 100 else 2):
            _, y = self.at(self.intensities[0], rate * 1e9)
            parts.append(line(_LEFT - 3, y, _LEFT + _WIDE, y, opacity=0.12))
            parts.append(label(_LEFT - 6, y + 3, f"{rate:g}" if rate >= 1e-3 else f"{rate:.0e}", anchor="end", size=9))
        parts.append(label(8, _TOP - 10, say.charts.rate_axis, size=9))
        parts.append(label(_LEFT + _WIDE, _BOTTOM + 25, across, anchor="end", size=9))
        return parts

    def ends(self, peak: float, bandwidth: float) -> list[tuple[_Place, _Place]]:
        """The slope that memory gives and the flat part of arithmetic."""
        low, high = self.intensities
        low = max(low, self.rates[0] / bandwidth)
        start, ridge, end = (self.at(x, min(peak, x * bandwidth)) for x in (low, peak / bandwidth, high))
        return [(start, ridge), (ridge, end)]

    def roof(self, peak: float, bandwidth: float, dashed: bool = False) -> list[str]:
        """Both as lines."""
        width, opacity = (1.0, 0.6) if dashed else (2.0, 1.0)
        ends = self.ends(peak, bandwidth)
        return [line(*one, *other, width=width, dashed=dashed, opacity=opacity) for one, other in ends]


def _ticks(low: float, high: float, base: int) -> list[float]:
    """Powers of `base` in between; of many, those an equal number of powers apart."""
    logarithm = log2 if base == 2 else log10
    first, last = ceil(logarithm(low)), floor(logarithm(high))
    apart = max(1, ceil((last - first + 1) / _TICKS))
    return [float(base) ** power for power in range(first, last + 1) if power % apart == 0]


def _power(value: float) -> str:
    """A power of two; less than one as a fraction.

    >>> _power(0.25), _power(16.0)
    ('1/4', '16')
    """
    return f"1/{1 / value:.0f}" if value < 1 else f"{value:.0f}"


# --- one point ---


def roofline_svg(point: Roofline) -> str:
    """The roof of a target with the program's point on it: what it may reach."""
    if not point.flops:
        told = say.charts.no_arithmetic(bytes_text(point.bytes), point.bandwidth)
        return _sentence(say.charts.roofline, told)
    place = point.intensity, point.attainable
    plot = RoofPlot.around([place], point.peak, point.bandwidth)
    x, y = plot.at(*place)
    parts = [label(8, 14, say.charts.roofline, bold=True, size=12), *plot.axes(say.charts.intensity_axis(""))]
    parts += [*plot.roof(point.peak, point.bandwidth), line(x, y, x, _BOTTOM, dashed=True, opacity=0.5)]
    parts.append(box(x - 5, y - 5, 10, 10, RED, opacity=0.9, corner=5))
    notes = [
        say.charts.attainable_limited(*place, point.bound),
        say.charts.roof_of(point.threads, point.peak, point.bandwidth, say.charts.memory),
        _figures(point),
    ]
    y = _BOTTOM + 44
    parts += [label(8, y + number * _ROW, note, size=10) for number, note in enumerate(notes)]
    return picture(_LEFT + _WIDE + 28, y + 2 * _ROW + 10, parts, say.charts.attainable(*place))


def _figures(of: Roofline | RooflinePath) -> str:
    """What clock is meant, and what was measured."""
    return say.charts.nominal_figures(of.clock, of.clock_is_assumed, measured_peak(of.target, of.bits))


def _sentence(title: str, told: str) -> str:
    wide = max(300.0, text_width(told, 10) + 24)
    return picture(wide, 44, [label(8, 14, title, bold=True, size=12), label(8, 34, told, size=10)], told)


# --- a path ---


def roofline_path_svg(path: RooflinePath) -> str:
    """The points of a path under the roof of the threads at its end, numbered as in the list below it."""
    first, last = path.points[0], path.points[-1]
    if not path.flops:
        told = say.charts.no_arithmetic(bytes_text(last.bytes), path.memory, path.cache)
        return _sentence(say.charts.path, told)
    peak, bandwidth = path.peak * path.threads, path.bandwidth * path.threads
    plot = RoofPlot.around([(point.intensity, point.rate) for point in path.points], peak, bandwidth)
    parts = [label(8, 14, say.charts.path, bold=True, size=12), *plot.axes(say.charts.intensity_axis(path.cache))]
    roofs = plot.ends(peak, bandwidth)
    if path.threads > 1:
        parts += plot.roof(path.peak, path.bandwidth, dashed=True)
        roofs += plot.ends(path.peak, path.bandwidth)
    parts += [*plot.roof(peak, bandwidth), *_way(path.points, plot, roofs)]
    drawn, y = _legend(path, _BOTTOM + 42)
    listed, y = _list(path, y + 4)
    if path.looked_at < path.states:
        listed.append(label(8, y, say.charts.path_sampled(path.looked_at, path.states), size=10, faint=True))
        y += _ROW
    told = say.charts.path_told(first.rate, last.rate, last.step)
    return picture(_LEFT + _WIDE + 28, y - 4, [*parts, *drawn, *listed], told)


def _legend(path: RooflinePath, y: float) -> tuple[list[str], float]:
    """What the lines and colours stand for; and where it ends."""
    peak, bandwidth = path.peak * path.threads, path.bandwidth * path.threads
    parts = [line(8, y - 3, 28, y - 3, width=2)]
    parts.append(label(34, y, say.charts.roof_of(path.threads, peak, bandwidth, path.cache), size=10))
    if path.threads > 1:
        y += _ROW
        parts.append(line(8, y - 3, 28, y - 3, dashed=True, opacity=0.6))
        parts.append(label(34, y, say.charts.roof_of(1, path.peak, path.bandwidth, path.cache), size=10))
    y += _ROW
    x = 8.0
    for colour, told in (
        (GREY, say.charts.path_begin), (PALETTE[4], say.charts.path_step), (GREEN, say.charts.path_end),
    ):  # fmt: skip
        parts.append(box(x, y - 8, 8, 8, colour, opacity=0.9, corner=4))
        parts.append(label(x + 13, y, told, size=10))
        x += 28 + text_width(told, 10)
    parts.append(label(8, y + _ROW, _figures(path), size=10, faint=True))
    return parts, y + 2 * _ROW


def _list(path: RooflinePath, y: float) -> tuple[list[str], float]:
    """The points with their figures in two columns; and where they end."""
    rows = ceil(len(path.points) / 2)
    parts = []
    for number, point in enumerate(path.points):
        name = point.name or (say.charts.path_end if number else say.charts.path_begin)
        told = say.charts.path_point(number, name, point.intensity, point.rate)
        x = 8 + number // rows * (_LEFT + _WIDE + 20) / 2
        parts.append(label(x, y + number % rows * _ROW, told, size=10, bold=not point.primitives))
    return parts, y + rows * _ROW


def _way(points: Sequence[PathPoint], plot: RoofPlot, roof: Sequence[tuple[_Place, _Place]]) -> list[str]:
    """Segments, then points, then names or numbers where there is room for them."""
    places = [plot.at(point.intensity, point.rate) for point in points]
    parts = [
        line(*before, *after, colour=BLUE, width=1.5, arrow=before != after, opacity=0.8)
        for before, after in pairwise(places)
    ]
    taken: list[_Area] = [(x - 6, y - 6, x + 6, y + 6) for x, y in places]
    taken += [area for ends in (*roof, *pairwise(places)) for area in _along(*ends)]
    for number, ((x, y), point) in enumerate(zip(places, points, strict=True)):
        colour = GREY if number == 0 else GREEN if number == len(points) - 1 else PALETTE[4]
        title = f"{point.name or number} ({point.step})"
        parts.append(box(x - 5, y - 5, 10, 10, colour, opacity=0.9, corner=5, title=title))
    named = 0
    for number, ((x, y), point) in enumerate(zip(places, points, strict=True)):
        text = f"{number} {point.name}".strip() if named < _NAMED else str(number)
        near = _room(x, y, text, taken) or _room(x, y, text := str(number), taken)
        if near is not None:
            named += text != str(number)
            parts.append(label(*near, text, size=9))
    return parts


def _along(one: _Place, other: _Place) -> list[_Area]:
    """Small areas along a line, which cover it."""
    (x, y), (right, low) = one, other
    count = max(1, ceil(max(abs(right - x), abs(low - y)) / 4))
    at = [(x + (right - x) * i / count, y + (low - y) * i / count) for i in range(count + 1)]
    return [(x - 1, y - 1, x + 1, y + 1) for x, y in at]


def _room(x: float, y: float, text: str, taken: list[_Area]) -> tuple[float, float] | None:
    """Where a text stands beside a point without covering another, which is noted; None where it would."""
    wide = text_width(text, 9)
    near = (x + 8, y + 3), (x - 8 - wide, y + 3), (x + 8, y + 17), (x + 8, y - 10)
    for left, base in (*near, (x - 8 - wide, y + 17), (x - 8 - wide, y - 10)):
        own = left - 2, base - 9, left + wide + 3, base + 3
        clear = all(own[2] < a or c < own[0] or own[3] < b or d < own[1] for a, b, c, d in taken)
        inside = own[0] >= _LEFT + 2 and own[2] <= _LEFT + _WIDE and own[1] >= _TOP - 8 and own[3] <= _BOTTOM - 1
        if clear and inside:
            taken.append(own)
            return left, base
    return None
