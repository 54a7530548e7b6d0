"""Boxes of elements whose ends are forms of what stands still: one in another, neighbours that fill one together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ..arith.forms import Form
from ..arith.scope import Scope

MOST_BOXES: Final = 32
"""Beyond this many, neighbouring boxes are not joined any further."""


class Span(NamedTuple):
    """One axis of a box: from the greatest of `lows` to the least of `highs`."""

    lows: tuple[Form, ...]
    highs: tuple[Form, ...]

    def shifted(self, amount: int) -> Span:
        return Span(*(tuple(form.shifted(amount) for form in side) for side in self))


Box = tuple[Span, ...]


def holds(scope: Scope, box: Box, other: Box) -> bool:
    """Whether a box is shown to hold another."""
    return all(
        all(any(scope.at_most(low, one) for one in theirs.lows) for low in mine.lows)
        and all(any(scope.at_most(one, high) for one in theirs.highs) for high in mine.highs)
        for mine, theirs in zip(box, other, strict=True)
    )


def joined(scope: Scope, boxes: Sequence[Box]) -> list[Box]:
    """What neighbours among boxes fill together."""
    found = list(boxes)
    at = 0
    while at < len(found) <= MOST_BOXES:
        for other in found[:at]:
            for one, two in ((found[at], other), (other, found[at])):
                made = _together(scope, one, two)
                if made is not None and _key(made) not in map(_key, found):
                    found.append(made)
        at += 1
    return found[len(boxes) :]


def _together(scope: Scope, one: Box, other: Box) -> Box | None:
    """What two boxes that are alike along all axes but one fill there, the first from below; None with a gap.

    One of them may be empty, or in the other: what is told is no more than the other then, as their ends meet.
    """
    apart = [at for at, pair in enumerate(zip(one, other, strict=True)) if _key(pair[:1]) != _key(pair[1:])]
    if len(apart) != 1:
        return None
    below, above = one[apart[0]], other[apart[0]]
    if max(map(len, (*below, *above))) > 1:
        return None
    (low,), (high,), (begin,), (end,) = *below, *above
    if not (scope.at_most(begin, high.shifted(1)) and scope.at_most(low, begin)):
        return None
    return (*one[: apart[0]], Span((low,), (end,)), *one[apart[0] + 1 :])


def _key(box: Sequence[Span]) -> list[object]:
    return [[[form.key for form in side] for side in span] for span in box]
