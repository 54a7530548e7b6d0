"""The witness of a refusal: two iterations that collide, drawn in the plane of the two loops that matter.

    found = witness_of(sch.why_not("vectorize", k))
    found.points[0].does                    # writes C[0, 0]
    witness_svg(found)                      # the same as a static picture

A page gets `WitnessView` and draws it itself; `witness_svg` is its twin for notebooks, errors and files.
Invariant: nothing is told by colour alone: the first iteration is a square with 1, the second a diamond with 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from ..analysis.dependence import Conflict
from ..analysis.recovery import Touch
from ..arith.nodes import literal
from ..schedule.errors import ScheduleError
from ..schedule.references import LoopRV, Reference
from ..tir import nodes as t
from .schema import View
from .strings.tables import say
from .svg import BLUE, GREY, RED, box, escaped, label, line, number, picture, text_width

_TICKS: Final = 8
"""Values of an axis that are drawn at most."""
_STILL: Final = 4
"""Of one along which the two do not differ."""
_AROUND: Final = 3
"""Where the two points lie further apart than that: values drawn beside each of them."""
_AT_ONCE: Final = frozenset({"vectorize", "parallel", "bind"})


@dataclass(frozen=True, slots=True)
class AxisView(View):
    """One loop of the picture; `extent` is 0 where it is not a constant.  `ticks` are the values drawn.

    `clipped` says that the loop has more values than those.
    """

    name: str
    extent: int
    ticks: tuple[int, ...]
    clipped: bool
    box: str = ""
    """The loop's box in the schedule editor."""


@dataclass(frozen=True, slots=True)
class WitnessPoint(View):
    """One of the two iterations: its place in the picture, all its loops, what it does, and where that is written."""

    x: int
    y: int
    at: str
    does: str
    line: int
    """Of the printed function, from 1; 0 where it is not printed."""
    code: str
    box: str = ""
    """The box of its block in the schedule editor."""


@dataclass(frozen=True, slots=True)
class WitnessView(View):
    """Two iterations in conflict.  Of `axes` the first runs across, the second (if there are two) down."""

    sentence: str
    why: str
    """What the refused step would do to the two: run them at once, or the other way round."""
    axes: tuple[AxisView, ...]
    points: tuple[WitnessPoint, WitnessPoint]
    fixed: str
    """The loops that are no axis, with the values they have in both iterations."""
    lines: tuple[int, ...]
    """The lines of the printed function to light: both statements, and the loops of the axes."""
    boxes: tuple[str, ...] = ()
    """The boxes of the schedule editor to light."""


def witness_of(error: Any, references: Mapping[str, Reference] | None = None) -> WitnessView | None:
    """The witness of a refusal as data; None where it has none of this kind.

    `references` are the boxes of the schedule editor (`editor_boxes.referenced`), whose names the view then gives.
    """
    conflict, attempt = getattr(error, "witness", None), getattr(error, "attempt", None)
    if not isinstance(error, ScheduleError) or not isinstance(conflict, Conflict) or attempt is None:
        return None
    boxes = {_key(reference.target): name for name, reference in (references or {}).items()}
    loops = [loop for loop in conflict.first.site.loops if loop.var.name in conflict.first_at]
    asked = [value.target for given in attempt.arguments.values() for value in _loops_in(given)]
    axes = _axes(loops, asked, conflict)
    printed = attempt.state.printed
    ends = (conflict.first, conflict.first_at), (conflict.second, conflict.second_at)
    points = tuple(_point(touch, at, conflict, axes, printed, boxes) for touch, at in ends)
    still = [name for name, value in conflict.first_at.items() if conflict.second_at[name] == value]
    drawn = {axis.var.name for axis in axes}
    places = [point.line for point in points] + [printed.line_of(loop) or 0 for loop in axes]
    lit = [boxes.get(_key(loop.var), "") for loop in axes] + [point.box for point in points]
    return WitnessView(
        conflict.text(),
        _why(attempt.primitive),
        tuple(_axis(loop, conflict, boxes) for loop in axes),
        (points[0], points[1]),
        ", ".join(f"{name}={conflict.first_at[name]}" for name in still if name not in drawn),
        tuple(sorted({place for place in places if place})),
        tuple(dict.fromkeys(name for name in lit if name)),
    )


def _key(target: Any) -> Any:
    """What a reference stands for, as a key: blocks by name, loops by their variable."""
    return target if isinstance(target, str) else id(target)


def _loops_in(given: Any) -> list[LoopRV]:
    items: Sequence[Any] = given if isinstance(given, (list, tuple)) else (given,)
    return [item for item in items if isinstance(item, LoopRV)]


def _why(primitive: str) -> str:
    if primitive in _AT_ONCE:
        return say.schedule.at_the_same_time
    return say.schedule.other_way_round


def _axes(loops: Sequence[t.For], asked: Sequence[Any], conflict: Conflict) -> list[t.For]:
    """The loops drawn, the horizontal one first: where the two differ, then those asked for, then the innermost."""
    apart = conflict.distance()

    def rank(loop: t.For) -> tuple[bool, bool, int]:
        wanted = any(loop.var is target for target in asked)
        return (apart[loop.var.name] == 0, not wanted, -loops.index(loop))

    return sorted(loops, key=rank)[:2]


def _axis(loop: t.For, conflict: Conflict, boxes: Mapping[Any, str]) -> AxisView:
    extent = int(literal(loop.extent, 0))
    low = literal(loop.min, None)
    ends = sorted((conflict.first_at[loop.var.name], conflict.second_at[loop.var.name]))
    ticks = _ticks(low, extent if low is not None else 0, ends)
    return AxisView(loop.var.name, extent, ticks, len(ticks) != extent, boxes.get(_key(loop.var), ""))


def _ticks(low: int | None, extent: int, ends: Sequence[int]) -> tuple[int, ...]:
    """The values of a loop that are drawn: all of a short one, else those around the two points."""
    most = _TICKS if ends[0] < ends[1] else _STILL
    if low is not None and 0 < extent <= most:
        return tuple(range(low, low + extent))
    first, last = (low, low + extent - 1) if low is not None and extent else (ends[0] - _AROUND, ends[1] + _AROUND)
    if ends[1] - ends[0] < most - 2:
        begin = max(first, min(ends[0] - 1, last - most + 1))
        return tuple(range(begin, min(begin + most, last + 1)))
    near = {end + step for end in ends for step in range(-1, _AROUND)}
    return tuple(sorted(value for value in near if first <= value <= last))


def _point(
    touch: Touch,
    at: Mapping[str, int],
    conflict: Conflict,
    axes: Sequence[t.For],
    printed: Any,
    boxes: Mapping[Any, str],
) -> WitnessPoint:
    element = f"{touch.region.buffer.name}[{', '.join(map(str, conflict.element))}]"
    here = [at[loop.var.name] for loop in axes]
    found = printed.line_of(conflict.statements()[0 if touch is conflict.first else -1]) or 0
    code = printed.lines[found - 1].strip() if found else ""
    return WitnessPoint(
        here[0] if here else 0,
        here[1] if len(here) > 1 else 0,
        ", ".join(f"{name}={value}" for name, value in at.items()),
        say.schedule.writes(element) if touch.writes else say.schedule.reads(element),
        found,
        code,
        boxes.get(touch.site.name, ""),
    )


# --- the static picture -------------------------------------------------------------------------------------------

_CELL: Final = 40
_LEFT: Final = 62
_TOP: Final = 54
_GAP: Final = 22
"""Between two values that are not neighbours."""


def witness_svg(found: WitnessView) -> str:
    """The iterations as dots, the two as shapes with numbers, an arrow from the earlier to the later."""
    across = _spread(found.axes[0].ticks, _LEFT) if found.axes else {0: _LEFT}
    down = _spread(found.axes[1].ticks, _TOP) if len(found.axes) > 1 else {0: _TOP}
    parts = [label(8, 16, say.schedule.colliding, bold=True, size=12), *_scales(found, across, down)]
    for y in down.values():
        parts += [box(x - 2.5, y - 2.5, 5, 5, GREY, opacity=0.5, border=False, corner=3) for x in across.values()]
    one, two = ((across[point.x], down[point.y]) for point in found.points)
    parts.append(_joined(one, two))
    parts.append(box(one[0] - 10, one[1] - 10, 20, 20, BLUE, opacity=0.55, corner=2, title=found.points[0].does))
    parts.append(_diamond(two, found.points[1].does))
    parts += [label(x, y + 4, sign, anchor="middle", bold=True) for (x, y), sign in ((one, "1"), (two, "2"))]
    bottom = max(down.values()) + 30
    rows = _rows(found)
    parts += [label(8, bottom + 17 * place, row, size=11, bold=place < 2) for place, row in enumerate(rows)]
    width = max(max(across.values()) + 30, *(text_width(row) + 20 for row in rows), 240)
    return picture(width, bottom + 17 * len(rows), parts, found.sentence)


def _rows(found: WitnessView) -> list[str]:
    rows = [
        say.schedule.iteration(sign, point.does, point.at, point.line)
        for sign, point in zip("12", found.points, strict=True)
    ]
    rows.append(found.why)
    cut = [
        say.schedule.axis_extent(axis.name, str(axis.extent or say.schedule.unknown_extent))
        for axis in found.axes if axis.clipped
    ]  # fmt: skip
    if cut:
        rows.append(say.schedule.partly_drawn(", ".join(cut)))
    return rows


def _spread(ticks: Sequence[int], begin: float) -> dict[int, float]:
    """Where the values of an axis lie; a gap stands for those left out."""
    made: dict[int, float] = {}
    place = begin
    for before, value in zip((None, *ticks), ticks, strict=False):
        if before is not None:
            place += _CELL + (_GAP if value != before + 1 else 0)
        made[value] = place
    return made


def _scales(found: WitnessView, across: Mapping[int, float], down: Mapping[int, float]) -> list[str]:
    parts: list[str] = []
    for axis, places, is_across in zip(found.axes, (across, down), (True, False), strict=False):
        values = list(places)
        for value, place in places.items():
            x, y = (place, _TOP - 16) if is_across else (_LEFT - 18, place + 4)
            parts.append(label(x, y, value, anchor="middle" if is_across else "end", size=10, faint=True))
        for before, value in pairwise(values):
            if value != before + 1:
                middle = (places[before] + places[value]) / 2
                x, y = (middle, _TOP - 16) if is_across else (_LEFT - 18, middle + 4)
                parts.append(label(x, y, "\u2026", anchor="middle" if is_across else "end", size=10, faint=True))
        x, y, sign = (8, _TOP - 16, "\u2192") if is_across else (8, _TOP + 4, "\u2193")
        parts.append(label(x, y, f"{axis.name} {sign}", bold=True))
    return parts


def _joined(one: tuple[float, float], two: tuple[float, float]) -> str:
    length = max(((two[0] - one[0]) ** 2 + (two[1] - one[1]) ** 2) ** 0.5, 1)
    cut = min(13 / length, 0.45)
    dx, dy = (two[0] - one[0]) * cut, (two[1] - one[1]) * cut
    return line(one[0] + dx, one[1] + dy, two[0] - dx, two[1] - dy, colour=RED, width=2, arrow=True)


def _diamond(at: tuple[float, float], title: str) -> str:
    x, y = at
    points = " ".join(f"{number(x + dx)},{number(y + dy)}" for dx, dy in ((0, -13), (13, 0), (0, 13), (-13, 0)))
    return (
        f'<polygon points="{points}" fill="{RED}" fill-opacity="0.55" stroke="{RED}">'
        f"<title>{escaped(title)}</title></polygon>"
    )
