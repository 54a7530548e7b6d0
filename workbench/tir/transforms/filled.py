"""Whether the elements that a block writes while loops run are a whole box, without gaps (the access map is onto it).

for i, j: B[i * 4 + j] = ...        # j < 4: filled; j < 3: gaps
for i: B[i // 2, i % 2] = ...       # filled: different digits of one number
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

from ...arith import nodes as n
from ...arith.simplify import Simplifier
from ...core.node import pre_order, substitute
from .. import nodes as t
from .linear import linear


def variables_of(expr: n.PrimExpr) -> set[int]:
    """Identities of the variables in an expression."""
    if isinstance(expr, n.Var):  # as most are
        return {id(expr)}
    return {id(part) for part in pre_order(expr) if isinstance(part, n.Var)}


@dataclass(frozen=True)
class Digit:
    """(source // low) % (high // low), a part of an index of the loops inside."""

    source: n.PrimExpr
    key: Any
    low: float
    high: float

    @property
    def variables(self) -> set[int]:
        return variables_of(self.source)


def is_filled(region: t.BufferRegion, values: dict[Any, n.PrimExpr], inner: set[int], simplifier: Simplifier) -> bool:
    """Whether a written region of one element takes every place of its bounding box while the loops of `inner` run.

    A region of several elements is what a block may write, not what it surely writes: False.

    Along each axis the terms of the inner loops must be the digits of a mixed radix number without gaps; terms of
    different axes must be different digits of one number, or of independent ones.
    """
    digits: list[Digit] = []
    for axis in region.region:
        if _number(axis.extent) != 1:
            return False
        index = simplifier.simplify(substitute(axis.min, values))
        spans: list[tuple[int, float]] = []
        for atom, coefficient in linear(index).terms.values():
            variables = variables_of(atom)
            if not variables & inner:
                continue
            if not variables <= inner or not _takes_all(atom, simplifier):
                return False
            digits.append(digit_of(atom))
            bound = simplifier.bound(atom)
            spans.append((abs(coefficient), float(bound.high) - float(bound.low)))
        if not _without_gaps(spans):
            return False
    return all(_independent(one, other, simplifier) for i, one in enumerate(digits) for other in digits[:i])


def _takes_all(atom: n.PrimExpr, simplifier: Simplifier) -> bool:
    """Whether an atom takes all values between its bounds while the loops run: i % 4 does not where i is 2, 3 or 4."""
    if isinstance(atom, n.Var):
        return True
    if isinstance(atom, n.Cast):
        return atom.dtype.is_integer and _takes_all(atom.value, simplifier)
    digit = digit_of(atom)
    if digit.source is atom:
        return False
    terms = linear(digit.source).terms.values()
    if not all(_takes_all(part, simplifier) for part, _ in terms):
        return False
    bounds = [(abs(count), simplifier.bound(part)) for part, count in terms]
    spans = [(factor, float(bound.high) - float(bound.low)) for factor, bound in bounds]
    count = 1 + sum(factor * span for factor, span in spans)
    return _without_gaps(spans) and (digit.high == inf or count > digit.high - digit.low)


def _without_gaps(spans: list[tuple[int, float]]) -> bool:
    """Whether sums of factor * (0 ... span) take every value up to the greatest."""
    reach = 0.0
    for factor, span in sorted(spans):
        if factor > reach + 1:
            return False
        reach += factor * span
    return True


def digit_of(atom: n.PrimExpr) -> Digit:
    """An atom as a digit of a number: the whole number if the atom is no quotient and no remainder.

    A remainder inside a quotient only bounds the part where the places divide one another: x % 12 // 3 is x // 3 % 4,
    but x % 10 // 3 is a part of the number x % 10.
    """
    low, high = 1.0, inf
    source = atom
    if isinstance(source, n.FloorMod) and _number(source.b):
        high, source = float(_number(source.b)), source.a
    if isinstance(source, n.FloorDiv) and _number(source.b):
        low, source = float(_number(source.b)), source.a
        high *= low
        if isinstance(source, n.FloorMod) and _number(source.b):
            end = float(_number(source.b))
            if end % low == 0 and (end <= high or end % high == 0):
                high, source = min(high, end), source.a
    form = linear(source)
    key = (form.constant, frozenset((key, count) for key, (_, count) in form.terms.items()))
    return Digit(source, key, low, high)


def _number(expr: n.PrimExpr) -> int:
    return expr.value if isinstance(expr, n.IntImm) and expr.value > 0 else 0


def _independent(one: Digit, other: Digit, simplifier: Simplifier) -> bool:
    """Whether two parts of indices take all combinations of their values."""
    if one.variables.isdisjoint(other.variables):
        return True
    if one.key != other.key or not (one.high <= other.low or other.high <= one.low):
        return False
    form = linear(one.source)
    parts = [(abs(count), simplifier.bound(atom)) for atom, count in form.terms.values()]
    plain = all(isinstance(atom, n.Var) and count > 0 for atom, count in form.terms.values())
    spans = [(factor, float(bound.high) - float(bound.low)) for factor, bound in parts]
    if form.constant or not plain or any(bound.low for _, bound in parts) or not _without_gaps(spans):
        return False
    upper = max(one, other, key=lambda digit: digit.low)
    count = 1 + sum(factor * span for factor, span in spans)
    # The last value of the upper digit may come with the first few of the lower one only.
    whole = count < inf and count % upper.low == 0
    return whole or upper.high <= count < inf or count <= upper.low
