"""Static pictures: SVG without script or style sheet, for notebooks, pages and files.

Text and lines take the colour of the page around them (`currentColor`), fills are translucent, so that one picture
reads on light and dark grounds; colours are Okabe and Ito's, and nothing is told by colour alone.  All text is escaped.

>>> picture(20, 10, [label(2, 8, "a < b")], "example")[:40]
'<svg xmlns="http://www.w3.org/2000/svg" '
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable
from typing import Final

from ..core.errors import PICTURES

PALETTE: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
BLUE, ORANGE, GREEN, PINK, SKY, RED, YELLOW, GREY = PALETTE
_LONGEST: Final = 120


def number(value: float) -> str:
    """A coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def escaped(text: object) -> str:
    """Text for SVG and HTML; control characters visible, long text cut."""
    shown = str(text).translate(PICTURES)
    return html.escape(shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…")


def label(
    x: float, y: float, text: object, *, anchor: str = "start", size: int = 11, bold: bool = False, faint: bool = False
) -> str:
    """One line of text with its baseline at `y`."""
    extra = ' font-weight="600"' if bold else ""
    extra += ' fill-opacity="0.65"' if faint else ""
    extra += f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{number(x)}" y="{number(y)}" font-size="{size}"{extra}>{escaped(text)}</text>'


def box(
    x: float, y: float, width: float, height: float, colour: str, *,
    opacity: float = 0.2, border: bool = True, title: object = "", corner: int = 3, dashed: bool = False,
) -> str:  # fmt: skip
    """A rectangle; `title` shows when the pointer rests on it."""
    stroke = f' stroke="{colour}"' if border else ""
    stroke += ' stroke-dasharray="4 3"' if dashed else ""
    inner = f"<title>{escaped(title)}</title>" if title else ""
    return (
        f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" rx="{corner}" '
        f'fill="{colour}" fill-opacity="{opacity:g}"{stroke}' + (f">{inner}</rect>" if inner else "/>")
    )


def line(
    x1: float, y1: float, x2: float, y2: float, *, colour: str = "currentColor", width: float = 1,
    dashed: bool = False, arrow: bool = False, opacity: float = 1,
) -> str:  # fmt: skip
    """A straight line, with a small head at its end if `arrow`."""
    extra = ' stroke-dasharray="4 3"' if dashed else ""
    extra += f' stroke-opacity="{opacity:g}"' if opacity != 1 else ""
    drawn = (
        f'<path d="M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}" stroke="{colour}" '
        f'stroke-width="{width:g}" fill="none"{extra}/>'
    )
    return drawn + (_head(x1, y1, x2, y2, colour, opacity) if arrow else "")


def _head(x1: float, y1: float, x2: float, y2: float, colour: str, opacity: float) -> str:
    length = max(((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5, 0.001)
    dx, dy = (x2 - x1) / length * 6, (y2 - y1) / length * 6
    points = [(x2, y2), (x2 - dx - dy / 2, y2 - dy + dx / 2), (x2 - dx + dy / 2, y2 - dy - dx / 2)]
    path = "L".join(f"{number(x)} {number(y)}" for x, y in points)
    return f'<path d="M{path}Z" fill="{colour}" fill-opacity="{opacity:g}"/>'


def text_width(text: object, size: int = 11) -> float:
    """About how wide a text is drawn."""
    return len(str(text)) * size * 0.58


def picture(width: float, height: float, parts: Iterable[str], title: str) -> str:
    """The finished SVG; `title` is what a screen reader says."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(width)}" height="{number(height)}" '
        f'viewBox="0 0 {number(width)} {number(height)}" role="img" aria-label="{escaped(title)}" '
        'font-family="system-ui, sans-serif" fill="currentColor">'
        f"<title>{escaped(title)}</title>{''.join(parts)}</svg>"
    )


def embedded(drawn: str, about: str) -> str:
    """An SVG as an image that HTML holds itself; `about` stands where a page drops images."""
    data = base64.b64encode(drawn.encode()).decode()
    return f'<p><img alt="{escaped(about)}" src="data:image/svg+xml;base64,{data}"></p>'
