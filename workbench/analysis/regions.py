"""What blocks touch: access regions of a statement, and their hulls over loops.

Invariant: a hull contains every element that is touched; `Box` bounds are affine forms of what is held fixed.

    reads, writes = detect(block)                     # regions as a block declares them
    box = hull(region, site, relaxed, ranges)         # over the loops in `relaxed`
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

from ..arith import build
from ..arith import nodes as a
from ..arith.nodes import PrimExpr
from ..core.node import Node, children, substitute
from ..tir import nodes as t
from ..tir.build import point_region
from .affine import Affine, Ranges
from .tree import BlockSite, iter_ranges


class Bound(NamedTuple):
    """low ... high along one axis, inclusive."""

    low: Affine
    high: Affine

    def extent(self, ranges: Ranges) -> int | None:
        """The number of values, if it is bounded by a constant."""
        difference = self.high.minus(self.low)
        return None if difference.interval(ranges)[1] is None else (difference.interval(ranges)[1] or 0) + 1


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


def inner_ranges(body: Node) -> Ranges:
    """The ranges of loops and of blocks' iterators inside a block's body."""
    made = Ranges()
    stack: list[Node] = [body]
    while stack:
        current = stack.pop()
        if isinstance(current, t.For):
            made.enter_extent(current.var, current.min, current.extent)
        if isinstance(current, t.Block):
            for item in current.iter_vars:
                made.enter_extent(item.var, item.dom.min, item.dom.extent)
        if isinstance(current, t.Stmt):
            stack.extend(child for child in reversed(list(children(current))) if isinstance(child, t.Stmt))
    return made


def detect(block: t.Block) -> tuple[tuple[t.BufferRegion, ...], tuple[t.BufferRegion, ...]]:
    """The regions that a block reads and writes, from its body; one region for each distinct access.

    What a block with `init` reads of the elements it reduces into counts as written only.
    """
    parts = [part for part in (block.init, block.body) if part is not None]
    found = [access for part in parts for access in accesses(part)]
    inside = iter_ranges(block)
    relaxed: set[int] = set()
    for part in parts:
        own = inner_ranges(part)
        relaxed |= set(own.bounds)
        for var in own.holders:
            inside.enter(var, *own.bounds[id(var)])
    stored = [access for access in found if access.is_store]
    written = {id(access.buffer) for access in stored}
    loaded = [
        access
        for access in found
        if not access.is_store and not (block.init is not None and id(access.buffer) in written)
    ]
    forms = _Forms(inside, frozenset(relaxed)) if relaxed else _Forms.without_loops(block)
    return _regions(loaded, forms), _regions(stored, forms)


def _regions(found: Iterable[Access], forms: _Forms) -> tuple[t.BufferRegion, ...]:
    regions: dict[int, dict[Any, t.BufferRegion]] = {}
    for access in found:
        place, region = forms.region(access)
        regions.setdefault(id(access.buffer), {}).setdefault(place, region)
    return tuple(region for group in regions.values() for region in group.values())


class _Forms:
    """What is asked about the same access, index or number again and again, while a block is rewritten."""

    def __init__(self, ranges: Ranges, relaxed: frozenset[int]) -> None:
        """`ranges` are those of the variables around, `relaxed` (by identity) those that run inside."""
        self.ranges, self.relaxed = ranges, relaxed
        self._numbers: dict[Any, Any] = {}
        self._keys: dict[int, tuple[PrimExpr, Any]] = {}
        self._points: dict[tuple[int, int], tuple[Access, tuple[Any, t.BufferRegion]]] = {}

    @classmethod
    def without_loops(cls, block: t.Block) -> _Forms:
        """Those of a block without loops inside: they follow from its iterators, which stay when its body changes."""
        items = block.iter_vars
        if not items:
            return cls(iter_ranges(block), frozenset())
        known = _KEPT.get(items[0].dom)
        if known is None or [id(kept()) for kept in known[0]] != [id(item) for item in items]:
            known = _KEPT[items[0].dom] = tuple(ref(item) for item in items), cls(iter_ranges(block), frozenset())
        return known[1]

    def region(self, access: Access) -> tuple[Any, t.BufferRegion]:
        """What is accessed while the inner variables run, and a key equal for equal regions of a buffer."""
        place = id(access.buffer), id(access.indices)
        known = self._points.get(place)
        if known is None:
            region = _region_of(access, self.relaxed, self.ranges)
            key = tuple((self._key(axis.min), self._key(axis.extent)) for axis in region.region)
            known = self._points[place] = access, (key, region)
        return known[1]

    def _key(self, expr: PrimExpr) -> Any:
        if isinstance(expr, a.IntImm):
            number = (expr.value, expr.dtype)
            if number not in self._numbers:
                self._numbers[number] = Affine.of(expr, self.ranges).key
            return self._numbers[number]
        if id(expr) not in self._keys:
            self._keys[id(expr)] = expr, Affine.of(expr, self.ranges).key
        return self._keys[id(expr)][1]


_KEPT: WeakKeyDictionary[t.Range, tuple[tuple[ref[t.IterVar], ...], _Forms]] = WeakKeyDictionary()
"""Forms by the domain of a block's first iterator."""


def _region_of(access: Access, relaxed: frozenset[int], ranges: Ranges) -> t.BufferRegion:
    if not relaxed and all(index.dtype.lanes == 1 and not _has_load(index) for index in access.indices):
        return point_region(access.buffer, access.indices)
    bounds: list[t.Range] = []
    for index, extent in zip(access.indices, access.buffer.shape, strict=True):
        bounds.append(_relaxed_index(index, extent, relaxed, ranges))
    return t.BufferRegion(access.buffer, tuple(bounds))


def _relaxed_index(index: PrimExpr, extent: PrimExpr, relaxed: frozenset[int], ranges: Ranges) -> t.Range:
    if index.dtype.lanes == 1 and not _has_load(index):
        form = Affine.of(index, ranges)
        if form.variables.isdisjoint(relaxed):
            return t.Range(index, build.const(1))
        low, high = form.least(relaxed, ranges), form.greatest(relaxed, ranges)
        if low is not None and high is not None:
            length = Bound(low, high).extent(ranges)
            if length is not None:
                return t.Range(low.expr(), build.const(length))
    return t.Range(build.const(0), extent)


def _has_load(expr: PrimExpr) -> bool:
    """Whether a load, a call or a let is in an expression."""
    stack: list[Node] = [expr]
    while stack:
        current = stack.pop()
        if isinstance(current, (t.BufferLoad, a.Call, a.Let)):
            return True
        stack.extend(children(current))
    return False


def union(bounds: Sequence[Bound], ranges: Ranges) -> Bound | None:
    """The hull of several bounds whose ends can be compared; None if they cannot."""
    low, high = bounds[0]
    for other in bounds[1:]:
        chosen_low = _chosen(low, other.low, ranges)
        chosen_high = _chosen(high.times(-1), other.high.times(-1), ranges)
        if chosen_low is None or chosen_high is None:
            return None
        low, high = chosen_low, chosen_high.times(-1)
    return Bound(low, high)


def meet(one: Bound, other: Bound, ranges: Ranges) -> Bound | None:
    """What lies in both bounds; None if their ends cannot be compared."""
    low = _chosen(one.low.times(-1), other.low.times(-1), ranges)
    high = _chosen(one.high, other.high, ranges)
    return None if low is None or high is None else Bound(low.times(-1), high)


def _chosen(one: Affine, other: Affine, ranges: Ranges) -> Affine | None:
    """The smaller of two forms; None if neither is shown to be."""
    if other.minus(one).never_negative(ranges):
        return one
    if one.minus(other).never_negative(ranges):
        return other
    return None


def bound_forms(site: BlockSite, ranges: Ranges) -> dict[int, Affine]:
    """The block's iterators (by identity) as forms of the loops around it."""
    return {id(iter_var.var): Affine.of(value, ranges) for iter_var, value in site.bindings}


def hull(region: t.BufferRegion, site: BlockSite, relaxed: frozenset[int], ranges: Ranges) -> Box:
    """What a block touches of a buffer while the loops in `relaxed` (identities of variables) run through."""
    values = bound_forms(site, ranges)
    inside = ranges
    box: list[Bound | None] = []
    for axis in region.region:
        low_form = Affine.of(axis.min, _with_iters(site, inside))
        last = low_form.plus(Affine.of(axis.extent, inside)).plus(Affine.constant(-1))
        if not low_form.opaque_variables().isdisjoint(values):
            box.append(None)
            continue
        low = low_form.substituted(values, inside).least(relaxed, inside)
        high = last.substituted(values, inside).greatest(relaxed, inside)
        box.append(None if low is None or high is None else Bound(low, high))
    return tuple(box)


def _with_iters(site: BlockSite, ranges: Ranges) -> Ranges:
    made = ranges.copy()
    for iter_var in site.block.iter_vars:
        made.enter_extent(iter_var.var, iter_var.dom.min, iter_var.dom.extent)
    return made


def bound_region(region: t.BufferRegion, site: BlockSite) -> t.BufferRegion:
    """A region with the block's iterators replaced by their bindings."""
    return substitute(region, {iter_var.var: value for iter_var, value in site.bindings})
