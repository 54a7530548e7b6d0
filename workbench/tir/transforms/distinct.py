"""Whether the map from the iterations of some loops to a block's iterators is injective.

for i, j: vi = i * 4 + j                       # j < 4: injective; j < 5: not shown
for f: vi = f // 3; vj = f % 3                 # injective: the two digits determine f
for t, i: vi = i                               # not injective: each value occurs for every t
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...arith import nodes as n
from ...arith.simplify import Simplifier
from .. import nodes as t
from .filled import Digit, digit_of, variables_of
from .linear import Linear, linear


def tells_apart(values: Sequence[n.PrimExpr], loops: Sequence[t.For]) -> bool:
    """Whether no two iterations of `loops`, in one iteration of the loops around, have the same `values`."""
    simplifier = Simplifier()
    for loop in loops:
        simplifier.bind_range(loop.var, loop.min, loop.extent)
    wanted = {id(loop.var) for loop in loops if not (isinstance(loop.extent, n.IntImm) and loop.extent.value <= 1)}
    return _Known(simplifier, wanted).all_from([linear(simplifier.simplify(value)) for value in values])


class _Known:
    """The loop variables that numbers with given values determine."""

    def __init__(self, simplifier: Simplifier, unknown: set[int]) -> None:
        self.simplifier = simplifier
        self.unknown = unknown
        self.digits: dict[Any, dict[float, Digit]] = {}
        """Digits whose values are determined, by their number and the place where they begin."""

    def all_from(self, numbers: list[Linear]) -> bool:
        """Whether `numbers` determine all variables."""
        while numbers and self.unknown:
            left = [number for number in numbers if not self._is_read(number)]
            left += [linear(source) for source in self._completed()]
            if len(left) == len(numbers) and all(one is other for one, other in zip(left, numbers, strict=True)):
                return False
            numbers = left
        return not self.unknown

    def _is_read(self, number: Linear) -> bool:
        """Read the atoms of a number whose value is known, if they are its digits in a mixed radix."""
        open_ones = [(abs(by), atom) for atom, by in number.terms.values() if variables_of(atom) & self.unknown]
        reach = 0.0
        for factor, atom in sorted(open_ones, key=lambda item: item[0]):
            if factor <= reach:
                return False
            bound = self.simplifier.bound(atom)
            reach += factor * (float(bound.high) - float(bound.low))
        for _, atom in open_ones:
            digit = digit_of(atom)
            if atom.is_variable:
                self.unknown.discard(id(atom))
            elif digit.source is not atom:
                self.digits.setdefault(digit.key, {})[digit.low] = digit
        return True

    def _completed(self) -> list[n.PrimExpr]:
        """The numbers all of whose digits are known."""
        found: list[n.PrimExpr] = []
        for key, parts in list(self.digits.items()):
            source = next(iter(parts.values())).source
            place, bound = 1.0, self.simplifier.bound(source)
            while place in parts and place < parts[place].high:
                place = parts[place].high
            if (bound.low >= 0 and bound.high < place) or place == float("inf"):
                found.append(source)
                del self.digits[key]
        return found
