"""Values that pass from one iteration of a loop to the next: which loops a buffer must be allocated around.

    for i: M[i + 1] = X[i]; O[i] = M[i]        # iteration i reads what iteration i - 1 wrote: `carries`

Invariant: False is proof that an iteration reads only what it has written itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Any

from ...arith import nodes as n
from ...arith.simplify import Simplifier
from ...core.equal import same
from ...core.node import pre_order, substitute
from .. import nodes as t
from .linear import Linear, linear, structure


def carries(loop: t.For, buffer: t.Buffer) -> bool:
    """Whether an iteration of `loop` may read elements of `buffer` that it did not write itself.

    Each region read must lie, as linear forms of the loops inside, within one region that the same iteration fills
    without gaps.
    Iterations of a parallel loop are independent: they pass nothing on.
    """
    if loop.kind is t.ForKind.PARALLEL or (isinstance(loop.extent, n.IntImm) and loop.extent.value <= 1):
        return False  # What parallel iterations pass on nobody receives: a buffer used only inside is private to each.
    simplifier = Simplifier()
    inner: set[int] = set()
    for node in pre_order(loop.body):
        if isinstance(node, t.For):
            simplifier.bind_range(node.var, node.min, node.extent)
            inner.add(id(node.var))
    writes: list[Box] = []
    reads: list[Box] = []
    for node in pre_order(loop.body):
        if isinstance(node, t.BlockRealize):
            values = {item.var: value for item, value in zip(node.block.iter_vars, node.iter_values, strict=True)}
            own = [region for region in node.block.writes if region.buffer is buffer]
            others = [region for region in node.block.reads if region.buffer is buffer and not _is_one_of(region, own)]
            filled = [region for region in own if _fills(region, values, inner, simplifier)]
            allowed = _allowed(node.block)
            writes += [_box(region, values, inner, simplifier, allowed, True) for region in filled]
            reads += [_box(region, values, inner, simplifier, allowed, False) for region in others]
    return not all(any(_within(read, write) for write in writes) for read in reads)


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


def _allowed(block: t.Block) -> Simplifier:
    """What is known of expressions of a block's iterators: their domains."""
    simplifier = Simplifier()
    for iterator in block.iter_vars:
        simplifier.bind_range(iterator.var, iterator.dom.min, iterator.dom.extent)
    return simplifier


def _box(
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
            variables = {id(part) for part in pre_order(atom) if isinstance(part, n.Var)}
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


def _within(read: Box, write: Box) -> bool:
    """Whether a box lies in another: the same fixed parts, offsets inside; or all that can be read at any time."""
    for mine, theirs in zip(read, write, strict=True):
        alike = _coefficients(mine.fixed) == _coefficients(theirs.fixed)
        low, high = mine.low, mine.high
        if not theirs.fixed.terms:
            # Without a fixed part both ends are numbers, and the domain's ends are numbers for the same elements.
            low, high = (max(low, mine.least), min(high, mine.most)) if alike else (mine.least, mine.most)
            alike = True
        if not alike or low < theirs.low or high > theirs.high:
            return False
    return True


def _coefficients(form: Linear) -> dict[Any, int]:
    return {key: coefficient for key, (_, coefficient) in form.terms.items()}


def _is_one_of(region: t.BufferRegion, others: list[t.BufferRegion]) -> bool:
    """Whether a block reads what it writes: an accumulation, whose start another block makes."""
    return any(same(region, other) for other in others)


# --- regions without gaps -----------------------------------------------------------------------------------------


@dataclass
class _Digits:
    """The parts of one sum that the axes of a region are indexed by: (lower, upper) of ``x % upper // lower``."""

    low: int
    high: int
    windows: list[tuple[int, int | None]] = field(default_factory=lambda: [])

    def are_independent(self) -> bool:
        """Whether the parts take all combinations of their values."""
        position = 1
        for lower, upper in sorted(self.windows, key=lambda window: window[0]):
            if lower < position or position == 0:
                return False
            position = 0 if upper is None else upper
        period = max(max(lower, upper or 1) for lower, upper in self.windows)
        return self.low % period == 0 and (self.high + 1) % period == 0


def _fills(region: t.BufferRegion, values: dict[Any, n.PrimExpr], inner: set[int], simplifier: Simplifier) -> bool:
    """Whether a region, over the loops in `inner`, covers the whole box of its extremes.

    An axis must be indexed by a sum of loops that counts without gaps, or by digits of one; a loop serves one axis, or
    the digits of one sum.
    """
    owners: dict[int, Any] = {}
    digits: dict[Any, _Digits] = {}
    for number, axis in enumerate(region.region):
        form = linear(simplifier.simplify(substitute(axis.min, values)))
        steps: list[tuple[int, int]] = []
        for atom, coefficient in form.terms.values():
            own = {id(part) for part in pre_order(atom) if isinstance(part, n.Var)}
            if own.isdisjoint(inner):
                continue
            found = _digit(atom, digits, simplifier) if own <= inner else None
            if found is None:
                return False
            if not all(_may_use(owners.setdefault(var, (found[0], number)), found[0], number) for var in own):
                return False
            steps.append((abs(coefficient), found[1]))
        if not _counts(steps, getattr(axis.extent, "value", 1)):
            return False
    return all(each.are_independent() for each in digits.values())


_PLAIN = "a loop"


def _may_use(held: tuple[Any, int], key: Any, axis: int) -> bool:
    """Whether a loop that serves `held` may serve the part `key` of an axis too."""
    return held[0] == key and (key != _PLAIN or held[1] == axis)


def _digit(atom: n.PrimExpr, digits: dict[Any, _Digits], simplifier: Simplifier) -> tuple[Any, int] | None:
    """(what the atom is a part of, how many values it takes); None where that is not seen."""
    if isinstance(atom, n.Var):
        bound = simplifier.bound(atom)
        return (_PLAIN, int(bound.high - bound.low + 1)) if _is_finite(bound) else None
    lower, upper = 1, None
    if isinstance(atom, n.FloorMod) and isinstance(atom.b, n.IntImm):
        upper, atom = atom.b.value, atom.a
    if isinstance(atom, n.FloorDiv) and isinstance(atom.b, n.IntImm):
        lower, atom = atom.b.value, atom.a
    if lower <= 0 or (upper is not None and upper <= 0) or (lower == 1 and upper is None):
        return None
    bound = simplifier.bound(atom)
    form = linear(atom)
    if not _is_finite(bound) or not all(isinstance(part, n.Var) for part, _ in form.terms.values()):
        return None
    steps = [(abs(factor), _extent(part, simplifier)) for part, factor in form.terms.values()]
    if not _counts(steps, 1):
        return None
    key = structure(atom)
    made = digits.setdefault(key, _Digits(int(bound.low), int(bound.high)))
    made.windows.append((lower, None if upper is None else lower * upper))
    count = upper if upper is not None else int(bound.high) // lower - int(bound.low) // lower + 1
    return key, count


def _extent(var: n.PrimExpr, simplifier: Simplifier) -> int:
    bound = simplifier.bound(var)
    return int(bound.high - bound.low + 1) if _is_finite(bound) else 0


def _is_finite(bound: Any) -> bool:
    return isinstance(bound.low, int) and isinstance(bound.high, int)


def _counts(steps: list[tuple[int, int]], width: int) -> bool:
    """Whether sums of (factor, number of values) take every value between their extremes, `width` at a time."""
    span = width
    for factor, count in sorted(steps):
        if count <= 0 or (count > 1 and factor > span):
            return False
        span += factor * (count - 1)
    return True
