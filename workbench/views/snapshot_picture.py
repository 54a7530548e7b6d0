"""A snapshot as one picture: the graph at the left; the summary, the slowest kernel's loops, a difference at the right.

It is shown as an image, which takes no colour from the page around it: dark on white, whatever the theme.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .graph_view import GraphBox, GraphEdge, GraphView
from .html import visible
from .loop_tree import tree_svg
from .strings.tables import say
from .svg import BLUE, GREEN, ORANGE, PINK, RED, box, escaped, label, number, text_width

if TYPE_CHECKING:
    from .snapshot import Contents

_GAP: Final = 16
_ROW: Final = 15
_GRAPH: Final = (380, 860)
"""The most that the graph takes, in pixels; a larger one is drawn smaller."""
_TREE: Final = (700, 620)
_SMALLEST: Final = 560
"""Least width of the right column."""
_CHARACTERS: Final = 108
_DIFFERENCE: Final = 44
_SIGNS: Final = {"-": RED, "+": GREEN}
_KINDS: Final = {"call": BLUE, "group": PINK, "input": ORANGE}
_BOXES: Final = 120
"""A picture with more would be read by nobody."""


def picture_of(found: Contents) -> str:
    """The SVG of a snapshot's contents."""
    graph = found.graph if found.graph is not None and len(found.graph.boxes) <= _BOXES else None
    left, wide, high = "", 0.0, 0.0
    if graph is not None:
        left, wide, high = _graph(graph, 12, 12)
    elif found.flow:
        left, wide, high = _fitted(found.flow, 12, 12, *_GRAPH)
    x = 12 + (wide + _GAP if left else 0)
    right, width, height = _column(found, x)
    total, deep = x + max(width, _SMALLEST) + 12, max(high + 24, height + 12)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(total)}" height="{number(deep)}" '
        f'viewBox="0 0 {number(total)} {number(deep)}" role="img" aria-label="{escaped(found.title)}" '
        'style="max-width:100%;height:auto" '
        'font-family="system-ui, sans-serif" color="#1b1f24" fill="currentColor">'
        f"<title>{escaped(say.snapshot.saved_view(found.title))}</title>"
        f'<rect width="100%" height="100%" fill="#ffffff"/>{left}{right}</svg>'
    )


def _column(found: Contents, x: float) -> tuple[str, float, float]:
    """The parts below each other: their SVG, width and lower edge."""
    parts = [label(x, 14, say.snapshot.as_saved, faint=True)]  # JupyterLab says above it that a model was not found
    y, width = 14.0 + _ROW, 0.0
    for line in found.summary:
        parts.append(_code(x, y, line, bold=line is found.summary[0]))
        width, y = max(width, _code_width(line)), y + _ROW
    if found.tree is not None:
        drawn, wide, high = _fitted(tree_svg(found.tree), x, y + 4, *_TREE)
        parts.append(drawn)
        width, y = max(width, wide), y + high + 20
    elif found.later:
        parts.append(label(x, y + 6, found.later, faint=True))
        y += 24
    for line, colour, bold in _difference(found):
        if colour:
            parts.append(box(x, y - 11, _code_width(line) + 6, _ROW, colour, opacity=0.16, border=False, corner=0))
        parts.append(_code(x + 3, y, line, bold=bold))
        width, y = max(width, _code_width(line)), y + _ROW
    return "".join(parts), width, y


def _difference(found: Contents) -> list[tuple[str, str, bool]]:
    """Lines with their colours; headings are bold."""
    if not found.difference:
        return []
    rows: list[tuple[str, str, bool]] = [(found.difference.summary, "", True)]
    for kind, changed in found.difference.opened():
        rows.append((f"@ {kind.heading}", "", True))
        rows += [(f"{sign} {line}", _SIGNS.get(sign, ""), False) for sign, line in changed]
    if len(rows) > _DIFFERENCE:
        rows = [*rows[:_DIFFERENCE], (say.snapshot.more_lines(len(rows) - _DIFFERENCE), "", False)]
    return [(_cut(line), colour, bold) for line, colour, bold in rows]


def _cut(line: str) -> str:
    shown = visible(line).replace("\n", " ")
    return shown if len(shown) <= _CHARACTERS else shown[: _CHARACTERS - 1] + "…"


def _code(x: float, y: float, line: str, bold: bool = False) -> str:
    """A line in fixed width, with its spaces."""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{number(x)}" y="{number(y)}" font-size="11" font-family="ui-monospace, monospace" '
        f'xml:space="preserve"{weight}>{escaped(_cut(line))}</text>'
    )


def _code_width(line: str) -> float:
    return len(_cut(line)) * 6.7


def _fitted(svg: str, x: float, y: float, most_wide: float, most_high: float) -> tuple[str, float, float]:
    """A picture within the picture, made smaller where it is larger than there is room."""
    wide, high = (float(svg.split(f' {name}="', 1)[1].split('"', 1)[0]) for name in ("width", "height"))
    scale = min(1.0, most_wide / wide, most_high / high)
    placed = f'<svg x="{number(x)}" y="{number(y)}" width="{number(wide * scale)}" height="{number(high * scale)}"'
    size = f' width="{number(wide)}" height="{number(high)}"'
    return svg.replace("<svg", placed, 1).replace(size, "", 1), wide * scale, high * scale


# --- the graph ----------------------------------------------------------------------------------------------------


def _graph(view: GraphView, x: float, y: float) -> tuple[str, float, float]:
    scale = min(1.0, _GRAPH[0] / max(view.width, 1), _GRAPH[1] / max(view.height, 1))
    drawn = "".join([*map(_edge, view.edges), *map(_box, view.boxes)])
    wide, high = view.width + 8, view.height + 8
    return (
        f'<svg x="{number(x)}" y="{number(y)}" width="{number(wide * scale)}" height="{number(high * scale)}" '
        f'viewBox="-4 -4 {number(wide)} {number(high)}">{drawn}</svg>'
    ), wide * scale, high * scale  # fmt: skip


def _box(one: GraphBox) -> str:
    left, top = one.x - one.width / 2, one.y - one.height / 2
    corner = int(one.height / 2) if one.kind == "input" else 5
    drawn = box(left, top, one.width, one.height, _KINDS[one.kind], opacity=0.18, corner=corner)
    if one.kind == "group":  # a second edge behind it: it holds more, told without colour
        drawn = box(left + 3, top + 3, one.width, one.height, _KINDS[one.kind], opacity=0.1, corner=corner) + drawn
    first = one.y - (len(one.lines) - 1) * 6.5 + 4
    written = (
        label(one.x, first + at * 13, line, anchor="middle", size=_size(line, one.width))
        for at, line in enumerate(one.lines)
    )
    return drawn + "".join(written)


def _size(line: str, width: float) -> int:
    """The size of letters with which a line fits into its box; the layout knows no page's fonts."""
    return next((size for size in (11, 10, 9) if text_width(line, size) <= width - 4), 8)


def _edge(edge: GraphEdge) -> str:
    first, *rest = edge.points
    path = f"M{number(first[0])} {number(first[1])}C" + " ".join(f"{number(a)} {number(b)}" for a, b in rest)
    (x, y), (before_x, before_y) = edge.points[-1], _before_end(edge)
    length = max(((x - before_x) ** 2 + (y - before_y) ** 2) ** 0.5, 0.001)
    dx, dy = (x - before_x) / length * 6, (y - before_y) / length * 6
    tip = f"M{number(x)} {number(y)}L{number(x - dx - dy / 2)} {number(y - dy + dx / 2)}" \
        f"L{number(x - dx + dy / 2)} {number(y - dy - dx / 2)}Z"  # fmt: skip
    said = label(edge.x, edge.y + 3, edge.label, anchor="middle", size=9, faint=True) if edge.label else ""
    return f'<path d="{path}" fill="none" stroke="#7a8a99"/><path d="{tip}" fill="#7a8a99"/>{said}'


def _before_end(edge: GraphEdge) -> tuple[float, float]:
    """The last point of a curve that is not its end: where the arrow comes from."""
    end = edge.points[-1]
    return next((point for point in reversed(edge.points) if point != end), edge.points[0])
