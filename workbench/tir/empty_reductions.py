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

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from ..arith import nodes as n
from ..arith.build import all_of, any_of, conjuncts, const, less_equal, logical_not
from ..arith.scope import Scope, variables_in
from ..core.equal import same
from ..core.node import EMPTY, Node, pre_order, rewrite, substitute
from . import nodes as t

Path = tuple[t.For, ...]
Reduced = list[tuple[t.IterVar, n.PrimExpr]]
_NOTHING = t.Evaluate(const(0))


class _Way(NamedTuple):
    """The loops around a statement, innermost first: deep nests share them."""

    loop: t.For
    around: _Way | None


def sizes_of(func: t.PrimFunc) -> frozenset[n.Var]:
    """The variables that stand still while a function runs: its sizes, and its parameters that are numbers."""
    shapes = [[*one.shape, *one.strides] for one in func.params if isinstance(one, t.Buffer)]
    sizes = (node for shape in shapes for node in pre_order(shape) if isinstance(node, n.Var))
    return frozenset((*sizes, *(one for one in func.params if isinstance(one, n.Var))))


def empty_reductions(loop: t.For, sizes: Collection[n.Var]) -> Iterator[tuple[n.PrimExpr, t.Stmt, t.Block]]:
    """(when nothing of a reduction runs, the nest of its inits, its block), for each whose outermost loop this is.

    From `loop` to the block there may be loops and statements beside each other, and nothing else.  `sizes` stand
    still while the function runs (`sizes_of`).
    """
    for way, surely, realize in _reductions(loop):
        reduced = [(one, value) for one, value in _bound(realize) if one.kind is t.IterKind.REDUCE]
        empty = any(isinstance(one.dom.extent, n.IntImm) and one.dom.extent.value <= 0 for one, _ in reduced)
        runs = surely and not empty and isinstance(realize.predicate, n.IntImm)
        if runs or not _drives(loop, reduced, empty):
            continue
        chain = _loops(way)
        driving = [step for step in chain if _drives(step, reduced, empty)]
        if any(_uses(step.extent, around) for step in driving for around in chain):
            continue
        if empty and surely:  # a predicate keeps all out (a split)
            never = [const(True)]
        else:
            never = _never(realize, driving, sizes)
        if not never:
            continue
        yield any_of(*never), _inits(realize, chain, driving, sizes), realize.block


def _never(realize: t.BlockRealize, driving: Sequence[t.For], sizes: Collection[n.Var]) -> list[n.PrimExpr]:
    """Conditions of which one holds where nothing of a reduction runs: none, where something surely does."""
    if not all(_surely_runs(step) for step in driving):
        return [less_equal(step.extent, const(0)) for step in driving]
    begin = {step.var: step.min for step in driving}
    values = _reduced_values(realize)
    parts = conjuncts(realize.predicate)
    ends = (substitute(part, begin) for part in parts if _ends_loops(part, driving, sizes, values))
    return [logical_not(part) for part in ends if not Scope().holds(part)]


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


def _inits(realize: t.BlockRealize, chain: Path, driving: list[t.For], sizes: Collection[n.Var]) -> t.Stmt:
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
    predicate = realize.predicate
    for one, value in kept:
        if any(_uses(value, step) for step in driving):
            var = n.Var(one.var.name, one.var.dtype)
            loops.append(t.For(var, one.dom.min, one.dom.extent, t.ForKind.SERIAL, _NOTHING))
            values.append(var)
            predicate = rewrite(predicate, partial(_instead, value, var))  # f // 16 < 3 is about the element, too
        else:
            values.append(substitute(value, fresh))
    if all(_surely_runs(step) for step in driving):
        conditions = init_conditions(predicate, driving, sizes, _reduced_values(realize))
    else:  # there are no iterations: what tells them apart does not matter
        begin = {step.var: step.min for step in driving}
        of_elements = (part for part in conjuncts(predicate) if not _speaks_of_loops(part, driving, sizes))
        conditions = [substitute(part, begin) for part in of_elements]
    own = {one.var: n.Var(one.var.name, one.var.dtype) for one, _ in kept}
    assert block.init is not None
    iterators = tuple(one.replace(var=own[one.var]) for one, _ in kept)
    writes = tuple(substitute(region, own) for region in block.writes)
    alone = t.Block(f"{block.name}_init", iterators, (), writes, (), None, substitute(block.init, own), EMPTY)
    made: t.Stmt = t.BlockRealize(tuple(values), substitute(all_of(*conditions), fresh), alone)
    for step in reversed(loops):
        made = step.replace(body=made)
    return made


def _instead(value: n.PrimExpr, var: n.Var, node: Node) -> Node | None:
    return var if isinstance(node, n.PrimExpr) and same(node, value) else None


def init_conditions(
    predicate: n.PrimExpr, driving: Sequence[t.For], sizes: Collection[n.Var], values: Sequence[n.PrimExpr] = ()
) -> list[n.PrimExpr]:
    """What of a block's predicate its init asks for, with the reduction's loops at their beginnings: what only says
    where these loops end, or the `values` of reduction iterators, says which iterations there are, and not which
    elements."""
    begin = {step.var: step.min for step in driving}
    return [substitute(part, begin) for part in conjuncts(predicate) if not _ends_loops(part, driving, sizes, values)]


def _reduced_values(realize: t.BlockRealize) -> list[n.PrimExpr]:
    return [value for one, value in _bound(realize) if one.kind is t.IterKind.REDUCE]


def _speaks_of_loops(part: n.PrimExpr, driving: Sequence[t.For], sizes: Collection[n.Var]) -> bool:
    """Whether a condition is one on these loops, and on nothing else that moves."""
    loops, used = {step.var for step in driving}, variables_in(part)
    return not used.isdisjoint(loops) and used <= {*loops, *sizes}


def _ends_loops(
    part: n.PrimExpr, driving: Sequence[t.For], sizes: Collection[n.Var], values: Sequence[n.PrimExpr]
) -> bool:
    """Whether a condition speaks of loops and sizes alone, and once it is false stays false: ``k0 * 16 + k1 < n``.

    Or it says so of one of `values`: ``f % 16 < n``, of a loop over elements as well.
    """
    if not _speaks_of_loops(part, driving, sizes):
        return False
    scope = Scope()
    numbers = {scope.enter(step.var, step.min, step.extent) for step in driving}
    limits = scope.limits(part)
    ended = {scope.parted(scope.linear(value), numbers)[0].key for value in values}
    return bool(limits) and all(
        moving.key in ended or all(atom in numbers and factor > 0 for atom, factor in moving.terms.items())
        for moving in (scope.parted(limit, numbers)[0] for limit in limits)
    )


def _bound(realize: t.BlockRealize) -> list[tuple[t.IterVar, n.PrimExpr]]:
    return list(zip(realize.block.iter_vars, realize.iter_values, strict=True))


def _surely_runs(loop: t.For) -> bool:
    return isinstance(loop.extent, n.IntImm) and loop.extent.value > 0


def _uses(expr: n.PrimExpr, loop: t.For) -> bool:
    return any(part is loop.var for part in pre_order(expr))
