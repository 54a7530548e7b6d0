"""What a reduction gives whose loops never run: its identity.

    for i in range(4):
        for k in range(n):                          # n may be 0
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init(): C[vi] = 0
                C[vi] = C[vi] + A[vi, vk]

The init belongs to the element of C, not to an iteration of k: where k has none, it runs all the same.  Where
`LowerBlocks` puts it in front of the loops, it does; where the first iteration runs it, what is left is asked for here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..arith import nodes as n
from ..arith.build import all_of, any_of, conjuncts, const, less_equal
from ..core.node import EMPTY, pre_order, substitute
from . import nodes as t

Path = tuple[t.For, ...]
Reduced = list[tuple[t.IterVar, n.PrimExpr]]
_NOTHING = t.Evaluate(const(0))


class _Way(NamedTuple):
    """The loops around a statement, innermost first: deep nests share them."""

    loop: t.For
    around: _Way | None


def empty_reductions(loop: t.For) -> Iterator[tuple[n.PrimExpr, t.Stmt, t.Block]]:
    """(when nothing of a reduction runs, the nest of its inits, its block), for each whose outermost loop this is.

    From `loop` to the block there may be loops and statements beside each other, and nothing else.
    """
    for way, surely, realize in _reductions(loop):
        reduced = [(one, value) for one, value in _bound(realize) if one.kind is t.IterKind.REDUCE]
        empty = any(isinstance(one.dom.extent, n.IntImm) and one.dom.extent.value <= 0 for one, _ in reduced)
        if (surely and not empty) or not _drives(loop, reduced, empty):
            continue
        chain = _loops(way)
        driving = [step for step in chain if _drives(step, reduced, empty)]
        unbound = empty and surely  # a predicate keeps all out (a split)
        if not unbound and all(_surely_runs(step) for step in driving):
            continue
        if any(_uses(step.extent, around) for step in driving for around in chain):
            continue
        never = const(True) if unbound else any_of(*(less_equal(step.extent, const(0)) for step in driving))
        yield never, _inits(realize, chain, driving), realize.block


def _reductions(loop: t.For) -> Iterator[tuple[_Way, bool, t.BlockRealize]]:
    """The blocks with an init that stand in loops and sequences alone: with these loops, and whether all surely run."""
    pending: list[tuple[t.Stmt, _Way | None, bool]] = [(loop, None, True)]
    while pending:
        stmt, way, surely = pending.pop()
        if isinstance(stmt, t.For):
            pending.append((stmt.body, _Way(stmt, way), surely and _surely_runs(stmt)))
        elif isinstance(stmt, t.SeqStmt):
            pending.extend((part, way, surely) for part in reversed(stmt.stmts))
        elif isinstance(stmt, t.BlockRealize) and stmt.block.init is not None and way is not None:
            yield way, surely, stmt


def _loops(way: _Way | None) -> Path:
    """The loops of a way, outermost first."""
    found: list[t.For] = []
    while way is not None:
        found.append(way.loop)
        way = way.around
    return tuple(reversed(found))


def _drives(loop: t.For, reduced: Reduced, empty: bool) -> bool:
    """Whether a reduction runs by this loop; one over nothing also by any that may not run."""
    return any(_uses(value, loop) for _, value in reduced) or (empty and not _surely_runs(loop))


def _inits(realize: t.BlockRealize, chain: Path, driving: list[t.For]) -> t.Stmt:
    """The init alone: over the loops that are no reduction's, and over all of an iterator that a reduction's loops move
    as well (loops that were fused)."""
    block = realize.block
    kept = [(one, value) for one, value in _bound(realize) if one.kind is not t.IterKind.REDUCE]
    fresh = {step.var: n.Var(step.var.name, step.var.dtype) for step in chain if step not in driving}
    loops = [
        step.replace(var=fresh[step.var], min=substitute(step.min, fresh), extent=substitute(step.extent, fresh))
        for step in chain
        if step not in driving
    ]
    values: list[n.PrimExpr] = []
    for one, value in kept:
        if any(_uses(value, step) for step in driving):
            var = n.Var(one.var.name, one.var.dtype)
            loops.append(t.For(var, one.dom.min, one.dom.extent, t.ForKind.SERIAL, _NOTHING))
            values.append(var)
        else:
            values.append(substitute(value, fresh))
    conditions = init_conditions(realize.predicate, chain, driving)
    own = {one.var: n.Var(one.var.name, one.var.dtype) for one, _ in kept}
    assert block.init is not None
    iterators = tuple(one.replace(var=own[one.var]) for one, _ in kept)
    writes = tuple(substitute(region, own) for region in block.writes)
    alone = t.Block(f"{block.name}_init", iterators, (), writes, (), None, substitute(block.init, own), EMPTY)
    made: t.Stmt = t.BlockRealize(tuple(values), substitute(all_of(*conditions), fresh), alone)
    for step in reversed(loops):
        made = step.replace(body=made)
    return made


def init_conditions(predicate: n.PrimExpr, chain: Sequence[t.For], driving: Sequence[t.For]) -> list[n.PrimExpr]:
    """What of a block's predicate its init asks for, with the reduction's loops at their beginnings: what speaks of
    these loops alone says which iterations there are, and not which elements."""
    begin = {step.var: step.min for step in driving}
    return [
        substitute(part, begin)
        for part in conjuncts(predicate)
        if not any(_uses(part, step) for step in driving)
        or any(_uses(part, step) for step in chain if step not in driving)
    ]


def _bound(realize: t.BlockRealize) -> list[tuple[t.IterVar, n.PrimExpr]]:
    return list(zip(realize.block.iter_vars, realize.iter_values, strict=True))


def _surely_runs(loop: t.For) -> bool:
    return isinstance(loop.extent, n.IntImm) and loop.extent.value > 0


def _uses(expr: n.PrimExpr, loop: t.For) -> bool:
    return any(part is loop.var for part in pre_order(expr))
