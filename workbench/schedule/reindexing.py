"""A buffer of a block in the block's own coordinates: the common parts of reindex, reindex_cache_read and _write.

The block's access old[f(v)] becomes new[g(v)] of the block's iterators v; a copy runs over the iterators that f and g
mention.  Invariant: g tells these iterators apart, so that each element of `new` belongs to one of `old`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..analysis.bindings import writes_box
from ..analysis.regions import Bound, hull
from ..analysis.tree import BlockSite, entered
from ..arith import build
from ..arith.nodes import PrimExpr, Var, literal
from ..arith.scope import Scope, variables_in
from ..core import origin
from ..core.dtype import DataType
from ..core.equal import same
from ..core.node import post_order, rewrite, substitute
from ..tir import nodes as t
from ..tir.build import nest, point_region
from ..tir.index_map import IndexMap
from .caching import Box
from .errors import refuse, require
from .layouts import mapped_shape, require_injective, require_rank
from .legality import require_legal
from .state import ScheduleState
from .surgery import Names, with_regions


@dataclass(frozen=True)
class Reindexed:
    """How a block's access is moved: the iterators that count, the old indices and the new ones, the new extents."""

    iter_vars: tuple[t.IterVar, ...]
    old_indices: tuple[PrimExpr, ...]
    new_indices: tuple[PrimExpr, ...]
    shape: tuple[PrimExpr, ...]


def only_access(site: BlockSite, buffer: t.Buffer, verb: str) -> tuple[PrimExpr, ...]:
    """The indices at which a block touches a buffer, always the same."""
    found: list[tuple[PrimExpr, ...]] = []
    for part in (site.block.init, site.block.body):
        for node in post_order(part) if part is not None else ():
            if isinstance(node, (t.BufferLoad, t.BufferStore)) and node.buffer is buffer:
                if not any(same(node.indices, other) for other in found):
                    found.append(node.indices)
    require(
        len(found) == 1 and all(index.dtype.lanes == 1 for index in found[0]),
        "E-SCHEDULE-REINDEX-ACCESS",
        f"{site.name} {verb} {buffer.name} at {len(found)} different places",
        found="several accesses, or vectors",
        expected="one element for each point of its iterators",
        fix="cache the buffer instead: cache_read, cache_write",
        nodes=(site.block,),
    )
    own = {*(item.var for item in site.block.iter_vars), *site.held}
    for index in found[0]:
        require(
            variables_in(index) <= own and not _loads(index),
            "E-SCHEDULE-REINDEX-ACCESS",
            f"where {site.name} {verb} {buffer.name} is no function of its iterators",
            found="an index with a loop variable or a load",
            expected="indices of the block's iterators",
            fix="cache the buffer instead: cache_read, cache_write",
            nodes=(site.block,),
        )
    return found[0]


def _loads(expr: PrimExpr) -> bool:
    return any(isinstance(node, t.BufferLoad) for node in post_order(expr))


def by_iterators(site: BlockSite, indices: tuple[PrimExpr, ...]) -> Reindexed:
    """The iterators that the indices mention, as they are, for the new indices."""
    mentioned = {id(var) for index in indices for var in variables_in(index)}
    used = tuple(item for item in site.block.iter_vars if id(item.var) in mentioned)
    require(
        bool(used),
        "E-SCHEDULE-REINDEX-ACCESS",
        f"{site.name} touches one element, whatever its iterators are",
        found="indices without iterators",
        expected="an access that the iterators move",
        fix="leave it as it is",
        nodes=(site.block,),
    )
    _require_one_size(site, used)
    shifted = tuple(build.subtract(item.var, item.dom.min) for item in used)
    return Reindexed(used, indices, shifted, tuple(item.dom.extent for item in used))


def _require_one_size(site: BlockSite, used: Sequence[t.IterVar]) -> None:
    """Refuse iterators whose domains move with loops: a buffer of their sizes has no size of its own."""
    moving = {stmt.var for stmt in site.path if isinstance(stmt, t.For)}
    for item in used:
        ends = variables_in(item.dom.min) | variables_in(item.dom.extent)
        require(
            ends.isdisjoint(moving),
            "E-SCHEDULE-REINDEX-ACCESS",
            f"the domain of {item.var.name} of {site.name} moves with loops around it",
            found=f"a size that {', '.join(sorted(var.name for var in ends & moving))} decides",
            expected="iterators of one domain each",
            fix="cache the buffer instead: cache_read, cache_write",
            nodes=(site.block,),
        )


def by_map(site: BlockSite, indices: tuple[PrimExpr, ...], index_map: IndexMap) -> Reindexed:
    """New indices that a map makes of the block's iterators.  Refuses a map that does not tell apart what matters."""
    own = site.block.iter_vars
    require_rank(index_map, len(own), site.name, (site.block,))
    require(
        all(literal(item.dom.min, None) == 0 for item in own),
        "E-SCHEDULE-PARTIAL",
        f"iterators of {site.name} do not begin at 0",
        found="a domain with another least value",
        expected="iterators from 0 on",
        fix="use reindex without a map",
        nodes=(site.block,),
    )
    mapped = {id(var) for output in index_map.final_indices for var in variables_in(output)}
    pairs = list(zip(index_map.initial_indices, own, strict=True))
    mentioned = {id(var) for index in indices for var in variables_in(index)}
    left = [item.var.name for var, item in pairs if id(item.var) in mentioned and id(var) not in mapped]
    require(
        not left,
        "E-SCHEDULE-REINDEX-MAP",
        f"the index map leaves out {', '.join(left)}, which the access of {site.name} depends on",
        found=index_map.text,
        expected="a map that uses every iterator of the access",
        fix="name the iterators of the access in the map's outputs",
        nodes=(site.block,),
    )
    extents = [item.dom.extent if id(var) in mapped else build.const(1) for var, item in pairs]
    shape = mapped_shape(index_map, extents, (site.block,))
    require_injective(index_map, extents, False, (site.block,))
    used = tuple(item for var, item in pairs if id(var) in mapped)
    _require_one_size(site, used)
    new = tuple(index_map.map_indices([item.var for item in own]))
    return Reindexed(used, indices, new, shape)


def whole(moved: Reindexed) -> Box:
    """All values of the iterators that count."""
    return [(item.dom.min, item.dom.extent) for item in moved.iter_vars]


def run_through(state: ScheduleState, site: BlockSite, moved: Reindexed, all_of_it: bool) -> Box | None:
    """The values that the iterators that count take in an iteration of a loop around that is scheduled by itself: a
    box of constant extents, and of whole domains.  None where that is not known, and for the whole function.

    `all_of_it`: it must be shown that the block runs for all of them.
    """
    if state.full is None:
        return None
    own = t.Buffer(site.name, tuple(item.dom.extent for item in moved.iter_vars), DataType("int64"))
    region = point_region(own, tuple(item.var for item in moved.iter_vars))
    if all_of_it and not writes_box(site, region, site.loops):
        return None
    found: Box = []
    for item, bound in zip(moved.iter_vars, hull(region, site, site.loops), strict=True):
        part = None if bound is None else _part(item.dom, bound, site.forms)
        if part is None:
            return None
        found.append(part)
    return found


def _part(domain: t.Range, bound: Bound, scope: Scope) -> tuple[PrimExpr, PrimExpr] | None:
    """Values of an iterator, as (least, how many); None unless they are surely in its domain, and counted."""
    begin = scope.linear(domain.min)
    last = begin.plus(scope.linear(domain.extent)).shifted(-1)
    if bound.low.same_as(begin) and bound.high.same_as(last):
        return domain.min, domain.extent
    size = bound.high.minus(bound.low).shifted(1).constant
    inside = scope.at_most(begin, bound.low) and scope.at_most(bound.high, last)
    return None if size is None or not inside else (scope.index(bound.low), build.const(size))


def require_inside(
    state: ScheduleState, site: BlockSite, moved: Reindexed, points: Box, box: Box, buffer: t.Buffer
) -> None:
    """Refuse unless the old indices lie in a box at all `points` of the iterators, read there or not."""
    scope = entered(Scope(), site.path)
    for item, (low, count) in zip(moved.iter_vars, points, strict=True):
        scope.enter(item.var, low, count)
    for index, (low, count) in zip(moved.old_indices, box, strict=True):
        above = scope.linear(index).minus(scope.linear(low))
        below = scope.linear(count).minus(above).shifted(-1)
        require_legal(
            state,
            scope.is_natural(above) and scope.is_natural(below),
            "E-SCHEDULE-REINDEX-BOUNDS",
            f"{site.name} would read {buffer.name} outside of what there is of it",
            found="an index that leaves the buffer, which a condition in the block guards",
            expected="indices inside the buffer at every point of the iterators",
            fix="inline or decompose the padding first, or use cache_read",
            nodes=(site.block,),
        )


def copying(
    name: str, source: t.Buffer, target: t.Buffer, moved: Reindexed, points: Box, names: Names, into_new: bool
) -> t.Stmt:
    """Loops over `points` of the iterators, and a block that copies old to new elements (`into_new`) or back."""
    fresh = {item.var: Var(f"v{number}") for number, item in enumerate(moved.iter_vars)}
    iter_vars = tuple(t.IterVar(fresh[item.var], item.dom, t.IterKind.SPATIAL) for item in moved.iter_vars)
    old, new = (tuple(substitute(i, fresh) for i in part) for part in (moved.old_indices, moved.new_indices))
    at_source, at_target = (old, new) if into_new else (new, old)
    loops = [(Var(names.fresh(f"ax{number}")), count) for number, (_, count) in enumerate(points)]
    values = tuple(build.add(low, var) for (var, _), (low, _) in zip(loops, points, strict=True))
    block = t.Block(
        name, iter_vars, (point_region(source, at_source),), (point_region(target, at_target),), (), None,
        t.BufferStore(target, t.BufferLoad(source, at_source), at_target),
    )  # fmt: skip
    return nest(loops, t.BlockRealize(values, build.const(True), block))


def with_access(block: t.Block, old: t.Buffer, new: t.Buffer, moved: Reindexed) -> t.Block:
    """`block` with its accesses of `old` replaced by the moved ones of `new`."""

    def post(node: object) -> t.BufferLoad | t.BufferStore | None:
        if isinstance(node, t.BufferLoad) and node.buffer is old:
            return t.BufferLoad(new, moved.new_indices)
        if isinstance(node, t.BufferStore) and node.buffer is old:
            return node.replace(buffer=new, indices=moved.new_indices)
        return None

    def pre(node: object) -> t.Buffer | None:
        return node if isinstance(node, t.Buffer) else None

    parts = {
        name: rewrite(part, post, pre)
        for name, part in (("body", block.body), ("init", block.init))
        if part is not None
    }
    return origin.derived(with_regions(block.replace(**parts)), block)


def require_one_way(site: BlockSite, buffer: t.Buffer) -> bool:
    """True if a block writes a buffer, False if it reads it.  Refuses one that does both (reductions apart)."""
    writes = any(region.buffer is buffer for region in site.block.writes)
    reads = any(region.buffer is buffer for region in site.reads)
    if writes and reads:
        raise refuse(
            "E-SCHEDULE-REINDEX-ACCESS",
            f"{site.name} reads and writes {buffer.name}",
            found="an update in place",
            expected="a buffer that is only read or only written",
            fix="cache_inplace gives it copies before and after",
            nodes=(site.block,),
        )
    return writes


def fresh_buffer(old: t.Buffer, name: str, scope: str, shape: Sequence[PrimExpr]) -> t.Buffer:
    return t.Buffer(name, tuple(shape), old.dtype, scope)


def unused(state: ScheduleState) -> Names:
    return Names(state.tree.names())
