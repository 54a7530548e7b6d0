"""Loops that were fused, where the inner size has a name: blocks as they would stand in the loops taken apart again.

    for f in range(n * m): vi = f // m; vj = f % m        # as  for q in range(n): for r in range(m): vi = q; vj = r

Digits of numbers are known to `arith.digits`; those of a size m are, once they have loops of their own.

Invariant: the block runs for the same values of its iterators, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from ..arith import build
from ..arith.forms import Form
from ..arith.nodes import FloorDiv, FloorMod, IntImm, PrimExpr, Var
from ..arith.scope import Scope
from ..core.equal import same
from ..core.node import Node, children, rewrite
from ..tir import nodes as t
from .tree import BlockSite


@dataclass(frozen=True)
class Unfused:
    """A block in loops taken apart, and what became of the loops that were fused."""

    site: BlockSite
    parts: dict[t.For, tuple[t.For, ...]]

    def loops(self, loops: Iterable[t.For]) -> tuple[t.For, ...]:
        """Loops around the block, taken apart."""
        return tuple(part for loop in loops for part in self.parts.get(loop, (loop,)))


def unfused(site: BlockSite) -> Unfused | None:
    """See the module's header; None where nothing is to be taken apart."""
    if "unfused" not in site.facts:
        site.facts["unfused"] = _made(site) if any(_has_size(loop) for loop in site.loops) else None
    return site.facts["unfused"]


def _has_size(loop: t.For) -> bool:
    return not isinstance(loop.extent, IntImm) and isinstance(loop.min, IntImm) and loop.min.value == 0


def _made(site: BlockSite) -> Unfused | None:
    parts: dict[t.For, tuple[t.For, ...]] = {}
    realize = site.realize
    for loop in filter(_has_size, site.loops):
        made: list[t.For] = []
        rest: t.For | None = loop
        while rest is not None and (pair := _pair(site.forms, rest, realize)) is not None:
            divisor, outer, inner = pair
            values = [_taken_apart(value, rest.var, divisor, outer.var, inner.var) for value in realize.iter_values]
            predicate = _taken_apart(realize.predicate, rest.var, divisor, outer.var, inner.var)
            realize = realize.replace(iter_values=tuple(values), predicate=predicate)
            made.insert(0, inner)
            rest = outer
        if made and rest is not None:
            parts[loop] = (rest, *made)
    if not parts:
        return None
    path = [step for stmt in site.path for step in (parts.get(stmt, (stmt,)) if isinstance(stmt, t.For) else (stmt,))]
    return Unfused(replace(site, realize=realize, path=tuple(path), facts={}), parts)


_PAIRS: WeakKeyDictionary[t.For, list[tuple[PrimExpr, t.For, t.For]]] = WeakKeyDictionary()
"""What loops were taken apart into, by the size that they were divided by: all blocks in a loop have the same parts."""


def _pair(scope: Scope, loop: t.For, realize: t.BlockRealize) -> tuple[PrimExpr, t.For, t.For] | None:
    """The size that a loop is divided by wherever it stands, and the two loops."""
    divisor = _divisor(loop.var, (*realize.iter_values, realize.predicate))
    if divisor is None:
        return None
    known = _PAIRS.setdefault(loop, [])
    for pair in known:
        if same(pair[0], divisor):
            return pair
    extent = _quotient(scope, loop.extent, divisor)
    if extent is None:
        return None
    inner = loop.replace(var=Var(f"{loop.var.name}_r", loop.var.dtype), extent=divisor)
    outer = loop.replace(var=Var(f"{loop.var.name}_q", loop.var.dtype), extent=extent)
    known.append((divisor, outer, inner))
    return next(pair for pair in known if same(pair[0], divisor))  # another thread's, if that came first


def _divisor(var: Var, exprs: Sequence[PrimExpr]) -> PrimExpr | None:
    """The one size, no number, by which a variable is divided wherever it stands in expressions."""
    found: list[PrimExpr] = []
    stack: list[Node] = list(exprs)
    while stack:
        current = stack.pop()
        if current is var:
            return None
        if isinstance(current, (FloorDiv, FloorMod)) and current.a is var and not isinstance(current.b, IntImm):
            found.append(current.b)
        else:
            stack.extend(children(current))
    return found[0] if found and all(same(found[0], other) for other in found) else None


def _taken_apart(expr: PrimExpr, var: Var, divisor: PrimExpr, outer: Var, inner: Var) -> PrimExpr:
    def post(node: Node) -> Node | None:
        if isinstance(node, (FloorDiv, FloorMod)) and node.a is var and same(node.b, divisor):
            return outer if isinstance(node, FloorDiv) else inner
        return None

    return rewrite(expr, post)


def _quotient(scope: Scope, extent: PrimExpr, divisor: PrimExpr) -> PrimExpr | None:
    """A product of sizes without one of them; None where it does not divide it."""
    whole, part = scope.linear(extent), scope.linear(divisor)
    if whole.offset or part.offset or len(part.terms) != 1:
        return None
    ((number, by),) = part.terms.items()
    made = Form({}, 0)
    for term, count in whole.terms.items():
        left = list(scope.atoms.table[term].factors or (term,))
        for factor in scope.atoms.table[number].factors or (number,):
            if factor not in left:
                return None
            left.remove(factor)
        if count % by:
            return None
        made = made.plus(Form({scope.atoms.monomial(tuple(left)): 1}, 0) if left else Form({}, 1), count // by)
    return scope.index(made) if made.terms else build.const(made.offset, extent.dtype)
