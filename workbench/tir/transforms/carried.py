"""Which loops carry values from one iteration to the next, so that a buffer must be allocated outside of them.

    for i: B[i] = A[i]; C[i] = B[i - 1] + B[i]      # carries B
    for i: for j: B[j] = A[i, j];  for j: C[i, j] = B[j] * 2      # every iteration reads only what it has written

Invariant: the answer "nothing is carried" is proved; boxes that are read are as large as can be, those written as
small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from ...arith import build
from ...arith import nodes as n
from ...arith.simplify import Simplifier
from ...core.equal import structural_equal
from ...core.node import children, substitute
from .. import nodes as t
from .filled import is_filled, variables_of
from .linear import Linear, linear, structure

MOST_BOXES = 32
"""Beyond this many, neighbouring boxes are not joined any further."""


def carries(loop: t.For, buffer: t.Buffer) -> bool:
    """Whether an iteration of `loop` may read elements of `buffer` that it did not write itself.

    Each region read must lie, as linear forms of the loops inside, within one region written in the same iteration.
    Iterations of a parallel loop, and threads that do not combine their values, are independent: they pass nothing on.
    """
    if loop.has_private_buffers or (isinstance(loop.extent, n.IntImm) and loop.extent.value <= 1):
        return False
    simplifier = Simplifier()
    simplifier.bind_range(loop.var, loop.min, loop.extent)
    inner: set[int] = set()
    values: dict[Any, n.PrimExpr] = {}
    writes: list[Access] = []
    reads: list[Access] = []
    stands_under: dict[t.BlockRealize | None, Conditions] = {None: Conditions(frozenset(), frozenset())}
    cut: set[t.BlockRealize | None] = set()  # what a condition inside may leave part of, with all that it holds
    for at, (realize, loops, around) in enumerate(realizes(loop.body)):
        for step in loops:
            simplifier.bind_range(step.var, step.min, step.extent)
            inner.add(id(step.var))
        pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
        values.update({item.var: substitute(value, values) for item, value in pairs})
        own = [region for region in realize.block.writes if region.buffer is buffer]
        others = [region for region in realize.block.reads if region.buffer is buffer and not _is_one_of(region, own)]
        allowed = _allowed(realize.block)
        predicate = substitute(realize.predicate, values)
        when = _conditions(predicate, inner, simplifier)
        if around in cut or any(not found.isdisjoint(inner) for _, found in _conjuncts(predicate, simplifier)):
            cut.add(realize)
        stops, domains = _stops(realize, own, values, loop, inner, simplifier)
        outer = stands_under[around]
        under = Conditions(outer.read | when | stops, outer.written | when | (stops - domains))
        stands_under[realize] = under
        where = at, frozenset(map(id, loops))
        reads += [Access(_box(it, values, inner, simplifier, allowed, False), under.read, *where) for it in others]
        writes += [
            Access(_box(it, values, inner, simplifier, allowed, True), under.written, *where)
            for it in own
            if around not in cut and _is_filled(it, realize.block, values, inner, simplifier, allowed)
        ]
    return not all(_is_covered(read, writes) for read in reads)


def _is_filled(
    region: t.BufferRegion,
    block: t.Block,
    values: dict[Any, n.PrimExpr],
    inner: set[int],
    simplifier: Simplifier,
    allowed: Simplifier,
) -> bool:
    """Whether a region is filled, by the iterators' domains, too: loops may reach beyond them behind a predicate.

    for i in range(4): where i < 3: B[i // 2, i % 2] = ...        # not B[1, 1]
    """
    own = {id(item.var) for item in block.iter_vars if not variables_of(values[item.var]).isdisjoint(inner)}
    return is_filled(region, values, inner, simplifier) and is_filled(region, {}, own, allowed)


def realizes(root: t.Stmt) -> Iterator[tuple[t.BlockRealize, tuple[t.For, ...], t.BlockRealize | None]]:
    """Each block under a statement in the order they run in, with the loops and the innermost block around it."""
    stack: list[tuple[Any, tuple[t.For, ...], t.BlockRealize | None]] = [(root, (), None)]
    while stack:
        current, loops, around = stack.pop()
        if isinstance(current, t.For):
            loops = (*loops, current)
        elif isinstance(current, t.BlockRealize):
            yield current, loops, around
            around = current
        parts = [child for child in children(current) if isinstance(child, (t.Stmt, t.Block))]
        stack += [(part, loops, around) for part in reversed(parts)]


def _is_one_of(region: t.BufferRegion, others: list[t.BufferRegion]) -> bool:
    """Whether a block reads just what it writes: a reduction, whose first update finds what its init left."""
    return any(
        all(
            structural_equal(mine.min, theirs.min) and structural_equal(mine.extent, theirs.extent)
            for mine, theirs in zip(region.region, other.region, strict=True)
        )
        for other in others
    )


def _is_covered(read: Access, writes: list[Access]) -> bool:
    """Whether all that is read has been written in the same iteration: earlier, or in a loop around both."""
    counted = [w for w in writes if w.when <= read.when and (w.at < read.at or w.loops & read.loops)]
    return any(_within(read.box, box) for box in _joined([write.box for write in counted]))


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


@dataclass(frozen=True)
class Conditions:
    """What whole iterations stand under, from the predicates of a block and of those around it."""

    read: frozenset[Any]
    """Where the block reads."""
    written: frozenset[Any]
    """Where it writes: what only keeps its iterators in their domains takes nothing away."""


@dataclass(frozen=True)
class Access:
    """What a block reads or writes in an iteration."""

    box: Box
    when: frozenset[Any]
    """The conditions that it stands under."""
    at: int
    """The block's place in the order they run in."""
    loops: frozenset[int]
    """The loops inside that are around the block."""


def _conditions(predicate: n.PrimExpr, inner: set[int], simplifier: Simplifier) -> frozenset[Any]:
    """The conjuncts of a predicate, by structure, that whole iterations stand under.

    Those that speak of loops inside keep iterators in their domains, which boxes are clipped to.
    """
    return frozenset(
        structure(made)
        for made, variables in _conjuncts(predicate, simplifier)
        if variables.isdisjoint(inner) and not (isinstance(made, n.IntImm) and made.value)
    )


def _conjuncts(predicate: n.PrimExpr, simplifier: Simplifier) -> Iterator[tuple[n.PrimExpr, set[int]]]:
    """The simplified parts of a predicate that must all hold, each with its variables."""
    stack = [predicate]
    while stack:
        part = stack.pop()
        if isinstance(part, n.And):
            stack += [part.a, part.b]
        else:
            made = simplifier.simplify(part)
            yield made, variables_of(made)


def _stops(
    realize: t.BlockRealize,
    written: list[t.BufferRegion],
    values: dict[Any, n.PrimExpr],
    loop: t.For,
    inner: set[int],
    simplifier: Simplifier,
) -> tuple[frozenset[Any], frozenset[Any]]:
    """The conjuncts of a predicate that may leave out whole iterations of `loop`, told from loops inside; and what
    would only keep iterators in their domains.

        for u_0: for u_1: where u_0 + u_1 < 1: B[0] = ...        # nothing is written where u_0 is 1

    What keeps the iterator of a whole axis of the buffer in its domain takes nothing away: there is nothing beyond.
    """
    ends: set[Any] = set()
    for item, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        if not any(_is_whole_axis(item, region) for region in written):
            continue
        bound = substitute(value, values)
        end = build.add(item.dom.min, item.dom.extent)
        ends.add(structure(simplifier.simplify(build.less(bound, end))))
        ends.add(structure(simplifier.simplify(build.greater_equal(bound, item.dom.min))))
    found = frozenset(
        structure(made)
        for made, variables in _conjuncts(substitute(realize.predicate, values), simplifier)
        if id(loop.var) in variables and not variables.isdisjoint(inner)
    )
    return found, frozenset(ends)


def _is_whole_axis(item: t.IterVar, region: t.BufferRegion) -> bool:
    """Whether an iterator runs through an axis of the buffer from end to end."""
    return structure(item.dom.min) == structure(build.const(0)) and any(
        axis.min is item.var and structure(item.dom.extent) == structure(extent)
        for axis, extent in zip(region.region, region.buffer.shape, strict=True)
    )


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


def _joined(boxes: list[Box]) -> list[Box]:
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
    return [(_coefficients(span.fixed), span.low, span.high) for span in box]


def _together(one: Box, other: Box) -> Box | None:
    pairs = list(zip(one, other, strict=True))
    if any(_coefficients(mine.fixed) != _coefficients(theirs.fixed) for mine, theirs in pairs):
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


def _coefficients(form: Linear) -> dict[Any, int]:
    return {key: coefficient for key, (_, coefficient) in form.terms.items()}
