"""What blocks touch: access regions of a statement, and their hulls over loops.

Invariant: a hull contains every element that is touched; its ends are forms of what is held fixed.

    reads, writes = detect(block)                     # regions as a block declares them
    box = hull(region, site, site.loops)              # over the loops that run
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

from ..arith import build
from ..arith import nodes as a
from ..arith.forms import FINITE, Form
from ..arith.nodes import PrimExpr
from ..arith.scope import Scope
from ..core.node import Node, children, pre_order
from ..tir import nodes as t
from ..tir.build import point_region
from .tree import BlockSite, domains_of


class Bound(NamedTuple):
    """low ... high along one axis, inclusive."""

    low: Form
    high: Form

    def extent(self, scope: Scope) -> int | None:
        """The number of values, if it is bounded by a constant."""
        most = scope.atoms.bound(self.high.minus(self.low)).high
        return most + 1 if most < FINITE else None


Box = tuple[Bound | None, ...]
"""One bound an axis; None where nothing is known."""


class Access(NamedTuple):
    """One load or store of a body."""

    buffer: t.Buffer
    indices: tuple[PrimExpr, ...]
    is_store: bool


def accesses(body: Node) -> list[Access]:
    """All loads and stores under a statement or expression, in order of first appearance."""
    found: list[Access] = []
    seen: set[int] = set()
    stack: list[Node] = [body]
    while stack:
        current = stack.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, t.BufferLoad):
            found.append(Access(current.buffer, current.indices, False))
        elif isinstance(current, t.BufferStore):
            found.append(Access(current.buffer, current.indices, True))
        if not isinstance(current, (a.Var, t.Buffer)):
            stack.extend(reversed(list(children(current))))
    return found


def enter_inner(scope: Scope, body: Node) -> frozenset[int]:
    """Enter the loops and the blocks' iterators inside a block's body; their atoms."""
    found: set[int] = set()
    for current in pre_order(body, t.Stmt):
        if isinstance(current, t.For):
            found.add(scope.enter(current.var, current.min, current.extent))
        if isinstance(current, t.Block):
            found |= {scope.enter(item.var, item.dom.min, item.dom.extent) for item in current.iter_vars}
    return frozenset(found)


def detect(block: t.Block) -> tuple[tuple[t.BufferRegion, ...], tuple[t.BufferRegion, ...]]:
    """The regions that a block reads and writes, from its body; one region for each distinct access.

    What a block with `init` reads of the elements it reduces into counts as written only.
    """
    parts = [part for part in (block.init, block.body) if part is not None]
    found = [access for part in parts for access in accesses(part)]
    inside = domains_of(block)
    relaxed = frozenset[int]().union(*(enter_inner(inside, part) for part in parts))
    stored = [access for access in found if access.is_store]
    written = {id(access.buffer) for access in stored}
    loaded = [
        access
        for access in found
        if not access.is_store and not (block.init is not None and id(access.buffer) in written)
    ]
    forms = _Forms(inside, relaxed) if relaxed else _Forms.without_loops(block)
    return _regions(loaded, forms), _regions(stored, forms)


def _regions(found: Iterable[Access], forms: _Forms) -> tuple[t.BufferRegion, ...]:
    regions: dict[int, dict[Any, t.BufferRegion]] = {}
    for access in found:
        place, region = forms.region(access)
        regions.setdefault(id(access.buffer), {}).setdefault(place, region)
    return tuple(region for group in regions.values() for region in group.values())


class _Forms:
    """What is asked about the same access, index or number again and again, while a block is rewritten."""

    def __init__(self, scope: Scope, relaxed: frozenset[int]) -> None:
        """`scope` knows the variables around and inside, of which `relaxed` (atoms) run inside."""
        self.scope, self.relaxed = scope, relaxed
        self._keys: dict[int, tuple[PrimExpr, Any]] = {}
        self._points: dict[tuple[int, int], tuple[Access, tuple[Any, t.BufferRegion]]] = {}

    @classmethod
    def without_loops(cls, block: t.Block) -> _Forms:
        """Those of a block without loops inside: they follow from its iterators, which stay when its body changes."""
        items = block.iter_vars
        if not items:
            return cls(domains_of(block), frozenset())
        known = _KEPT.get(items[0].dom)
        if known is None or [id(kept()) for kept in known[0]] != [id(item) for item in items]:
            known = _KEPT[items[0].dom] = tuple(ref(item) for item in items), cls(domains_of(block), frozenset())
        return known[1]

    def region(self, access: Access) -> tuple[Any, t.BufferRegion]:
        """What is accessed while the inner variables run, and a key equal for equal regions of a buffer."""
        place = id(access.buffer), id(access.indices)
        known = self._points.get(place)
        if known is None:
            region = _region_of(access, self.relaxed, self.scope)
            key = tuple((self._key(axis.min), self._key(axis.extent)) for axis in region.region)
            known = self._points[place] = access, (key, region)
        return known[1]

    def _key(self, expr: PrimExpr) -> Any:
        if isinstance(expr, a.IntImm):
            return expr.value, expr.dtype
        if id(expr) not in self._keys:
            self._keys[id(expr)] = expr, self.scope.linear(expr).key
        return self._keys[id(expr)][1]


_KEPT: WeakKeyDictionary[t.Range, tuple[tuple[ref[t.IterVar], ...], _Forms]] = WeakKeyDictionary()
"""Forms by the domain of a block's first iterator."""


def _region_of(access: Access, relaxed: frozenset[int], scope: Scope) -> t.BufferRegion:
    if not relaxed and all(index.dtype.lanes == 1 and not _has_load(index) for index in access.indices):
        return point_region(access.buffer, access.indices)
    bounds: list[t.Range] = []
    for index, extent in zip(access.indices, access.buffer.shape, strict=True):
        bounds.append(_relaxed_index(index, extent, relaxed, scope))
    return t.BufferRegion(access.buffer, tuple(bounds))


def _relaxed_index(index: PrimExpr, extent: PrimExpr, relaxed: frozenset[int], scope: Scope) -> t.Range:
    if index.dtype.lanes == 1 and not _has_load(index):
        form = scope.linear(index)
        if not scope.moves(form, relaxed):
            return t.Range(index, build.const(1))
        low, high = scope.ends(form, relaxed)
        if low is not None and high is not None:
            length = Bound(low, high).extent(scope)
            if length is not None:
                return t.Range(scope.index(low), build.const(length))
    return t.Range(build.const(0), extent)


def _has_load(expr: PrimExpr) -> bool:
    """Whether a load, a call or a let is in an expression."""
    return any(isinstance(node, (t.BufferLoad, a.Call, a.Let)) for node in pre_order(expr))


def union(bounds: Sequence[Bound], scope: Scope) -> Bound | None:
    """The hull of several bounds whose ends can be compared; None if they cannot."""
    low, high = bounds[0]
    for other in bounds[1:]:
        chosen_low, chosen_high = _smaller(low, other.low, scope), _greater(high, other.high, scope)
        if chosen_low is None or chosen_high is None:
            return None
        low, high = chosen_low, chosen_high
    return Bound(low, high)


def meet(one: Bound, other: Bound, scope: Scope) -> Bound | None:
    """What lies in both bounds; None if their ends cannot be compared."""
    low, high = _greater(one.low, other.low, scope), _smaller(one.high, other.high, scope)
    return None if low is None or high is None else Bound(low, high)


def _smaller(one: Form, other: Form, scope: Scope) -> Form | None:
    """The smaller of two forms; None if neither is shown to be."""
    return one if scope.at_most(one, other) else other if scope.at_most(other, one) else None


def _greater(one: Form, other: Form, scope: Scope) -> Form | None:
    return one if scope.at_most(other, one) else other if scope.at_most(one, other) else None


def hull(region: t.BufferRegion, site: BlockSite, loops: Iterable[t.For]) -> Box:
    """What a block touches of a buffer while `loops` run through."""
    scope, own = site.forms, site.forms.numbers(loop.var for loop in loops)
    box: list[Bound | None] = []
    for axis in region.region:
        first = site.over_loops(axis.min)
        low, high = scope.ends(first, own)
        if isinstance(axis.extent, a.IntImm):
            high = high.shifted(axis.extent.value - 1) if high is not None else None
        else:
            high = scope.ends(site.over_loops(build.subtract(build.add(axis.min, axis.extent), 1)), own)[1]
        box.append(None if low is None or high is None else Bound(low, high))
    return tuple(box)


def hull_in_domain(region: t.BufferRegion, site: BlockSite, loops: Iterable[t.For]) -> Box:
    """What a block touches while `loops` run through, where its iterators are in their domains.

    Loops may reach beyond these behind a predicate: ``vi = i - 1`` for i in 0 ... 5, where 0 <= i - 1 < 4.
    """
    scope, found = site.forms, list[Bound | None]()
    for axis, bound in zip(region.region, hull(region, site, loops), strict=True):
        low, high = scope.ends(scope.linear(axis.min), site.iterators)
        length = scope.linear(axis.extent).constant
        if bound is None or low is None or high is None or length is None:
            found.append(None)
        else:
            found.append(meet(bound, Bound(low, high.shifted(length - 1)), scope))
    return tuple(found)
