"""How the loops around a block run it: which of them reduce, where a sum starts, and what runs more than once."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..arith.build import conjuncts
from ..arith.scope import variables_in
from ..core.node import substitute
from ..tir import nodes as t
from . import dependence
from .bindings import binding_facts, guards_only
from .isl_text import NotAffine
from .tree import BlockSite
from .unfused import unfused


def reduce_variables(site: BlockSite) -> frozenset[int]:
    """Loop variables (identities) in the bindings of reduction iterators; sizes that stand there are none."""
    return _variables(site, (t.IterKind.REDUCE,))


def spatial_variables(site: BlockSite) -> frozenset[int]:
    """Loop variables (identities) in the bindings of the other iterators."""
    return _variables(site, set(t.IterKind) - {t.IterKind.REDUCE})


def _variables(site: BlockSite, kinds: Collection[t.IterKind]) -> frozenset[int]:
    bound = {item.var for stmt in site.path if isinstance(stmt, t.Block) for item in stmt.iter_vars}
    bound |= {stmt.var for stmt in site.path if isinstance(stmt, (t.For, t.LetStmt))}
    values = (value for iter_var, value in site.bindings if iter_var.kind in kinds)
    return frozenset(id(var) for value in values for var in variables_in(value) & bound)


def steps_through_both(site: BlockSite, loops: Sequence[t.For]) -> bool:
    """Whether one of `loops` steps through spatial and reduction iterators of a block at once (a fused loop)."""
    mixed = reduce_variables(site) & spatial_variables(site)
    return any(id(loop.var) in mixed for loop in loops)


def initialises_first(site: BlockSite) -> bool:
    """Whether the reduction iterators are at the beginning of their domains, where `init` runs, when their loops are.

    for k in range(1, n): vk = k, or vk = n - 1 - k        # not: init does not run, or wipes out what was added
    """
    apart = unfused(site)
    site = site if apart is None else apart.site
    scope, reduced = site.forms, reduce_variables(site)
    starts = {loop.var: loop.min for loop in site.loops if id(loop.var) in reduced}
    for iter_var, value in site.bindings:
        begin = scope.linear(substitute(value, starts))
        if iter_var.kind is t.IterKind.REDUCE and not begin.same_as(scope.linear(iter_var.dom.min)):
            return False
    if guards_only(site):
        return True
    for condition in conjuncts(site.realize.predicate):
        if not scope.holds(substitute(condition, starts)):
            if any(id(var) in reduced for var in variables_in(condition)):
                return False
    return True


def runs_once(site: BlockSite, inner: Sequence[t.For] | None = None) -> bool:
    """Whether each instance of a block runs once while the loops `inner` (default: all around it) run."""
    if binding_facts(site, inner).injective:
        return True
    key = ("runs once", *(() if inner is None else map(id, inner)))
    if key not in site.facts:
        try:
            site.facts[key] = dependence.runs_once(site, site.loops if inner is None else inner)
        except NotAffine:
            site.facts[key] = False
    return bool(site.facts[key])


def adds_once(site: BlockSite) -> bool:
    """Whether a reduction adds each value once after it has started; at all, if it has no init.

    for t, i, k: C[vi] += A[vi, vk]         # once for each t, as init runs again; for i, k, t: several times
    """
    inner = site.loops
    if site.block.init is not None:
        reduced = reduce_variables(site)
        inner = inner[next((at for at, loop in enumerate(inner) if id(loop.var) in reduced), len(inner)) :]
    return runs_once(site, inner)
