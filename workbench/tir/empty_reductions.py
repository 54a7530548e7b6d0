"""What a reduction gives whose loops never run: its identity.

    for i in range(4):
        for k in range(n):                          # n may be 0
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init(): C[vi] = 0
                C[vi] = C[vi] + A[vi, vk]

The init belongs to the element of C, not to an iteration of k: where k has none, it runs all the same.  Natively it
stands in front of the loops (`LowerBlocks`); an executor that runs it in the first iteration asks here what is left.
"""

from __future__ import annotations

from ..arith import nodes as n
from ..arith.build import all_of, any_of, conjuncts, const, less_equal
from ..core.node import EMPTY, pre_order
from . import nodes as t


def empty_reduction(loop: t.For) -> tuple[n.PrimExpr, t.Stmt] | None:
    """(when nothing of a reduction runs, the nest of its inits), for the outermost loop of one that may be empty.

    The loops from `loop` to the block must stand directly in each other, and the block's other iterators must not
    move with those of the reduction.
    """
    chain: list[t.For] = []
    inner: t.Stmt = loop
    while isinstance(inner, t.For):
        chain.append(inner)
        inner = inner.body
    if not isinstance(inner, t.BlockRealize) or inner.block.init is None:
        return None
    pairs = list(zip(inner.block.iter_vars, inner.iter_values, strict=True))
    reduced = [value for iterator, value in pairs if iterator.kind is t.IterKind.REDUCE]
    kept = [(iterator, value) for iterator, value in pairs if iterator.kind is not t.IterKind.REDUCE]
    driving = [step for step in chain if any(_uses(value, step) for value in reduced)]
    others = [step for step in chain if step not in driving]
    if loop not in driving or all(_surely_runs(step) for step in driving):
        return None
    if any(_uses(value, step) for _, value in kept for step in driving):
        return None
    if any(_uses(step.extent, around) for step in chain for around in (driving if step in others else chain)):
        return None
    return any_of(*(less_equal(step.extent, const(0)) for step in driving)), _inits(inner, kept, driving, others)


def _inits(
    realize: t.BlockRealize, kept: list[tuple[t.IterVar, n.PrimExpr]], driving: list[t.For], others: list[t.For]
) -> t.Stmt:
    """The init alone, over the loops that are no reduction's."""
    block = realize.block
    conditions = [part for part in conjuncts(realize.predicate) if not any(_uses(part, step) for step in driving)]
    assert block.init is not None
    alone = t.Block(
        f"{block.name}_init", tuple(iterator for iterator, _ in kept), (), block.writes, (), None, block.init, EMPTY
    )
    made: t.Stmt = t.BlockRealize(tuple(value for _, value in kept), all_of(*conditions), alone)
    for step in reversed(others):
        made = step.replace(body=made)
    return made


def _surely_runs(loop: t.For) -> bool:
    return isinstance(loop.extent, n.IntImm) and loop.extent.value > 0


def _uses(expr: n.PrimExpr, loop: t.For) -> bool:
    return any(part is loop.var for part in pre_order(expr))
