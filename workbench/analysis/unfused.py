"""Loops that were fused, where the inner size has a name: blocks as they would stand in the loops taken apart again.

    for f in range(n * m): vi = f // m; vj = f % m        # as  for q in range(n): for r in range(m): vi = q; vj = r

Digits of numbers are known to `arith.digits`; those of a size m are, once they have loops of their own.  Where the
fused loop was split again, the loops that it was split into are put together first.

Invariant: the block runs for the same values of its iterators, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

from ..arith import build
from ..arith.build import conjuncts
from ..arith.digits import Digits, Number
from ..arith.forms import Form
from ..arith.nodes import LT, FloorDiv, FloorMod, IntImm, PrimExpr, Var
from ..arith.scope import Scope, variables_in
from ..core.equal import same
from ..core.node import Node, children, pre_order, rewrite
from ..tir import nodes as t
from .tree import BlockSite


@dataclass(frozen=True)
class Unfused:
    """A block in loops taken apart, and what became of the loops that were fused."""

    site: BlockSite
    parts: dict[tuple[t.For, ...], tuple[t.For, ...]]
    """Loops that stand for one fused loop, the outermost first, and what it is taken apart into."""

    def loops(self, loops: Sequence[t.For]) -> tuple[t.For, ...] | None:
        """Loops around the block, taken apart; None where they are some of those that stand for one loop, not all."""
        if any(0 < sum(loop in loops for loop in fused) < len(fused) for fused in self.parts):
            return None
        return self.with_all(loops)

    def with_all(self, loops: Sequence[t.For]) -> tuple[t.For, ...]:
        """Loops around the block, taken apart, where one that stands for a fused loop brings the others along."""
        whole = {loop: parts for fused, parts in self.parts.items() for loop in fused}
        return tuple(dict.fromkeys(part for loop in loops for part in whole.get(loop, (loop,))))


def unfused(site: BlockSite) -> Unfused | None:
    """See the module's header; None where nothing is to be taken apart."""
    if "unfused" not in site.facts:
        site.facts["unfused"] = _made(site) if any(_has_size(loop) for loop in site.loops) else None
    return site.facts["unfused"]


def _has_size(loop: t.For) -> bool:
    return not isinstance(loop.extent, IntImm) and isinstance(loop.min, IntImm) and loop.min.value == 0


def _made(site: BlockSite) -> Unfused | None:
    """The block in its loops taken apart, those that were split put together before."""
    whole, split = site, dict[t.For, tuple[t.For, ...]]()
    while (joined := _joined(whole)) is not None:
        whole = joined.site
        split[joined.loop] = joined.loops
    found = _apart(whole)
    if found is None or not split.keys() <= {loop for fused in found.parts for loop in fused}:
        split, found = {}, _apart(site)
    if found is None:
        return None
    parts = {split.get(fused[0], fused): parts for fused, parts in found.parts.items()}
    if any(loop in site.used_loops for fused in parts for loop in fused):
        return None
    return Unfused(found.site, parts)


def _apart(site: BlockSite) -> Unfused | None:
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
    made_site = replace(site, realize=realize, path=tuple(path), facts={})
    return Unfused(made_site, {(loop,): apart for loop, apart in parts.items()})


# --- loops that a fused one was split into ------------------------------------------------------------------------


class _Joined(NamedTuple):
    site: BlockSite
    loop: t.For
    loops: tuple[t.For, ...]


_WHOLE: WeakKeyDictionary[t.For, list[tuple[PrimExpr, PrimExpr, t.For]]] = WeakKeyDictionary()
"""The loops that innermost loops are parts of, by the sum and its limit: all blocks in them have the same loop."""


def _joined(site: BlockSite) -> _Joined | None:
    """A block in one loop for several that are read only as their sum, which is divided by a size.

    for o in range((n * m + 15) // 16): for i in range(16): vi = (o * 16 + i) // m, where o * 16 + i < n * m
    """
    scope = site.forms
    for value in site.realize.iter_values:
        for node in pre_order(value):
            if isinstance(node, (FloorDiv, FloorMod)) and not isinstance(node.b, IntImm):
                number = Digits(scope, (), site.atoms).number(scope.linear(node.a))
                made = _in_one_loop(site, node.a, number) if number is not None else None
                if made is not None:
                    return made
    return None


def _in_one_loop(site: BlockSite, total: PrimExpr, number: Number) -> _Joined | None:
    scope, form = site.forms, site.forms.linear(total)
    chain = tuple(loop for loop in site.loops if scope.number_of(loop.var) in number.loops)
    at = site.path.index(chain[0])
    if len(chain) < 2 or site.path[at : at + len(chain)] != chain or number.still.constant != 0:
        return None
    if [scope.number_of(loop.var) for loop in reversed(chain)] != [*number.loops] or number.values is None:
        return None
    conditions = conjuncts(site.realize.predicate)
    ends = [one for one in conditions if isinstance(one, LT) and scope.linear(one.a).same_as(form)]
    limit = ends[0].b if ends else scope.index(number.values)
    if limit.dtype != total.dtype or not scope.at_most(scope.linear(limit), number.values):
        return None
    known = _WHOLE.setdefault(chain[-1], [])
    if not any(same(total, one) and same(limit, other) for one, other, _ in known):
        var = Var(f"{chain[0].var.name}_whole", total.dtype)
        known.append((total, limit, chain[0].replace(var=var, extent=limit)))
    loop = next(whole for one, other, whole in known if same(total, one) and same(limit, other))

    def post(node: Node) -> Node | None:
        if isinstance(node, (FloorDiv, FloorMod)) and scope.linear(node.a).same_as(form):
            return node.replace(a=loop.var)
        return None

    values = tuple(rewrite(value, post) for value in site.realize.iter_values)
    predicate = rewrite(build.all_of(*(one for one in conditions if one not in ends[:1])), post)
    if any(variables_in(expr) & {loop.var for loop in chain} for expr in (*values, predicate, limit)):
        return None
    realize = site.realize.replace(iter_values=values, predicate=predicate)
    path = (*site.path[:at], loop, *site.path[at + len(chain) :])
    return _Joined(replace(site, realize=realize, path=path, facts={}), loop, chain)


# --- loops taken apart --------------------------------------------------------------------------------------------


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
