"""Whether iterations that run at once write the same elements: then, where that is legal, each has its own.

    for i: for r in range(2): B[i + r] = ...        # B[1] is written where i is 0 and r is 1, and where i is 1

Invariant: True is shown by two points of which both run; what cannot be shown is answered False.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...arith import build
from ...arith import nodes as n
from ...arith.simplify import Simplifier
from ...core.node import substitute
from .. import nodes as t
from .carried import realizes
from .linear import linear, structure

Values = dict[Any, n.PrimExpr]
Chain = list[t.For | t.BlockRealize]
"""The loops and blocks around a block, and it, outermost first."""


def writes_overlap(loop: t.For, buffer: t.Buffer, around: Sequence[t.For]) -> bool:
    """Whether the first two iterations of `loop`, in the first of those `around`, both write an element of `buffer`."""
    if isinstance(loop.extent, n.IntImm) and loop.extent.value < 2:
        return False
    begin: Values = {}
    for outer in around:
        begin[outer.var] = substitute(outer.min, begin)
    first = {**begin, loop.var: substitute(loop.min, begin)}
    second = {**begin, loop.var: build.add(substitute(loop.min, begin), 1)}
    chains: dict[t.BlockRealize | None, Chain] = {None: []}
    writes: list[tuple[t.BufferRegion, Chain]] = []
    for realize, loops, outside in realizes(loop.body):
        seen = [step for step in chains[outside] if isinstance(step, t.For)]
        chain = [*chains[outside], *(step for step in loops if all(step is not other for other in seen)), realize]
        chains[realize] = chain
        writes += [(region, chain) for region in realize.block.writes if region.buffer is buffer]
    return any(_meet(*one, first, _element(*other, second, {})) for one in writes for other in writes)


def _meet(region: t.BufferRegion, chain: Chain, first: Values, theirs: list[n.PrimExpr] | None) -> bool:
    """Whether a block writes the element `theirs` in the iteration `first`, at some values of its loops."""
    mine = _element(region, chain, first, {})
    if theirs is None or mine is None:
        return False
    steps = _steps(region, chain, first, mine)
    counts: dict[n.Var, int] = {}
    for axis, (one, other) in enumerate(zip(mine, theirs, strict=True)):
        left = _number(build.subtract(other, one))
        if left is None:
            return False
        for step, moved in sorted(steps.items(), key=lambda item: -abs(item[1][axis])):
            if left and moved[axis] and all(not by for at, by in enumerate(moved) if at != axis):
                counts[step.var] = min(max(left // moved[axis], 0), (_number(step.extent) or 1) - 1)
                left -= counts[step.var] * moved[axis]
    found = _element(region, chain, first, counts)
    return found is not None and [structure(item) for item in found] == [structure(item) for item in theirs]


def _steps(
    region: t.BufferRegion, chain: Chain, start: Values, mine: list[n.PrimExpr]
) -> dict[t.For, list[int]]:
    """How far one iteration of each loop of the chain moves what is written, where that is a number."""
    found: dict[t.For, list[int]] = {}
    for step in chain:
        if isinstance(step, t.For) and (_number(step.extent) or 0) > 1:
            moved = _element(region, chain, start, {step.var: 1}, ask=False)
            assert moved is not None
            by = [_number(build.subtract(one, other)) for one, other in zip(moved, mine, strict=True)]
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
    values, simplifier = dict(start), Simplifier()
    for step in chain:
        if isinstance(step, t.For):
            values[step.var] = build.add(substitute(step.min, values), counts.get(step.var, 0))
            continue
        made = simplifier.simplify(substitute(step.predicate, values))
        if ask and not (isinstance(made, n.IntImm) and made.value):
            return None
        pairs = zip(step.block.iter_vars, step.iter_values, strict=True)
        values.update({item.var: substitute(value, values) for item, value in pairs})
    return [simplifier.simplify(substitute(axis.min, values)) for axis in region.region]


def _number(expr: n.PrimExpr) -> int | None:
    """The number that an expression is, or None."""
    form = linear(Simplifier().simplify(expr))
    return None if form.terms else form.constant
