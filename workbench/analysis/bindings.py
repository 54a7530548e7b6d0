"""The map from the loops around a block to its iterators: whether it is injective, and whether it is onto the domain.

    facts = binding_facts(site)
    facts.injective, facts.covers, facts.guards_only

Invariant: answers are sound, not complete: False means "not shown".  Loops of symbolic extent may have no iterations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from ..arith.digits import Digits
from ..arith.forms import Form
from ..arith.nodes import IntImm, Var
from ..arith.scope import Scope, number_of
from ..core.dtype import DataType
from ..core.per_node import per_node
from ..tir import nodes as t
from ..tir.build import point_region
from .accesses import Access, Accesses, Condition
from .box_forms import Box, Span, holds
from .filled_boxes import filled
from .tree import BlockSite, extent_of, has_only_stores, reads_beside_sums
from .unfused import unfused


class _Bound:
    """The forms of a block's bindings."""

    def __init__(self, site: BlockSite) -> None:
        self.site, self.accesses = site, Accesses.around(site)
        self.scope = self.accesses.scope
        indices = t.Buffer(site.name, tuple(item.dom.extent for item in site.block.iter_vars), DataType("int64"))
        self.own = self.accesses.here(point_region(indices, [item.var for item in site.block.iter_vars]))
        """The access of the block to its own iterators, as if these were indices."""

    def atoms(self, loops: Sequence[t.For]) -> frozenset[int]:
        return frozenset(self.scope.atoms.variable_number(loop.var) for loop in loops)

    def injective(self, loops: Sequence[t.For]) -> bool:
        values = [form for form in self.own.forms if form is not None]
        return self.accesses.is_clear and Digits(self.scope, values, self.atoms(loops)).injective

    def covers(self, loops: Sequence[t.For]) -> bool:
        extents = (item.dom.extent for item in self.site.block.iter_vars)
        if any(isinstance(extent, IntImm) and extent.value == 0 for extent in extents):
            return True  # there is nothing to run for
        ends = [(item.begin, item.last) for item in self.own.iterators]
        domain: Box = tuple(Span((low,), (high,)) for low, high in ends if low is not None and high is not None)
        still = [one for one in self.own.conditions if one.variables.isdisjoint(self.atoms(loops))]
        made = self.filled(self.own, loops) if self.holds_in_domain(still) else None
        return made is not None and len(domain) == len(ends) and holds(self.scope, made, domain)

    def filled(self, access: Access, loops: Sequence[t.For]) -> Box | None:
        if not self.accesses.is_clear or any(extent_of(loop) == 0 for loop in loops):
            return None
        return filled(self.accesses, access, self.atoms(loops))

    def holds_in_domain(self, conditions: Sequence[Condition]) -> bool:
        """Whether conditions hold wherever the iterators are in their domains."""
        domain: list[Form] = []
        for item in self.own.iterators:
            if item.value is not None:
                domain += [item.value.plus(item.last, -1)] if item.last is not None else []
                domain += [item.begin.plus(item.value, -1)] if item.begin is not None else []
        return all(self.scope.follows(one.limits, domain) for one in conditions)

    @cached_property
    def guards_only(self) -> bool:
        return self.holds_in_domain(self.own.conditions)


class BindingFacts:
    """What is shown of a block's bindings while some loops run, each found out when it is asked for."""

    def __init__(self, bound: _Bound, loops: Sequence[t.For]) -> None:
        self._bound, self._loops = bound, loops

    @cached_property
    def injective(self) -> bool:
        """No instance of the block is run twice (while outer loops stand still)."""
        return self._bound.injective(self._loops)

    @cached_property
    def covers(self) -> bool:
        """Every value of the iterators' domains is run."""
        return self._bound.covers(self._loops)

    @property
    def guards_only(self) -> bool:
        """The predicate says no more than that the iterators stay in their domains."""
        return self._bound.guards_only


def _bound(site: BlockSite) -> _Bound:
    if "bound" not in site.facts:
        site.facts["bound"] = _Bound(site)
    return site.facts["bound"]


def binding_facts(site: BlockSite, inner: Sequence[t.For] | None = None) -> BindingFacts:
    """What is shown of the bindings of a block while the loops `inner` (default: all around it) run.

    `covers` is about the whole domain, `injective` about the instances run while the other loops stand still.
    """
    loops = site.loops if inner is None else tuple(inner)
    apart = unfused(site)
    parts = None if apart is None else apart.loops(loops)
    if apart is not None and parts is not None:
        return binding_facts(apart.site, parts)
    key = ("bindings", *map(id, loops))
    if key not in site.facts:
        site.facts[key] = BindingFacts(_bound(site), loops)
    return site.facts[key]


def run_box(site: BlockSite) -> tuple[tuple[Form, Form], ...] | None:
    """The least and the greatest value of each iterator, where a block runs for all values between, and no others.

    for i in range(100): where i < 57: vi = axis(64, i)         # 0 ... 56
    """
    apart = unfused(site)
    bound = _bound(site if apart is None else apart.site)
    loops = bound.site.loops
    still = [one for one in bound.own.conditions if one.variables.isdisjoint(bound.atoms(loops))]
    made = bound.filled(bound.own, loops) if not still else None
    if made is None or any(len(span.lows) != 1 or len(span.highs) != 1 for span in made):
        return None
    return tuple((span.lows[0], span.highs[0]) for span in made)


def writes_box(site: BlockSite, region: t.BufferRegion, inner: Sequence[t.For]) -> bool:
    """True if, while the loops `inner` run, a block writes every element of the hull of `region` (in its domain)."""
    apart = unfused(site)
    parts = None if apart is None else apart.loops(inner)
    if apart is not None and parts is not None:
        return writes_box(apart.site, region, parts)
    bound = _bound(site)
    made = bound.filled(bound.accesses.here(region), inner) if writes_all(site.block) else None
    return made is not None and bound.guards_only


@per_node
def writes_all(block: t.Block) -> bool:
    """Whether a block surely writes all that it declares to, each time it runs, or when its init does.

    if A[vi] > 5: C[vi] = A[vi]             # does not
    """
    return has_only_stores(block) or any(
        all(_is_written(part, region) for region in block.writes)
        for part in (block.body, block.init) if part is not None
    )  # fmt: skip


def _is_written(body: t.Stmt, region: t.BufferRegion) -> bool:
    accesses = Accesses(body)
    scope = accesses.scope
    wanted: list[Span] = []
    for axis in region.region:
        low, length = scope.form(axis.min), scope.form(axis.extent)
        if low is None or length is None:
            return False
        wanted.append(Span((low,), (low.plus(length).shifted(-1),)))
    for write in accesses.of(region.buffer, True):
        if not write.conditions:
            box = filled(accesses, write, frozenset(accesses.atoms[loop] for loop in write.loops))
            if box is not None and holds(scope, box, tuple(wanted)):
                return True
    return False


def guards_only(site: BlockSite) -> bool:
    """True if every conjunct of the predicate holds wherever the iterators are in their domains."""
    apart = unfused(site)
    return _bound(site if apart is None else apart.site).guards_only


def writes_once(block: t.Block, held: Iterable[Var] = ()) -> bool:
    """True if a block writes one element, and two instances with different spatial iterators never the same one, while
    the variables `held` stand still."""
    lengths = (number_of(axis.extent) for region in block.writes for axis in region.region)
    return all(length == 1 for length in lengths) and writes_apart(block, held)


def starts_apart(block: t.Block, held: Iterable[Var] = ()) -> bool:
    """Whether the sums of a block have nothing to do with one another, so that all may start before one goes on.

    B[vi // 2] = B[vi // 2] + A[vi, vk]     # not: init for vi = 1 would wipe out the sum for vi = 0, or be added to
    """
    written = [region.buffer for region in block.writes]
    reads = (region.buffer for region in reads_beside_sums(block))
    return writes_apart(block, held) and not any(buffer is other for buffer in reads for other in written)


def writes_apart(block: t.Block, held: Iterable[Var] = ()) -> bool:
    """True if what two instances of a block with different spatial iterators write has nothing in common, while the
    variables `held` stand still."""
    scope = Scope()
    still = scope.numbers(held)
    atoms = {item.var: scope.enter(item.var, item.dom.min, item.dom.extent) for item in block.iter_vars}
    own = {atoms[item.var] for item in block.iter_vars if item.kind is t.IterKind.SPATIAL}
    for region in block.writes:
        forms: list[Form] = []
        for axis in region.region:
            form, length = scope.form(axis.min), number_of(axis.extent)
            if form is None or not scope.variables_of(form) <= own | still:
                return False
            moving, _ = scope.parted(form, own)
            if moving.terms and (not length or moving.common_divisor() % length):
                return False
            forms.append(scope.atoms.divided(moving, length) if moving.terms and length else moving)
        if not Digits(scope, forms, own).injective:
            return False
    return bool(block.writes)
