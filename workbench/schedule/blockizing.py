"""A block taken apart in two: an outer one over tiles, and an inner one over what is in a tile.

Invariant: an iterator of the block is `outer * tile + inner` for all values of the loops around, where `outer` depends
on the loops outside only, `inner` on those inside, and 0 <= inner < tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..analysis.bindings import starts_apart
from ..analysis.reduction_loops import initialises_first, runs_once
from ..analysis.regions import Bound, union
from ..analysis.tree import BlockSite
from ..arith import build
from ..arith.forms import FINITE, Form
from ..arith.nodes import PrimExpr, Var
from ..arith.scope import Scope, variables_in
from ..core.node import pre_order, substitute
from ..tir import nodes as t
from ..tir.build import nest
from ..tir.script import script
from .errors import refuse
from .surgery import Names

CODE = "E-SCHEDULE-BLOCKIZE"


@dataclass(frozen=True)
class Division:
    """One iterator of the block in two parts."""

    iter_var: t.IterVar
    outer: t.IterVar | None
    """None when it was a unit iterator that was not to be kept."""
    outer_value: PrimExpr
    inner: t.IterVar | None
    """None when all of it lies outside."""
    inner_value: PrimExpr
    tile: PrimExpr
    begin: PrimExpr
    """What both parts count from."""

    @property
    def value(self) -> PrimExpr:
        """The iterator in terms of its parts."""
        begin = self.outer.var if self.outer is not None else self.outer_value
        start = build.add(self.begin, build.multiply(begin, self.tile))
        return start if self.inner is None else build.add(start, self.inner.var)


@dataclass(frozen=True)
class Blockized:
    """The new outer block, where it stands, and the parts that it was made of."""

    realize: t.BlockRealize
    divisions: tuple[Division, ...]
    inner: t.BlockRealize
    init: t.Stmt | None


def blockized(
    site: BlockSite, inside: Sequence[t.For], names: Names, keep_units: bool = True
) -> Blockized:
    """The outer block that takes the place of the loops `inside` (a chain around the block at `site`).

    Raises `ScheduleError` E-SCHEDULE-BLOCKIZE.
    """
    block, scope = site.block, site.forms
    own = scope.numbers(loop.var for loop in inside)
    _check_predicate(site, own)
    _check_init(site, inside)
    divisions = tuple(divided(site, iter_var, value, own, names, keep_units) for iter_var, value in site.bindings)
    mapping: dict[Any, Any] = {item.iter_var.var: item.value for item in divisions}
    for item in divisions:
        for part in (item.outer, item.inner):
            if part is not None:
                scope.enter(part.var, part.dom.min, part.dom.extent)
    reads, writes = (
        tuple(substitute(region, mapping) for region in regions) for regions in (block.reads, block.writes)
    )
    accumulates = _accumulated(block, mapping) if block.init is not None else ()
    inner_block = block.replace(
        iter_vars=tuple(item.inner for item in divisions if item.inner is not None),
        reads=(*accumulates, *reads),
        writes=writes,
        init=None,
        body=substitute(block.body, mapping),
    )
    inner = t.BlockRealize(
        tuple(item.inner_value for item in divisions if item.inner is not None), build.const(True), inner_block
    )
    body: t.Stmt = inner
    for loop in reversed(inside):
        body = loop.replace(body=body)
    relaxed = scope.numbers(item.inner.var for item in divisions if item.inner is not None)
    init = _init_nest(block, divisions, names) if block.init is not None else None
    outer_block = t.Block(
        names.fresh(f"{block.name}_o"),
        tuple(item.outer for item in divisions if item.outer is not None),
        tuple(widened(reads, relaxed, scope)),
        tuple(widened(writes, relaxed, scope)),
        (),
        init,
        body,
    )
    values = tuple(item.outer_value for item in divisions if item.outer is not None)
    return Blockized(t.BlockRealize(values, site.realize.predicate, outer_block), divisions, inner, init)


def _check_predicate(site: BlockSite, own: frozenset[int]) -> None:
    if not own.isdisjoint(site.forms.numbers(variables_in(site.realize.predicate))):
        raise refuse(
            CODE, f"cannot take a tile out of {site.name}: a condition inside it guards its tail",
            found="a predicate that mentions the loops of the tile", expected="loops that divide the extents",
            fix="split by factors that divide, or pad the block first", nodes=(site.realize,),
        )  # fmt: skip


def _check_init(site: BlockSite, inside: Sequence[t.For]) -> None:
    if site.block.init is None:
        return
    if not runs_once(site, inside):
        raise refuse(
            CODE, f"cannot take a tile out of {site.name}: its loops may compute an element again",
            found="a reduction that starts several times in the tile, and would start once before it",
            expected="each instance of the block run once inside the tile",
            fix="choose a loop inside of those that repeat the reduction", nodes=(site.realize,),
        )  # fmt: skip
    if not starts_apart(site.block, site.held):
        raise refuse(
            CODE, f"cannot take a tile out of {site.name}: its sums are not shown to be apart",
            found="writes that are not apart for each point of the spatial iterators, or reads of other sums",
            expected="sums that may all start before one goes on",
            fix="write each sum to an element of its own", nodes=(site.realize,),
        )  # fmt: skip
    if not initialises_first(site):
        raise refuse(
            CODE, f"cannot take a tile out of {site.name}: its first iteration is not shown to initialise",
            found="reduction iterators that do not begin where their domains do",
            expected="an initialisation that can run before the first tile",
            fix="write the reduction from the beginning of its domain on, or without init", nodes=(site.realize,),
        )  # fmt: skip


def divided(
    site: BlockSite,
    iter_var: t.IterVar,
    value: PrimExpr,
    own: frozenset[int],
    names: Names,
    keep_units: bool,
) -> Division:
    """One iterator, bound to `value`, in a part outside of the loops `own` (atoms) and one inside.

    Raises `ScheduleError` E-SCHEDULE-BLOCKIZE where it is no such tile.
    """
    scope = site.forms
    wanders = scope.moves(scope.linear(iter_var.dom.min), own)
    begin = build.const(0) if wanders else iter_var.dom.min  # of a copy of one row: the row, a loop of the tile
    inner, outer = scope.parted(scope.linear(value).minus(scope.linear(begin)), own)
    if not scope.variables_of(inner) <= own:
        raise _undivided(site, iter_var, value, "the loops inside and outside are mixed in one term")
    low, high = scope.atoms.bound(inner)
    if not outer.terms and not outer.offset and _is_whole(inner, iter_var, own, scope):
        kept, moving = (t.Range(build.const(0), size) for size in (build.const(1), iter_var.dom.extent))
        return Division(
            iter_var, _part(iter_var, "o", kept, names) if keep_units else None, build.const(0),
            _part(iter_var, "i", moving, names), scope.index(inner), build.const(0), begin,
        )  # fmt: skip
    if low < -FINITE or high > FINITE:
        raise _undivided(site, iter_var, value, "the part inside has no constant bounds")
    tile = high - low + 1
    if any(scope.extents.get(atom) == 0 for atom in scope.variables_of(inner)):
        raise _undivided(site, iter_var, value, "the loops inside never run")
    inner, outer = inner.shifted(-low), outer.shifted(low)
    if any(factor % tile for factor in (*outer.terms.values(), outer.offset)):
        raise _undivided(site, iter_var, value, f"the part outside moves by other steps than the tile's {tile}")
    steps = Form({atom: factor // tile for atom, factor in outer.terms.items()}, outer.offset // tile)
    if wanders and steps.terms:
        raise _undivided(site, iter_var, value, "its domain begins elsewhere in each iteration of the tile")
    extent = _tiles(site, iter_var, value, steps, tile)
    moves = bool(steps.terms)
    keeps = moves or keep_units or steps.offset != 0
    made = _part(iter_var, "o", t.Range(build.const(0), extent), names)
    size = t.Range(build.const(0), build.const(tile))
    own_part = _part(iter_var, "i", size, names) if tile > 1 else None
    return Division(
        iter_var, made if keeps else None, scope.index(steps), own_part, scope.index(inner), size.extent, begin
    )


def _part(iter_var: t.IterVar, suffix: str, domain: t.Range, names: Names) -> t.IterVar:
    return iter_var.replace(var=Var(names.fresh(f"{iter_var.var.name}_{suffix}"), iter_var.var.dtype), dom=domain)


def _is_whole(inner: Form, iter_var: t.IterVar, own: frozenset[int], scope: Scope) -> bool:
    """Whether the loops inside run from end to end of an iterator, of a size with a name."""
    last, (low, high) = scope.linear(iter_var.dom.extent).shifted(-1), scope.ends(inner, own)
    if last.constant is not None or low is None or high is None:
        return False
    return low.constant == 0 and high.same_as(last)


def _tiles(site: BlockSite, iter_var: t.IterVar, value: PrimExpr, steps: Form, tile: int) -> PrimExpr:
    """The number of tiles along an iterator."""
    if not steps.terms:
        return build.const(steps.offset + 1)  # with the tiles before it: an init runs with the first one
    whole = site.forms.linear(iter_var.dom.extent)
    if whole.constant is not None:
        if whole.constant % tile:
            raise _undivided(site, iter_var, value, f"its extent {whole.constant} is no multiple of the tile's {tile}")
        return build.const(whole.constant // tile)
    if tile == 1:
        return iter_var.dom.extent
    if any(factor % tile for factor in (*whole.terms.values(), whole.offset)):
        raise _undivided(site, iter_var, value, f"its extent is not shown to be a multiple of the tile's {tile}")
    return site.forms.index(site.forms.atoms.divided(whole, tile))


def _undivided(site: BlockSite, iter_var: t.IterVar, value: PrimExpr, why: str) -> Exception:
    return refuse(
        CODE, f"cannot take a tile out of {site.name} along {iter_var.var.name}", found=f"{script(value)}: {why}",
        expected=f"{iter_var.var.name} = outer * tile + inner, of the loops outside and inside",
        fix="split the loops by the tile's extents, and reorder them so that the tile's are inside",
        nodes=(site.realize,),
    )  # fmt: skip


def _accumulated(block: t.Block, mapping: dict[Any, Any]) -> tuple[t.BufferRegion, ...]:
    """What an update reads of its own result: a block with an init does not say so, one without it must."""
    reads = {id(node.buffer) for node in _loads(block.body)}
    return tuple(substitute(region, mapping) for region in block.writes if id(region.buffer) in reads)


def _loads(body: t.Stmt) -> list[t.BufferLoad]:
    return [node for node in pre_order(body) if isinstance(node, t.BufferLoad)]


def _init_nest(block: t.Block, divisions: Sequence[Division], names: Names) -> t.Stmt:
    """The init of all elements of a tile, as a block of its own."""
    assert block.init is not None
    loops: list[tuple[Var, PrimExpr]] = []
    iter_vars: list[t.IterVar] = []
    mapping: dict[Any, Any] = {}
    for item in divisions:
        if item.inner is None or item.iter_var.kind is t.IterKind.REDUCE:
            mapping[item.iter_var.var] = item.value
            continue
        base = item.iter_var.var.name
        var = Var(names.fresh(f"{base}_init"), item.iter_var.var.dtype)
        loop = Var(names.fresh(f"{base.removeprefix('v')}_init"), item.iter_var.var.dtype)
        iter_vars.append(t.IterVar(var, item.inner.dom, item.iter_var.kind))
        loops.append((loop, item.inner.dom.extent))
        mapping[item.iter_var.var] = substitute(item.value, {item.inner.var: var})
    made = t.Block(
        names.fresh(f"{block.name}_init"),
        tuple(iter_vars),
        (),
        tuple(substitute(region, mapping) for region in block.writes),
        (),
        None,
        substitute(block.init, mapping),
    )
    return nest(loops, t.BlockRealize(tuple(loop for loop, _ in loops), build.const(True), made))


def widened(regions: Sequence[t.BufferRegion], relaxed: frozenset[int], scope: Scope) -> list[t.BufferRegion]:
    """Regions while the inner iterators run through; one a buffer where their hull is known."""
    made: list[t.BufferRegion] = []
    for region in regions:
        axes = [
            _axis(axis, extent, relaxed, scope)
            for axis, extent in zip(region.region, region.buffer.shape, strict=True)
        ]
        before = next((item for item in made if item.buffer is region.buffer), None)
        if before is None:
            made.append(t.BufferRegion(region.buffer, tuple(axes)))
            continue
        joined = tuple(
            _hull(one, other, extent, scope)
            for one, other, extent in zip(before.region, axes, region.buffer.shape, strict=True)
        )
        made[made.index(before)] = t.BufferRegion(region.buffer, joined)
    return made


def _axis(axis: t.Range, extent: PrimExpr, relaxed: frozenset[int], scope: Scope) -> t.Range:
    bound = _bound(axis, scope)
    low, high = scope.ends(bound.low, relaxed)[0], scope.ends(bound.high, relaxed)[1]
    return _range(Bound(low, high) if low is not None and high is not None else None, extent, scope)


def _hull(one: t.Range, other: t.Range, extent: PrimExpr, scope: Scope) -> t.Range:
    return _range(union([_bound(axis, scope) for axis in (one, other)], scope), extent, scope)


def _bound(axis: t.Range, scope: Scope) -> Bound:
    low = scope.linear(axis.min)
    return Bound(low, low.plus(scope.linear(axis.extent)).shifted(-1))


def _range(bound: Bound | None, extent: PrimExpr, scope: Scope) -> t.Range:
    """A bound of constant length as a range, else all of an axis."""
    length = bound.extent(scope) if bound is not None else None
    if bound is None or length is None:
        return t.Range(build.const(0), extent)
    return t.Range(scope.index(bound.low), build.const(length))
