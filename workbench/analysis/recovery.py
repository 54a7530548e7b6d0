"""Loops along which every dependence has distance zero: the quick tier of the dependence test, without isl.

An index ``8 * i + r`` with r in 0 ... 7 is injective in i: the element determines i.  Where each access to a buffer
determines a loop's value in the same way, two accesses to one element lie in the same iteration of this loop.  So the
loop carries no dependence, and its iterations may run in any order.

Invariant: answers are sound, not complete: a loop that is left out may carry a dependence or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

from ..arith.digits import Digits
from ..arith.forms import EVERYTHING, FINITE, Form, Unit
from ..arith.scope import Scope
from ..tir import nodes as t
from .tree import BlockSite, extent_of
from .unfused import Unfused, unfused


@dataclass(frozen=True)
class Touch:
    """One access of a block to a buffer, as the block's index forms over the loops around it."""

    site: BlockSite
    region: t.BufferRegion
    writes: bool


def touches(sites: Iterable[BlockSite]) -> dict[int, list[Touch]]:
    """Accesses by buffer (identity), only of buffers that some block writes."""
    found: dict[int, list[Touch]] = {}
    written: set[int] = set()
    for site in sites:
        for region in site.reads:
            found.setdefault(id(region.buffer), []).append(Touch(site, region, False))
        for region in site.block.writes:
            found.setdefault(id(region.buffer), []).append(Touch(site, region, True))
            written.add(id(region.buffer))
    return {buffer: touched for buffer, touched in found.items() if buffer in written}


def recovered(loops: Sequence[t.For], touched: Sequence[Touch]) -> set[int]:
    """The loops of `loops` that have equal values at any two accesses to one element (identities of their variables).

    Loops outside `loops` that all accesses share have one value.  An axis whose index is ``c * u + rest``, where the
    rest takes values in an interval shorter than ``c``, determines ``u``; a loop is determined when all digits of its
    variable are.
    """
    views = [view for touch in touched if (view := unfused(touch.site)) is not None]
    if views and len(views) == len(touched) and all(view.parts == views[0].parts for view in views):
        return _recovered_apart(loops, touched, views)
    known: set[int] = set()
    indices: list[list[_Index]] | None = None
    while True:
        running = [_running(touch.site, loops, known) for touch in touched]
        new: set[int] = set()
        for loop in loops:
            if id(loop.var) in known:
                continue
            if extent_of(loop) == 1:
                new.add(id(loop.var))
                continue
            if indices is None:
                indices = [_indices(touch) for touch in touched]
            if _is_recovered(loop, running, touched, indices):
                new.add(id(loop.var))
        if not new:
            return known
        known |= new


def _recovered_apart(loops: Sequence[t.For], touched: Sequence[Touch], views: Sequence[Unfused]) -> set[int]:
    """`recovered` by the loops that fused ones were made of: all of these must be."""
    apart = [replace(touch, site=view.site) for touch, view in zip(touched, views, strict=True)]
    known = recovered(views[0].with_all(loops), apart)
    return {id(loop.var) for loop in loops if all(id(part.var) in known for part in views[0].with_all((loop,)))}


@dataclass(frozen=True)
class _Index:
    """One axis of an access: its first index over the loops around, and how many follow."""

    low: Form
    length: Form
    units: tuple[Unit, ...]


def _indices(touch: Touch) -> list[_Index]:
    """The axes of an access; the same for every loop that is asked about."""
    site, made = touch.site, list[_Index]()
    for bounds in touch.region.region:
        low = site.over_loops(bounds.min)
        if site.changes(low):
            low = site.forms.atoms.opaque(("changes", id(bounds)), bounds.min, EVERYTHING)
        made.append(_Index(low, site.forms.linear(bounds.extent), tuple(site.forms.atoms.grouped(low))))
    return made


def _is_recovered(
    loop: t.For, running: list[frozenset[int]], touched: Sequence[Touch], indices: list[list[_Index]]
) -> bool:
    axes = range(len(touched[0].region.region))
    given = (_units_given(loop, running, touched, [index[axis] for index in indices]) for axis in axes)
    return _make_up({digit for digits in given for digit in digits}, extent_of(loop))


def _make_up(digits: set[tuple[int, int | None]], extent: int | None) -> bool:
    """Whether digits (lower, modulus) determine a variable, each part of it once; of modulus None is all that is left.

    The variable takes `extent` values, if that is known.
    """
    position = 1
    for lower, modulus in sorted(digits, key=lambda digit: (digit[0], digit[1] is not None)):
        if lower != position:
            return False
        if modulus is None:
            return True
        position *= modulus
    return bool(digits) and extent is not None and position >= extent


class _Shape(NamedTuple):
    """How a digit of a loop stands in an index: its factor, and the ends of the rest."""

    factor: Form
    low: Form
    high: Form


def _units_given(
    loop: t.For, running: list[frozenset[int]], touched: Sequence[Touch], indices: list[_Index]
) -> list[tuple[int, int | None]]:
    """The digits of `loop` that the index of one axis determines."""
    shapes: list[dict[tuple[int, int | None], _Shape]] = []
    for touch, index, relaxed in zip(touched, indices, running, strict=True):
        shapes.append(_digit_shapes(loop, relaxed, touch.site.forms, index))
        if not shapes[-1]:
            return []
    given: list[tuple[int, int | None]] = []
    for digit, first in shapes[0].items():
        if all(digit in shape and shape[digit].factor.same_as(first.factor) for shape in shapes[1:]):
            if _fits([shape[digit] for shape in shapes], touched[0].site.forms):
                given.append(digit)
    return given


def _fits(shapes: list[_Shape], scope: Scope) -> bool:
    """True if all rests lie in one interval shorter than the factor."""
    factor, base, high = shapes[0]
    if factor.constant is None:
        alike = all(base.same_as(other.low) and high.same_as(other.high) for other in shapes[1:])
        return alike and scope.is_natural(factor.minus(high.minus(base)).shifted(-1))
    least, most = 0, 0
    for shape in shapes:
        first, last = scope.atoms.bound(shape.low.minus(base)).low, scope.atoms.bound(shape.high.minus(base)).high
        if first < -FINITE or last > FINITE:
            return False
        least, most = min(least, first), max(most, last)
    return most - least < abs(factor.constant)


def _digit_shapes(
    loop: t.For, relaxed: frozenset[int], scope: Scope, index: _Index
) -> dict[tuple[int, int | None], _Shape]:
    """For each digit of `loop` in an axis' index, how it stands there."""
    found: dict[tuple[int, int | None], _Shape] = {}
    variable = scope.atoms.variable_number(loop.var)

    def note(digit: tuple[int, int | None], factor: Form, part: Form) -> None:
        low, high = scope.ends(index.low.minus(part), relaxed)
        if low is not None and high is not None:
            found[digit] = _Shape(factor, low, high.plus(index.length).shifted(-1))

    for unit in index.units:
        digit = _loop_digit(scope, variable, unit)
        if digit is not None:
            note(digit, Form({}, unit.factor), scope.atoms.unit_form(unit))
    factor, part = _symbolic_factor(scope, variable, index.low)
    if factor is not None and not scope.moves(factor, relaxed | {variable}):
        note((1, None), factor, part)
    return found


def _symbolic_factor(scope: Scope, variable: int, form: Form) -> tuple[Form | None, Form]:
    """What a variable is multiplied by in a form, ``n // 2`` of ``i * (n // 2)``, and that product; None where that is
    a number, or the variable stands elsewhere, too."""
    factor, part = Form({}, 0), Form({}, 0)
    for number, by in form.terms.items():
        if variable not in scope.variables(number):
            continue
        factors = scope.atoms.table[number].factors or (number,)
        others = [other for other in factors if other != variable]
        if len(others) != len(factors) - 1 or any(variable in scope.variables(other) for other in others):
            return None, part
        one = Form({scope.atoms.monomial(tuple(others)): 1}, 0) if others else Form({}, 1)
        factor, part = factor.plus(one, by), part.plus(Form({number: by}, 0))
    return (factor if factor.terms else None), part


def _running(site: BlockSite, loops: Sequence[t.For], known: set[int]) -> frozenset[int]:
    """The loops of a block that may differ between two accesses: `loops` that are not known, and all inside."""
    chain = {id(loop.var) for loop in loops}
    positions = [index for index, loop in enumerate(site.loops) if id(loop.var) in chain]
    first = min(positions)
    return site.forms.numbers(loop.var for loop in site.loops[first:] if id(loop.var) not in known)


def _loop_digit(scope: Scope, variable: int, unit: Unit) -> tuple[int, int | None] | None:
    """(lower, modulus) if a unit is a digit of the loop's variable."""
    digit = Digits(scope, (), (variable,)).digit(unit)
    if digit is None or digit.source.offset or digit.source.atom != variable:
        return None
    return digit.low, None if digit.high == inf else unit.modulus
