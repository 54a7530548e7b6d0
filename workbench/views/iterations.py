"""The iteration space of a block: points with the order of visit, tiles, dependences, the iterations of a witness.

iterations_svg(iteration_points(sch, "C", ("vj", "vi"), witness=error.witness))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..analysis.iterations import Arrow, IterationPoints
from .strings.tables import say
from .svg import PALETTE, RED, box, label, line, picture

_CELL: Final = 34
_LEFT: Final = 52
_TOP: Final = 44
_ARROWS: Final = 400
"""Arrows that are drawn at most."""
_STYLES: Final[Mapping[str, tuple[str, bool]]] = {
    "flow": ("#0072b2", False), "anti": ("#e69f00", True), "output": ("#777777", True)
}  # fmt: skip


def iterations_svg(points: IterationPoints) -> str:
    """Points in a grid, numbered in the order of visit, coloured by tile; arrows go from earlier to later."""
    xs = sorted({point.x for point in points.points})
    ys = sorted({point.y for point in points.points})
    across = {value: _LEFT + index * _CELL + _CELL / 2 for index, value in enumerate(xs)}
    down = {value: _TOP + index * _CELL + _CELL / 2 for index, value in enumerate(ys)}
    parts = _frame(points, across, down)
    for point in points.points:
        x, y = across[point.x], down[point.y]
        lit = (point.x, point.y) in points.lit
        parts.append(
            box(x - 12, y - 10, 24, 20, RED if lit else PALETTE[point.tile % len(PALETTE)],
                opacity=0.55 if lit else 0.3, border=lit, corner=9)
        )  # fmt: skip
    parts += [_arrow(arrow, across, down) for arrow in points.arrows[:_ARROWS]]
    for point in points.points:
        lit = (point.x, point.y) in points.lit
        parts.append(label(across[point.x], down[point.y] + 4, point.order, anchor="middle", size=10, bold=lit))
    bottom = _TOP + len(ys) * _CELL + 8
    parts += _legend(points, bottom)
    width = max(_LEFT + len(xs) * _CELL + 12, 430)
    return picture(width, bottom + 40, parts, say.lens.iterations(points.block, points.axes))


def _frame(points: IterationPoints, across: Mapping[int, float], down: Mapping[int, float]) -> list[str]:
    parts = [label(8, 14, say.lens.order_of_visits(points.block), bold=True, size=12)]
    parts.append(label(_LEFT, 30, f"{points.axes[0]} \u2192", faint=True))
    parts.append(label(8, _TOP + 4, f"{points.axes[1]} \u2193", faint=True))
    for value, x in across.items():
        parts.append(label(x, _TOP - 2, value, anchor="middle", size=9, faint=True))
    for value, y in down.items():
        parts.append(label(_LEFT - 6, y + 4, value, anchor="end", size=9, faint=True))
    return parts


def _arrow(arrow: Arrow, across: Mapping[int, float], down: Mapping[int, float]) -> str:
    colour, dashed = _STYLES[arrow.kind]
    x1, y1 = across[arrow.earlier[0]], down[arrow.earlier[1]]
    x2, y2 = across[arrow.later[0]], down[arrow.later[1]]
    length = max(((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5, 1)
    cut = min(11 / length, 0.4)
    dx, dy = (x2 - x1) * cut, (y2 - y1) * cut
    return line(x1 + dx, y1 + dy, x2 - dx, y2 - dy, colour=colour, dashed=dashed, arrow=True, opacity=0.8)


def _legend(points: IterationPoints, y: float) -> list[str]:
    kinds = list(dict.fromkeys(arrow.kind for arrow in points.arrows))
    words = [say.lens.dependences[kind] for kind in kinds]
    tiles = len({point.tile for point in points.points})
    if tiles > 1:
        words.append(say.lens.tiles(tiles))
    if points.lit:
        words.append(say.lens.in_conflict)
    if points.fixed:
        words.append(say.lens.still(", ".join(f"{name}={value}" for name, value in points.fixed.items())))
    parts = [label(8, y + 12, "; ".join(words), size=10, faint=True)]
    left_out = []
    if points.clipped:
        left_out.append(say.lens.more_iterations)
    if len(points.arrows) > _ARROWS:
        left_out.append(say.lens.more_arrows(len(points.arrows) - _ARROWS))
    if left_out:
        parts.append(label(8, y + 28, "; ".join(left_out), size=10, faint=True))
    return parts
