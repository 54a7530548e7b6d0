"""Loops along which every dependence has distance zero: the quick tier of the dependence test, without isl.

An index ``8 * i + r`` with r in 0 ... 7 is injective in i: the element determines i.  Where each access to a buffer
determines a loop's value in the same way, two accesses to one element lie in the same iteration of this loop.  So the
loop carries no dependence, and its iterations may run in any order.

Invariant: answers are sound, not complete: a loop that is left out may carry a dependence or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..arith.nodes import Mul
from ..core.node import substitute
from ..tir import nodes as t
from .affine import Affine, Atom, Ranges, Unit
from .regions import bound_forms
from .tree import BlockSite, extent_of, iter_ranges

Factor = int | Affine
"""A number, or a form of what stands still."""


@dataclass
class Digit:
    """(source // lower) % extent; `extent` None stands for all that is left."""

    lower: int
    extent: int | None


@dataclass
class Source:
    """What digits are taken from: a loop variable or a fused index, which takes `extent` values, from 0 on."""

    extent: int | None
    shifted: bool = field(default=False, kw_only=True)
    """Whether it begins elsewhere than with 0 (or that is not known)."""
    digits: list[Digit] = field(default_factory=list[Digit], kw_only=True)

    def is_made_up(self) -> bool:
        """True if the digits determine the source, each part of it once."""
        position = 1
        for digit in sorted(self.digits, key=lambda digit: digit.lower):
            if digit.lower != position:
                return False
            if digit.extent is None:
                return True
            position *= digit.extent
        return self.extent is not None and position >= self.extent


def only_atom(form: Affine | None) -> Atom | None:
    if form is None or form.offset or len(form.terms) != 1:
        return None
    ((atom, factor),) = form.terms.items()
    return atom if factor == 1 else None


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


@dataclass(frozen=True)
class _Index:
    """One axis of an access: its first index over the loops around, and how many follow."""

    low: Affine
    length: Affine
    units: tuple[tuple[int, Unit], ...] = ()


def _indices(touch: Touch) -> list[_Index]:
    """The axes of an access; the same for every loop that is asked about."""
    site, ranges = touch.site, touch.site.ranges
    values = bound_forms(site, ranges)
    inner = iter_ranges(site.block, ranges)
    made: list[_Index] = []
    for bounds in touch.region.region:
        low = Affine.of(bounds.min, inner)
        length = Affine.of(bounds.extent, ranges)
        if low.opaque_variables().isdisjoint(values):
            low = low.substituted(values, ranges)
        else:  # a product, as like as not
            low = Affine.of(substitute(bounds.min, {item.var: value for item, value in site.bindings}), ranges)
        made.append(_Index(low, length, tuple(low.grouped()[0])))
    return made


def _is_recovered(
    loop: t.For, running: list[frozenset[int]], touched: Sequence[Touch], indices: list[list[_Index]]
) -> bool:
    source = Source(extent_of(loop))
    for axis in range(len(touched[0].region.region)):
        for lower, modulus in _units_given(loop, running, touched, [index[axis] for index in indices]):
            source.digits.append(Digit(lower, modulus))
    return bool(source.digits) and _made_up_once(source)


def _made_up_once(source: Source) -> bool:
    """Like `is_made_up`; a digit that two axes determine counts once."""
    distinct: dict[tuple[int, int | None], Digit] = {(d.lower, d.extent): d for d in source.digits}
    if (1, None) in distinct:
        return True
    return Source(source.extent, digits=list(distinct.values())).is_made_up()


def _units_given(
    loop: t.For, running: list[frozenset[int]], touched: Sequence[Touch], indices: list[_Index]
) -> list[tuple[int, int | None]]:
    """The digits of `loop` that the index of one axis determines."""
    shapes: list[dict[tuple[int, int | None], tuple[Factor, Affine, Affine]]] = []
    for touch, index, relaxed in zip(touched, indices, running, strict=True):
        shapes.append(_digit_shapes(loop, relaxed, touch.site.ranges, index))
        if not shapes[-1]:
            return []
    given: list[tuple[int, int | None]] = []
    for digit, (factor, low, _) in shapes[0].items():
        if all(digit in shape and _is_same(shape[digit][0], factor) for shape in shapes[1:]):
            if _fits(factor, [(shape[digit][1], shape[digit][2]) for shape in shapes], touched[0], low):
                given.append(digit)
    return given


def _is_same(one: Factor, other: Factor) -> bool:
    if isinstance(one, Affine) and isinstance(other, Affine):
        return one.same_as(other)
    return isinstance(one, int) and one == other


def _fits(factor: Factor, rests: list[tuple[Affine, Affine]], touch: Touch, base: Affine) -> bool:
    """True if all rests lie in one interval shorter than `factor`."""
    ranges = touch.site.ranges
    if isinstance(factor, Affine):
        low, high = rests[0]
        alike = all(low.same_as(first) and high.same_as(last) for first, last in rests[1:])
        return alike and factor.minus(high.minus(low)).shifted(-1).never_negative(ranges)
    least, most = 0, 0
    for low, high in rests:
        first, last = low.minus(base).interval(ranges)[0], high.minus(base).interval(ranges)[1]
        if first is None or last is None:
            return False
        least, most = min(least, first), max(most, last)
    return most - least < abs(factor)


def _digit_shapes(
    loop: t.For, relaxed: frozenset[int], ranges: Ranges, index: _Index
) -> dict[tuple[int, int | None], tuple[Factor, Affine, Affine]]:
    """For each digit of `loop` in an axis' index: its factor, and the extremes of the rest."""
    found: dict[tuple[int, int | None], tuple[Factor, Affine, Affine]] = {}
    for factor, unit in index.units:
        size = _symbolic_factor(loop, unit, relaxed, ranges) if factor == 1 else None
        if size is not None:
            assert unit.atom is not None
            rest = index.low.minus(Affine({unit.atom: 1}, 0))
            least, most = rest.least(relaxed, ranges), rest.greatest(relaxed, ranges)
            if least is not None and most is not None:
                found[1, None] = (size, least, most.plus(index.length).shifted(-1))
            continue
        digit = _loop_digit(loop, unit)
        if digit is None:
            continue
        rest = index.low.minus(_unit_affine(unit, ranges).times(factor))
        least, most = rest.least(relaxed, ranges), rest.greatest(relaxed, ranges)
        if least is not None and most is not None:
            found[digit] = (factor, least, most.plus(index.length).plus(Affine.constant(-1)))
    return found


def _symbolic_factor(loop: t.For, unit: Unit, relaxed: frozenset[int], ranges: Ranges) -> Affine | None:
    """The number of which a unit is the loop's multiple, ``i * (n // 2)``: one that the running loops do not change."""
    product = unit.atom.expr if unit.atom is not None else None
    if not isinstance(product, Mul):
        return None
    for one, other in ((product.a, product.b), (product.b, product.a)):
        if one is loop.var:
            size = Affine.of(other, ranges)
            return size if size.variables.isdisjoint(relaxed | {id(loop.var)}) else None
    return None


def _running(site: BlockSite, loops: Sequence[t.For], known: set[int]) -> frozenset[int]:
    """The loops of a block that may differ between two accesses: `loops` that are not known, and all inside."""
    chain = {id(loop.var) for loop in loops}
    positions = [index for index, loop in enumerate(site.loops) if id(loop.var) in chain]
    first = min(positions)
    return frozenset(id(loop.var) for loop in site.loops[first:] if id(loop.var) not in known)


def _loop_digit(loop: t.For, unit: Unit) -> tuple[int, int | None] | None:
    """(lower, modulus) if a unit is a digit of the loop's variable."""
    modulus = unit.modulus if unit.atom is None else None
    atom = unit.atom
    if atom is None:
        atom = only_atom(unit.form)
    if atom is None:
        return None
    lower = 1
    if atom.inner is not None:
        lower, atom = atom.divisor, only_atom(atom.inner)
        if atom is None:
            return None
    return (lower, modulus) if atom.expr is loop.var else None


def _unit_affine(unit: Unit, ranges: Ranges) -> Affine:
    if unit.atom is not None:
        return Affine({unit.atom: 1}, 0)
    assert unit.form is not None
    return unit.form.floormod(unit.modulus, ranges)
