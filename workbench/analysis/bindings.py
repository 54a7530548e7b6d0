"""The map from the loops around a block to its iterators: whether it is injective, and whether it is onto the domain.

The method is that of mixed radix numbers: an iterator bound to ``8 * io + ii`` with ``ii`` in 0 ... 7 takes every
value once.  A *digit* is ``(source // lower) % extent`` of a loop variable or of a fused index.  The map is injective
when the iterators hold all digits of every loop variable.

Invariant: answers are sound, not complete: False means "not shown".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..arith.nodes import IntImm, PrimExpr
from ..tir import nodes as t
from .affine import Affine, Atom, Ranges, Unit
from .conditions import below, conjuncts, holds
from .regions import bound_forms
from .tree import BlockSite, extent_of, iter_ranges


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

    def is_divided_evenly(self) -> bool:
        """True if the digits take all combinations of their values, each of them all that it can have."""
        ordered = sorted(self.digits, key=lambda digit: digit.lower)
        begin = position = ordered[0].lower if ordered else 1
        for digit in ordered:
            if digit.lower != position:
                return False
            if digit.extent is None:  # all that is left
                alone = len(ordered) == 1
                if self.shifted:
                    return alone and digit.lower == 1
                return digit is ordered[-1] and (alone or (self.extent is not None and self.extent % digit.lower == 0))
            position *= digit.extent
        return not ordered or (self.extent is not None and self.extent > position - begin)


@dataclass(frozen=True)
class BindingFacts:
    """What is shown of a block's bindings."""

    injective: bool
    """No instance of the block is run twice (while outer loops stand still)."""
    covers: bool
    """Every value of the iterators' domains is run."""
    guards_only: bool
    """The predicate says no more than that the iterators stay in their domains."""


class _Radix:
    """Reads forms as mixed radix numbers over the loops in `inner`."""

    def __init__(self, inner: Sequence[t.For], ranges: Ranges, limits: dict[Any, int]) -> None:
        self.ranges = ranges
        self.inner = {id(loop.var): extent_of(loop) for loop in inner}
        self.still = {id(loop.var) for loop in inner if extent_of(loop) == 1 and _is_zero(loop.min)}
        self.begins = {id(loop.var): loop.min for loop in inner if not _is_zero(loop.min)}
        """Where the loops begin that do not begin with 0."""
        self.sources: dict[Any, Source] = {}
        self.limits = limits
        self.ok = True

    def span(self, form: Affine) -> tuple[int | None, bool]:
        """The number of values of a form whose digits are in order, and whether it takes each of them once."""
        units, _ = form.grouped()
        varying = [
            (factor, unit)
            for factor, unit in units
            if not unit.variables.isdisjoint(self.inner) and not self.stands_still(unit)
        ]
        if any(not unit.variables <= set(self.inner) for _, unit in varying):
            return self.failed()
        position: int | None = 1
        dense = True
        for factor, unit in sorted(varying, key=lambda pair: abs(pair[0])):
            if factor < 0 or position is None or factor < position:
                return self.failed()
            dense = dense and factor == position
            extent = self.digit(unit)
            if not self.ok:
                return None, False
            position = None if extent is None else factor * extent
        return position, dense

    def stands_still(self, unit: Unit) -> bool:
        """True for a loop of one iteration, which is at 0."""
        return unit.atom is not None and unit.atom.is_var and id(unit.atom.expr) in self.still

    def failed(self) -> tuple[None, bool]:
        self.ok = False
        return None, False

    def digit(self, unit: Unit) -> int | None:
        """Note the digit that a unit is; its extent, or None if it is symbolic or not understood."""
        modulus = unit.modulus if unit.atom is None else None
        lower = 1
        form: Affine | None = unit.form
        atom: Atom | None = unit.atom
        if form is not None and form.offset == 0 and len(form.terms) == 1:
            ((single, factor),) = form.terms.items()
            if factor == 1:
                atom, form = single, None
        if atom is not None and atom.inner is not None:
            lower, form, atom = atom.divisor, atom.inner, None
            if form.offset == 0 and len(form.terms) == 1:
                ((single, factor),) = form.terms.items()
                if factor == 1 and single.is_var:
                    atom, form = single, None
        source = self.source(atom, form)
        if source is None:
            self.ok = False
            return None
        source.digits.append(Digit(lower, modulus))
        if modulus is not None:
            return modulus
        return None if source.extent is None else -(-source.extent // lower)

    def source(self, atom: Atom | None, form: Affine | None) -> Source | None:
        if atom is not None:
            if not atom.is_var or id(atom.expr) not in self.inner:
                return None
            known = Source(self.inner[id(atom.expr)], shifted=id(atom.expr) in self.begins)
            return self.sources.setdefault(atom.key, known)
        assert form is not None
        if form.key in self.sources:
            return self.sources[form.key]
        if form.offset or not form.variables <= set(self.inner):
            return None
        extent, dense = self.span(form)
        if not dense or not self.ok:
            return None
        limit = self.limits.get(form.key)
        if limit is not None and (extent is None or limit < extent):
            extent = limit
        shifted = not form.variables.isdisjoint(self.begins)
        return self.sources.setdefault(form.key, Source(extent, shifted=shifted))

    def base(self, form: Affine) -> int | None:
        """The least value of a form with no negative factors, its digits taken from 0 on; None if that is not known.

        Digits of loops that begin elsewhere are even only where they take all remainders, 0 among them.
        """
        units, total = form.grouped()
        for factor, unit in units:
            if unit.atom is not None and unit.atom.is_var:
                begin = self.begins.get(id(unit.atom.expr), 0)
                value = getattr(begin, "value", begin)
                if not isinstance(value, int):
                    return None
                total += factor * value
        return total


def _is_zero(expr: PrimExpr) -> bool:
    return isinstance(expr, IntImm) and expr.value == 0


def _limits(predicate: PrimExpr, ranges: Ranges) -> tuple[dict[Any, int], dict[Any, Affine]]:
    """Upper limits (exclusive) that the predicate's conjuncts set: numbers by form, and rests for symbolic ones."""
    limits: dict[Any, int] = {}
    symbolic: dict[Any, Affine] = {}
    for condition in conjuncts(predicate):
        form = below(condition, ranges)
        if form is None:
            continue
        value = Affine({atom: -factor for atom, factor in form.terms.items()}, 0)
        limits[value.key] = min(limits.get(value.key, form.offset + 1), form.offset + 1)
        symbolic[form.key] = form
    return limits, symbolic


def binding_facts(site: BlockSite, inner: Sequence[t.For] | None = None) -> BindingFacts:
    """What is shown of the bindings of a block while the loops `inner` (default: all around it) run.

    `covers` is about the whole domain, `injective` about the instances run while the other loops stand still.
    """
    loops = site.loops if inner is None else tuple(inner)
    ranges = site.ranges
    limits, conditions = _limits(site.realize.predicate, ranges)
    radix = _Radix(loops, ranges, limits)
    covers = True
    used: set[Any] = set()
    for iter_var, value in site.bindings:
        form = Affine.of(value, ranges)
        span, dense = radix.span(form)
        if not radix.ok:
            return BindingFacts(False, False, guards_only(site))
        used |= form.variables
        moves = form.variables <= radix.inner.keys()  # what stands still does not run through a domain
        covers = covers and moves and dense and _covers(iter_var, form, span, conditions, ranges, radix.base(form))
    trivial = {id(loop.var) for loop in loops if extent_of(loop) == 1}
    complete = all(source.is_made_up() for source in radix.sources.values())
    even = all(source.is_divided_evenly() for source in radix.sources.values())
    injective = complete and all(id(loop.var) in used or id(loop.var) in trivial for loop in loops)
    only_guards = guards_only(site)
    return BindingFacts(injective, covers and even and only_guards, only_guards)


def writes_box(site: BlockSite, region: t.BufferRegion, inner: Sequence[t.For]) -> bool:
    """True if, while the loops `inner` run, a block writes every element of the hull of `region` (in its domain)."""
    ranges = site.ranges
    limits, _ = _limits(site.realize.predicate, ranges)
    radix = _Radix(inner, ranges, limits)
    values = bound_forms(site, ranges)
    domain = iter_ranges(site.block, ranges)
    for axis in region.region:
        form = Affine.of(axis.min, domain)
        if not form.opaque_variables().isdisjoint(values):
            return False
        _, dense = radix.span(form.substituted(values, ranges))
        if not radix.ok or not dense:
            return False
    sources = radix.sources.values()
    return all(source.is_made_up() and source.is_divided_evenly() for source in sources) and guards_only(site)


def _covers(
    iter_var: t.IterVar,
    form: Affine,
    span: int | None,
    conditions: dict[Any, Affine],
    ranges: Ranges,
    base: int | None,
) -> bool:
    """Whether a dense form starts at the domain's minimum and ends at its end, with the guards' help."""
    begin = Affine.of(iter_var.dom.min, ranges)
    extent = Affine.of(iter_var.dom.extent, ranges)
    units, _ = form.grouped()
    if any(factor < 0 for factor, _ in units) or begin.value is None or base != begin.value:
        return False
    if extent.value is not None and span is not None:
        if span == extent.value:
            return True
        guard = begin.plus(extent).plus(Affine.constant(-1)).minus(form)
        return span > extent.value and guard.key in conditions
    last = begin.plus(extent).plus(Affine.constant(-1)).minus(form)
    if last.key in conditions:
        return True
    relaxed = form.variables
    greatest = form.greatest(relaxed, ranges)
    return greatest is not None and greatest.same_as(begin.plus(extent).plus(Affine.constant(-1)))


def guards_only(site: BlockSite) -> bool:
    """True if every conjunct of the predicate holds wherever the iterators are in their domains."""
    ranges = site.ranges
    domain = iter_ranges(site.block, ranges)
    forms = [(Affine.variable(iter_var.var), Affine.of(value, ranges)) for iter_var, value in site.bindings]
    for condition in conjuncts(site.realize.predicate):
        if holds(condition, ranges):
            continue
        form = below(condition, ranges)
        if form is None or not _implied(form, forms, domain):
            return False
    return True


def _implied(form: Affine, forms: list[tuple[Affine, Affine]], domain: Ranges) -> bool:
    """True if form >= 0 follows from one iterator's lying in its domain: form = multiple of an iterator + constant."""
    for variable, value in forms:
        for factor in (1, -1):
            rest = form.minus(value.times(factor))
            if rest.variables.isdisjoint(value.variables) and rest.plus(variable.times(factor)).never_negative(domain):
                return True
        atom = only_atom(value)
        if atom is not None and atom.inner is not None:
            # x // d <= most means x <= most * d + d - 1.
            highest = domain.bounds[next(iter(variable.variables))][1]
            most = highest.times(atom.divisor).plus(Affine.constant(atom.divisor - 1))
            rest = form.plus(atom.inner)
            if rest.variables.isdisjoint(value.variables) and rest.minus(most).never_negative(domain):
                return True
    return False


def only_atom(form: Affine | None) -> Atom | None:
    if form is None or form.offset or len(form.terms) != 1:
        return None
    ((atom, factor),) = form.terms.items()
    return atom if factor == 1 else None


# --- kinds of blocks ----------------------------------------------------------------------------------------------


def writes_once(block: t.Block, held: frozenset[int] = frozenset()) -> bool:
    """True if two instances of a block with different spatial iterators never write one element, while the variables
    `held` (by identity) stand still."""
    spatial = [iter_var for iter_var in block.iter_vars if iter_var.kind is t.IterKind.SPATIAL]
    ranges = iter_ranges(block)
    as_loops = [
        t.For(item.var, item.dom.min, item.dom.extent, t.ForKind.SERIAL, t.Evaluate(item.dom.min)) for item in spatial
    ]
    for region in block.writes:
        radix = _Radix(as_loops, ranges, {})
        for axis in region.region:
            if Affine.of(axis.extent, ranges).value != 1:
                return False
            own = {id(item.var) for item in spatial}
            form, still = Affine.of(axis.min, ranges).moving(own)
            if not (form.variables <= own and still.variables <= held):
                return False
            radix.span(form)
        if not radix.ok or not all(source.is_made_up() for source in radix.sources.values()):
            return False
        keys = {atom for source in radix.sources for atom in [source]}
        if any(extent_of(loop) != 1 and ("var", id(loop.var)) not in keys for loop in as_loops):
            return False
    return bool(block.writes)
