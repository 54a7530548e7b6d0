"""Whether iterations that run at once write the same elements: then, where that is legal, each has its own.

    for i: for r in range(2): B[i + r] = ...        # B[1] is written where i is 0 and r is 1, and where i is 1

Invariant: True is shown by two points of which both run; what cannot be shown is answered False.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from ...analysis.tree import statements_in
from ...arith import build
from ...arith import nodes as n
from ...arith.scope import number_of
from ...arith.simplify import Simplifier
from ...core.equal import structural_equal
from ...core.errors import WorkbenchError
from ...core.node import substitute
from .. import nodes as t
from ..array_values import values

Values = dict[Any, n.PrimExpr]
Chain = list[t.For | t.BlockRealize]
"""The loops and blocks around a block, and it, outermost first."""
MOST_POINTS = 1 << 14
"""Points of iteration that are tried one by one; of larger nests the first iterations of each loop."""


def writes_overlap(loop: t.For, buffer: t.Buffer, around: Sequence[t.For]) -> bool:
    """Whether two iterations of `loop`, in one of those `around`, both write an element of `buffer`.

    Where extents are symbolic only the first two iterations, in the first of those around, are looked at.
    """
    if isinstance(loop.extent, n.IntImm) and loop.extent.value < 2:
        return False
    writes = [
        (region, chain) for realize, chain in _realizes(loop.body)
        for region in realize.block.writes if region.buffer is buffer
    ]  # fmt: skip
    begin: Values = {}
    for outer in around:
        begin[outer.var] = substitute(outer.min, begin)
    first = {**begin, loop.var: substitute(loop.min, begin)}
    second = {**begin, loop.var: build.add(substitute(loop.min, begin), 1)}
    if any(_meet(*one, first, _element(*other, second, {})) for one in writes for other in writes):
        return True
    try:
        return _meet_anywhere(writes, loop, [*around, loop])
    except WorkbenchError:
        return False  # an index or a condition that is looked up


def _realizes(root: t.Stmt) -> Iterator[tuple[t.BlockRealize, Chain]]:
    """Each block under a statement in the order they run in."""
    stack: list[tuple[t.Stmt, Chain]] = [(root, [])]
    while stack:
        current, chain = stack.pop()
        if isinstance(current, (t.For, t.BlockRealize)):
            chain = [*chain, current]
        if isinstance(current, t.BlockRealize):
            yield current, chain
        stack += [(part, chain) for part in reversed(statements_in(current))]


# --- every point --------------------------------------------------------------------------------------------------


def _meet_anywhere(writes: Sequence[tuple[t.BufferRegion, Chain]], loop: t.For, fixed: Sequence[t.For]) -> bool:
    """Whether two iterations of the last loop of `fixed` write an element, the others of them standing still."""
    found: list[np.ndarray] = []
    for region, chain in writes:
        counts = _counts([*fixed, *(step for step in chain if isinstance(step, t.For))])
        if counts is not None:
            found.append(_written(region, chain, fixed, counts))
    if not found:
        return False
    points = _distinct(np.concatenate(found))  # what stands still, the iteration of the loop, the element
    return len(_distinct(np.delete(points, len(fixed) - 1, axis=1))) < len(points)


def _distinct(rows: np.ndarray) -> np.ndarray:
    """The rows, each once.  Rows become one number each: NumPy sorts numbers far faster."""
    if not len(rows):
        return rows
    least = rows.min(axis=0)
    sizes = [int(size) for size in rows.max(axis=0) - least + 1]
    if prod(sizes) > np.iinfo(np.int64).max:
        return np.unique(rows, axis=0)
    _, first = np.unique(np.ravel_multi_index(tuple((rows - least).T), sizes), return_index=True)
    return rows[first]


def _counts(loops: Sequence[t.For]) -> list[int] | None:
    """How many iterations of each loop are tried; None if an extent is symbolic."""
    counts = [number_of(loop.extent) for loop in loops]
    if any(count is None or count < 1 for count in counts):
        return None
    tried = [count or 1 for count in counts]
    while prod(tried) > MOST_POINTS:
        largest = tried.index(max(tried))
        tried[largest] = -(-tried[largest] // 2)
    return tried


def _written(region: t.BufferRegion, chain: Chain, fixed: Sequence[t.For], counts: Sequence[int]) -> np.ndarray:
    """A row for each point that runs: the values of the loops in `fixed`, and the least element of the region."""
    total = prod(counts)
    numbers = iter(np.unravel_index(np.arange(total), tuple(counts)))
    known: dict[int, Any] = {}
    runs = np.ones(total, bool)
    for step in (*fixed, *chain):
        if isinstance(step, t.For):
            known[id(step.var)] = values(step.min, known) + next(numbers)
        else:
            runs &= np.asarray(values(step.predicate, known), bool)
            pairs = zip(step.block.iter_vars, step.iter_values, strict=True)
            known.update({id(item.var): values(value, known) for item, value in pairs})
    columns = [*(known[id(step.var)] for step in fixed), *(values(axis.min, known) for axis in region.region)]
    return np.stack([np.broadcast_to(column, (total,)) for column in columns], axis=1)[runs]


# --- the first two iterations ---------------------------------------------------------------------------------------


def _meet(region: t.BufferRegion, chain: Chain, first: Values, theirs: list[n.PrimExpr] | None) -> bool:
    """Whether a block writes the element `theirs` in the iteration `first`, at some values of its loops."""
    mine = _element(region, chain, first, {})
    if theirs is None or mine is None:
        return False
    steps = _steps(region, chain, first, mine)
    counts: dict[n.Var, int] = {}
    for axis, (one, other) in enumerate(zip(mine, theirs, strict=True)):
        left = number_of(build.subtract(other, one))
        if left is None:
            return False
        for step, moved in sorted(steps.items(), key=lambda item: -abs(item[1][axis])):
            if left and moved[axis] and all(not by for at, by in enumerate(moved) if at != axis):
                counts[step.var] = min(max(left // moved[axis], 0), (number_of(step.extent) or 1) - 1)
                left -= counts[step.var] * moved[axis]
    found = _element(region, chain, first, counts)
    return found is not None and all(map(structural_equal, found, theirs))


def _steps(
    region: t.BufferRegion, chain: Chain, start: Values, mine: list[n.PrimExpr]
) -> dict[t.For, list[int]]:
    """How far one iteration of each loop of the chain moves what is written, where that is a number."""
    found: dict[t.For, list[int]] = {}
    for step in chain:
        if isinstance(step, t.For) and (number_of(step.extent) or 0) > 1:
            moved = _element(region, chain, start, {step.var: 1}, ask=False)
            assert moved is not None
            by = [number_of(build.subtract(one, other)) for one, other in zip(moved, mine, strict=True)]
            if None not in by:
                found[step] = [number or 0 for number in by]
    return found


def _element(
    region: t.BufferRegion,
    chain: Chain,
    start: Values,
    counts: dict[n.Var, int],
    ask: bool = True,
) -> list[n.PrimExpr] | None:
    """The least element of a region where loops are so many iterations from their beginning; None if it is not shown
    that the block runs there (unless that is not asked)."""
    known, simplifier = dict(start), Simplifier()
    for step in chain:
        if isinstance(step, t.For):
            known[step.var] = build.add(substitute(step.min, known), counts.get(step.var, 0))
            continue
        made = simplifier.simplify(substitute(step.predicate, known))
        if ask and not (isinstance(made, n.IntImm) and made.value):
            return None
        pairs = zip(step.block.iter_vars, step.iter_values, strict=True)
        known.update({item.var: substitute(value, known) for item, value in pairs})
    return [simplifier.simplify(substitute(axis.min, known)) for axis in region.region]
