"""Mixed radix numbers whose places are sizes: ``x * (32 * n) + y * n + w``, where w is below n and y below 32.

    radix(scope, form, {w: n, y: 32, x: 2})           # [w, y, x]: all of 0 ... 64 * n - 1, each once

Factors are polynomials over what stands still; a place is worth the product of the extents below it.

Invariant: answers are sound, not complete, whatever the sizes are: an extent of no iterations leaves none at all, and
else each extent is at least 1.
"""

from __future__ import annotations

from collections.abc import Mapping

from .forms import Form
from .scope import Scope

Polynomial = dict[tuple[int, ...], int]
"""Factors by products of atoms, which are sorted; () stands for 1."""
ONE: Polynomial = {(): 1}


def radix(scope: Scope, form: Form, extents: Mapping[int, Form]) -> list[int] | None:
    """The variables (atoms) of `extents` as the places of a number, the finest first, those of one value left out.

    None unless the form, apart from what stands still, runs through 0 ... product of the extents - 1, each value once.
    """
    worth = _worth(scope, form, extents)
    if worth is None:
        return None
    found: list[int] = []
    left = {variable for variable, extent in extents.items() if extent.constant != 1}
    below = ONE
    while left:
        chosen = next((variable for variable in sorted(left) if worth.get(variable) == below), None)
        if chosen is None:
            return None
        below = product(below, polynomial(scope, extents[chosen]))
        left.discard(chosen)
        found.append(chosen)
    return found


def _worth(scope: Scope, form: Form, extents: Mapping[int, Form]) -> dict[int, Polynomial] | None:
    """What each variable is multiplied by; None where one stands in a division, in a square, or beside another one."""
    worth: dict[int, Polynomial] = {}
    for number, count in form.terms.items():
        factors = scope.atoms.table[number].factors or (number,)
        own = [factor for factor in factors if factor in extents]
        rest = [factor for factor in factors if factor not in extents]
        if any(variable in extents for factor in rest for variable in scope.variables(factor)) or len(own) > 1:
            return None
        if own:
            known = worth.setdefault(own[0], {})
            known[tuple(sorted(rest))] = known.get(tuple(sorted(rest)), 0) + count
    return worth


def polynomial(scope: Scope, form: Form) -> Polynomial:
    """A form as a polynomial over its atoms, those of products taken apart."""
    made: Polynomial = {(): form.offset} if form.offset else {}
    for number, count in form.terms.items():
        factors = tuple(sorted(scope.atoms.table[number].factors or (number,)))
        made[factors] = made.get(factors, 0) + count
    return made


def product(one: Polynomial, other: Polynomial) -> Polynomial:
    """Both multiplied out."""
    made: Polynomial = {}
    for left, count in one.items():
        for right, times in other.items():
            factors = tuple(sorted((*left, *right)))
            made[factors] = made.get(factors, 0) + count * times
    return {factors: count for factors, count in made.items() if count}
