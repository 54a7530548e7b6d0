"""Boxes of what is touched in an iteration: linear forms of what stands still, and offsets from them.

Invariant: boxes that are read are as large as can be, those written as small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any

from ...arith import nodes as n
from ...arith.simplify import Simplifier
from ...core.node import substitute
from .. import nodes as t
from .filled import variables_of
from .linear import Linear, linear

MOST_BOXES = 32
"""Beyond this many, neighbouring boxes are not joined any further."""


@dataclass(frozen=True)
class Span:
    """One axis of what is touched in an iteration."""

    fixed: Linear
    """The part that stands still in an iteration."""
    low: float
    high: float
    """Least and greatest offset from it."""
    least: float
    most: float
    """What the iterators' domains allow in any iteration: bindings reach beyond where a predicate holds them back."""


Box = list[Span]


def box_of(
    region: t.BufferRegion,
    values: dict[Any, n.PrimExpr],
    inner: set[int],
    simplifier: Simplifier,
    allowed: Simplifier,
    written: bool,
) -> Box:
    """What a region holds in an iteration: at least that if it is `written`, at most that if it is read."""
    box: Box = []
    for axis in region.region:
        form = linear(simplifier.simplify(substitute(axis.min, values)))
        reach: float = getattr(axis.extent, "value", 1 if written else inf) - 1
        fixed: Linear = Linear()
        low, high = float(form.constant), form.constant + reach
        for key, (atom, coefficient) in form.terms.items():
            variables = variables_of(atom)
            if written and variables & inner and not variables <= inner:
                low, high = inf, -inf  # where it lies changes from iteration to iteration, nobody knows how
            elif variables & inner:
                bound = simplifier.bound(atom)
                ends = (coefficient * float(bound.low), coefficient * float(bound.high))
                low, high = low + min(ends), high + max(ends)
            else:
                fixed.add(key, atom, coefficient)
        domain = allowed.bound(axis.min)
        box.append(Span(fixed, low, high, domain.low, domain.high + reach))
    return box


def within(read: Box, write: Box) -> bool:
    """Whether a box lies in another: the same fixed parts, offsets inside; or all that can be read at any time."""
    for mine, theirs in zip(read, write, strict=True):
        alike = coefficients(mine.fixed) == coefficients(theirs.fixed)
        low, high = mine.low, mine.high
        if not theirs.fixed.terms:
            # Without a fixed part both ends are numbers, and the domain's ends are numbers for the same elements.
            low, high = (max(low, mine.least), min(high, mine.most)) if alike else (mine.least, mine.most)
            alike = True
        if not alike or low < theirs.low or high > theirs.high:
            return False
    return True


def joined(boxes: list[Box]) -> list[Box]:
    """The boxes, and what neighbours among them fill together: alike along all axes but one, where they meet."""
    found = list(boxes)
    at = 0
    while at < len(found) <= MOST_BOXES:
        for other in found[:at]:
            made = _together(found[at], other)
            if made is not None and _ends(made) not in map(_ends, found):
                found.append(made)
        at += 1
    return found


def _ends(box: Box) -> list[Any]:
    return [(coefficients(span.fixed), span.low, span.high) for span in box]


def _together(one: Box, other: Box) -> Box | None:
    pairs = list(zip(one, other, strict=True))
    if any(coefficients(mine.fixed) != coefficients(theirs.fixed) for mine, theirs in pairs):
        return None
    apart = [
        number for number, (mine, theirs) in enumerate(pairs) if (mine.low, mine.high) != (theirs.low, theirs.high)
    ]
    if len(apart) != 1:
        return None
    mine, theirs = pairs[apart[0]]
    if max(mine.low, theirs.low) > min(mine.high, theirs.high) + 1:
        return None
    joined = replace(mine, low=min(mine.low, theirs.low), high=max(mine.high, theirs.high))
    return [*one[: apart[0]], joined, *one[apart[0] + 1 :]]


def coefficients(form: Linear) -> dict[Any, int]:
    return {key: coefficient for key, (_, coefficient) in form.terms.items()}
