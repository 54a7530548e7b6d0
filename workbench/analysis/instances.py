"""How often each statement of a lowered function runs.

Loops that no condition and no loop bound mentions are multiplied; the others are enumerated, so that the counts are
exact for tiles with a rest, triangles and padding.  Beyond a million combinations, and where a condition depends on
data, the count is an upper bound and says so.

    for found in instances(plain(matmul)):
        found.stmt, found.count, found.exact
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..arith.nodes import PrimExpr, Var, literal
from ..core.errors import WorkbenchError
from ..core.node import pre_order
from ..tir import nodes as t
from ..tir.array_values import Loader, refuse_load, values
from .programs import constant
from .sites import Guard

_ENUMERATED = 1_000_000


class Instances(NamedTuple):
    """A statement that computes or touches something, with its surroundings."""

    stmt: t.Stmt
    loops: tuple[t.For, ...]
    guards: tuple[Guard, ...]
    count: int
    exact: bool


def instances(func: t.PrimFunc, load: Loader = refuse_load) -> list[Instances]:
    """The statements of a lowered function, in the order of the text; `load` knows what index buffers hold."""
    found: list[Instances] = []
    stack: list[tuple[t.Stmt, tuple[t.For, ...], tuple[Guard, ...]]] = [(func.body, (), ())]
    while stack:
        stmt, loops, guards = stack.pop()
        if isinstance(stmt, t.SeqStmt):
            stack.extend((inner, loops, guards) for inner in reversed(stmt.stmts))
            continue
        if isinstance(stmt, t.For):
            stack.append((stmt.body, (*loops, stmt), guards))
            continue
        if not isinstance(stmt, t.AllocBuffer):
            found.append(Instances(stmt, loops, guards, *counted(loops, guards, load)))
        if isinstance(stmt, t.IfThenElse):
            if stmt.else_case is not None:
                stack.append((stmt.else_case, loops, (*guards, (stmt.condition, False))))
            stack.append((stmt.then_case, loops, (*guards, (stmt.condition, True))))
        elif isinstance(stmt, (t.LetStmt, t.AllocBuffer, t.While)):
            stack.append((stmt.body, loops, guards))
    return found


def counted(loops: tuple[t.For, ...], guards: tuple[Guard, ...], load: Loader = refuse_load) -> tuple[int, bool]:
    """(how many iterations of `loops` fulfil `guards`, whether that is exact)."""
    own = {id(loop.var) for loop in loops}
    named = set[int]()
    for condition, _ in guards:
        named |= variables_in(condition) & own
    bounds = {id(loop.var): (variables_in(loop.min) | variables_in(loop.extent)) & own for loop in loops}
    for loop in reversed(loops):
        if bounds[id(loop.var)]:
            named |= {id(loop.var)} | bounds[id(loop.var)]
    free = prod(max(0, constant(loop.extent)) for loop in loops if id(loop.var) not in named)
    tied = tuple(loop for loop in loops if id(loop.var) in named)
    if not tied:
        return (free, True) if all(_known(guard, load) for guard in guards) else (free, False)
    grid = enumerate_loops(tied)
    if grid is None:
        return free * prod(max(0, literal(loop.extent, 1)) for loop in tied), False
    count, known = grid
    holds = np.ones(count, bool)
    exact = True
    for condition, wanted in guards:
        try:
            found = np.asarray(values(condition, known, load)) == wanted
            lanes = found.any(axis=-1) if condition.dtype.lanes > 1 else found  # a masked vector runs if one lane does
            holds &= np.broadcast_to(lanes, (count,))
        except WorkbenchError:
            exact = False
    return free * int(holds.sum()), exact


def _known(guard: Guard, load: Loader) -> bool:
    try:
        found = np.asarray(values(guard[0], {}, load)) == guard[1]
        return bool(found.any())  # a masked vector runs if one of its lanes does
    except WorkbenchError:
        return False


def variables_in(expr: PrimExpr) -> set[int]:
    """The variables of an expression, by identity."""
    return {id(node) for node in pre_order(expr) if isinstance(node, Var)}


def enumerate_loops(
    loops: tuple[t.For, ...], limit: int = _ENUMERATED, known: Mapping[int, Any] | None = None
) -> tuple[int, dict[int, Any]] | None:
    """(number of iterations, each variable's value in all of them, in the order of running); None beyond `limit`.

    `known` are values of other variables, which are kept.  Raises `WorkbenchError` E-ANALYSIS-DATA if a bound depends
    on something else.
    """
    count = 1
    found: dict[int, Any] = dict(known or {})
    for loop in loops:
        low, extent = values(loop.min, found), values(loop.extent, found)
        extents = np.maximum(np.broadcast_to(np.asarray(extent, np.int64), (count,)), 0)
        total = int(extents.sum())
        if total > limit:
            return None
        found = {key: np.repeat(value, extents) if np.ndim(value) else value for key, value in found.items()}
        ends = np.cumsum(extents)
        steps = np.arange(total) - np.repeat(ends - extents, extents)
        found[id(loop.var)] = steps + np.repeat(np.broadcast_to(np.asarray(low, np.int64), (count,)), extents)
        count = total
    return count, found
