"""Whether the loops around a block run through the domains of its iterators: by its bindings, else exactly by isl.

    for k, i in grid(3, 7): where 2 <= i + k < 7:  vi = i + k - 2; vk = k        # all of vi in 0 ... 4, vk in 0 ... 2

Invariant: True is proof.  Conditions that are not affine prove nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..arith.nodes import IntImm, PrimExpr, Var
from ..arith.scope import variables_in
from ..tir import nodes as t
from .bindings import binding_facts, writes_all
from .dependence import site_writer
from .flow import guarded
from .flow_model import running_conditions
from .isl_text import NotAffine, bounds, relation, tuple_of
from .tree import BlockSite
from .verdict import Verdict, exactly, proven, undecided

Bindings = Sequence[tuple[t.IterVar, PrimExpr]]


@dataclass(frozen=True)
class LeftOut:
    """Values of a block's iterators, within their domains, for which it does not run, and of the sizes in them."""

    at: dict[Var, int]

    @property
    def is_certain(self) -> bool:
        """All conditions are affine, else nothing is said."""
        return True

    def text(self) -> str:
        """nothing runs at vi = 3, vj = 0"""
        return f"nothing runs at {', '.join(f'{var.name} = {value}' for var, value in self.at.items())}"


def everywhere(site: BlockSite) -> Verdict[LeftOut]:
    """Whether the block runs for all values of its iterators."""
    if binding_facts(site).covers:
        return proven("form")
    if wanders(site):
        return undecided("form", "its domain moves with loops around it, and a condition leaves out some of these")
    known = site.facts.get("everywhere")
    if known is None:
        known = exactly(lambda: guarded(lambda isl: _left_out(isl, site)))
        if known.answer is not None:
            site.facts["everywhere"] = known
    return known


def runs_everywhere(site: BlockSite) -> bool:
    """Whether it is proven that the block runs for all values of its iterators."""
    return everywhere(site).answer is True


def fills_domain(site: BlockSite) -> bool:
    """Whether the block writes for all values of its spatial iterators: a reduction with an init begins for each.

    for i, k in grid(4, 8): where k < 5: C[vi] += A[vi, vk]         # does, though it does not run everywhere
    """
    if not writes_all(site.block):
        return False
    spatial = [(item, value) for item, value in site.bindings if item.kind is not t.IterKind.REDUCE]
    begun = () if site.block.init is None else [pair for pair in site.bindings if pair[0].kind is t.IterKind.REDUCE]
    if binding_facts(site).covers:
        return True
    if wanders(site):
        return False
    if "fills its domain" not in site.facts:
        try:
            site.facts["fills its domain"] = guarded(lambda isl: _is_covered(isl, site, spatial, begun))
        except NotAffine:
            return False
    return bool(site.facts["fills its domain"])


def wanders(site: BlockSite) -> bool:
    """Whether a conditional block's domain moves with loops around it: it then says nothing of where these may go.

    for i in range(4): where i < 2: v = axis(Range(i * 2, 2), ...)         # all of each domain, of two of them
    """
    if isinstance(site.realize.predicate, IntImm):
        return False
    loops = {id(loop.var) for loop in site.loops}
    ends = (end for item in site.block.iter_vars for end in (item.dom.min, item.dom.extent))
    return any(id(var) in loops for end in ends for var in variables_in(end))


def _left_out(isl: Any, site: BlockSite) -> LeftOut | None:
    domain, run = _domain_and_run(isl, site, site.bindings, ())
    rest = domain.subtract(run)
    if rest.is_empty():
        return None
    point = rest.lexmin().sample_point()
    found = {item.var: _coordinate(isl, point, place) for place, (item, _) in enumerate(site.bindings)}
    own = {id(var): var for loop in site.loops for var in (*variables_in(loop.min), *variables_in(loop.extent))}
    own.update((id(var), var) for item, _ in site.bindings for var in variables_in(item.dom.extent))
    space, kind = point.get_space(), isl.dim_type.param
    names = {space.get_dim_name(kind, place): place for place in range(space.dim(kind))}
    for identity, var in own.items():
        if f"q{identity}" in names:
            found[var] = int(str(point.get_coordinate_val(kind, names[f"q{identity}"])))
    return LeftOut(found)


def _coordinate(isl: Any, point: Any, place: int) -> int:
    return int(str(point.get_coordinate_val(isl.dim_type.set, place)))


def _is_covered(isl: Any, site: BlockSite, bindings: Bindings, begun: Bindings) -> bool:
    """Whether the iterators of `bindings` take all of their values while those of `begun` are at their least."""
    domain, run = _domain_and_run(isl, site, bindings, begun)
    return bool(domain.is_subset(run))


def _domain_and_run(isl: Any, site: BlockSite, bindings: Bindings, begun: Bindings) -> tuple[Any, Any]:
    """The values of the iterators of `bindings`: those of their domains, and those that they take."""
    writer = site_writer(site)
    conditions = running_conditions(site, writer)
    conditions += [f"{writer.expr(value)} = {writer.expr(item.dom.min)}" for item, value in begun]
    values = ", ".join(writer.expr(value) for _, value in bindings)
    run = isl.Map(relation(writer, f"[{tuple_of('x', len(site.loops))}] -> [{values}]", conditions)).range()
    inside = bounds(writer, "v", [item.dom for item, _ in bindings])
    return isl.Set(relation(writer, f"[{tuple_of('v', len(bindings))}]", inside)), run
