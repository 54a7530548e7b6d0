"""Flow dependences that a loop carries through a buffer: its live range spans iterations, so it is allocated outside.

    for i: B[i] = A[i]; C[i] = B[i - 1] + B[i]      # carries B
    for i: for j: B[j] = A[i, j];  for j: C[i, j] = B[j] * 2      # every iteration reads only what it has written

Invariant: "not carried" is proved: what is read is over-approximated by a box, what is written under-approximated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...analysis.tree import loads_beside
from ...arith import build
from ...arith import nodes as n
from ...arith.simplify import Simplifier
from ...core.equal import structural_equal
from ...core.node import children, substitute
from .. import nodes as t
from .boxes import Box, box_of, coefficients, joined, within
from .filled import is_filled, variables_of
from .linear import structure


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
    for at, (stmt, loops, around) in enumerate(statements(loop.body)):
        for step in loops:
            simplifier.bind_range(step.var, step.min, step.extent)
            inner.add(id(step.var))
        where = at, tuple(step for step in loops if not isinstance(step.extent, n.IntImm) or step.extent.value > 1)
        reads += [
            Access(partial(box_of, region, values, simplifier=simplifier, allowed=Simplifier(), written=False),
                   stands_under[around].read, *where)
            for region in loads_beside(stmt) if region.buffer is buffer
        ]  # fmt: skip
        if not isinstance(stmt, t.BlockRealize):
            continue
        realize = stmt
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
        boxes = partial(box_of, values=values, simplifier=simplifier, allowed=allowed)
        reads += [Access(partial(boxes, it, written=False), under.read, *where) for it in others]
        writes += [
            Access(partial(boxes, it, written=True), under.written, *where)
            for it in own
            if around not in cut and _is_filled(it, realize.block, values, inner, simplifier, allowed)
        ]
    return not all(_is_covered(read, writes, inner) for read in reads)


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
    for stmt, loops, around in statements(root):
        if isinstance(stmt, t.BlockRealize):
            yield stmt, loops, around


def statements(root: t.Stmt) -> Iterator[tuple[t.Stmt, tuple[t.For, ...], t.BlockRealize | None]]:
    """Each statement that stands in no block, and each block; as `realizes`."""
    stack: list[tuple[Any, tuple[t.For, ...], t.BlockRealize | None]] = [(root, (), None)]
    while stack:
        current, loops, around = stack.pop()
        if around is None or isinstance(current, t.BlockRealize):
            yield current, loops, around
        if isinstance(current, t.For):
            loops = (*loops, current)
        elif isinstance(current, t.BlockRealize):
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


def _is_covered(read: Access, writes: list[Access], inner: set[int]) -> bool:
    """Whether all that is read has been written in the same iteration, before."""
    counted = [write for write in writes if write.when <= read.when and _is_before(write, read, inner)]
    box = read.box(inner=inner)
    return any(within(box, made) for made in joined([write.box(inner=inner) for write in counted]))


def _is_before(write: Access, read: Access, inner: set[int]) -> bool:
    """Whether what is read of what `write` makes in an iteration has been made when it is read.

    In loops around both, element after element is written: those at or before the place that is read count.

        for i: for j: B[j] = A[i, j];  C[i, j] = B[j]          # made just before
        for i: for j: B[j] = A[i, j];  C[i, j] = B[i]          # not where i is greater than j
    """
    shared = [loop for loop in read.loops if any(loop is other for other in write.loops)]
    held = inner - {id(loop.var) for loop in shared}
    pairs = list(zip(read.box(inner=held), write.box(inner=held), strict=True)) if shared else []
    for loop in shared:
        for mine, theirs in pairs:
            moving = [(atom, by) for atom, by in theirs.fixed.terms.values() if id(loop.var) in variables_of(atom)]
            if not moving:
                continue
            if coefficients(mine.fixed) != coefficients(theirs.fixed):
                return False
            by = moving[0][1] if len(moving) == 1 and moving[0][0] is loop.var else 0
            if (by > 0 and mine.high < theirs.low) or (by < 0 and mine.low > theirs.high):
                return True  # an earlier iteration of the loop has made it
            if (by >= 0 and mine.high > theirs.high) or (by <= 0 and mine.low < theirs.low):
                return False
    return write.at < read.at


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

    box: Callable[..., Box]
    """What it touches while the loops of `inner` run, the others standing still."""
    when: frozenset[Any]
    """The conditions that it stands under."""
    at: int
    """The block's place in the order they run in."""
    loops: tuple[t.For, ...]
    """The loops inside, of more than one iteration, that are around the block."""


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
