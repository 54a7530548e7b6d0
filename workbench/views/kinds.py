"""The changes of a step by what they did, as the pipeline screen shows them: each kind once, the first one open.

kinds_view(step_id, s["FuseOps"].diff()).kinds[0].title    # "fuse: nn.conv2d + ... -> fused_conv2d_bias_add_clip"
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .schema import SCHEMA_VERSION, View

if TYPE_CHECKING:
    from ..driver.difference import Difference

_KINDS: Final = 100
"""Kinds that are listed; the rarest are left out."""
_OF_ONE: Final = 200
"""Lines sent of a kind's first change."""
_LINES: Final = 1_500
"""Lines sent of all kinds together."""


@dataclass(frozen=True, slots=True)
class KindView(View):
    """Changes that did the same.  `rows` are (sign, line) of the first, of which `shown` stand open at first.

    Signs are "+" and "-", " " for an unchanged line; `size` counts the changed lines of all changes.
    """

    title: str
    count: int
    size: int
    rows: tuple[tuple[str, str], ...]
    shown: int
    cut: int
    """Lines of the first change that were not sent."""


@dataclass(frozen=True, slots=True)
class DifferenceView(View):
    """What a step changed, kind by kind, the most frequent first; `left_out` counts kinds that are not listed."""

    step: str
    summary: str
    kinds: tuple[KindView, ...]
    left_out: int
    version: int = SCHEMA_VERSION


def kinds_view(step: str, difference: Difference) -> DifferenceView:
    """The kinds of a difference.  The first stands open, cut where its text is (`Difference.opened`)."""
    room = _LINES
    views: list[KindView] = []
    for kind, opened in difference.opened()[:_KINDS]:
        whole = kind.changes[0].rows
        rows = whole[: min(_OF_ONE, room)]
        room -= len(rows)
        shown = 0 if views else min(sum(sign != "@" for sign, _ in opened), len(rows))
        size = sum(change.size for change in kind.changes)
        views.append(KindView(kind.heading, len(kind.changes), size, rows, shown, len(whole) - len(rows)))
    return DifferenceView(step, difference.summary, tuple(views), len(difference.kinds) - len(views))
