"""pad_einsum: a product of matrices (or the like) over sizes that are multiples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...analysis.tree import BlockSite
from ...arith import build
from ...arith import nodes as a
from ...arith.build import conjuncts
from ...arith.nodes import PrimExpr, Var
from ...arith.scope import Scope, are_equal, number_of, variables_in
from ...core import origin
from ...core.node import post_order, rewrite
from ...tir import nodes as t
from ...tir.build import nest, point_region
from ..arguments import Factor
from ..blocks import require_regular
from ..caching import (
    allocating,
    available_box,
    copy_block,
    placed_after,
    placed_before,
    require_alone_in_loops,
    require_covering,
)
from ..errors import refuse, require
from ..placing import require_plain_loops
from ..reductions import reduction_of
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import Names, Replacement, replaced, with_regions

_ARITHMETIC = (a.Add, a.Sub, a.Mul, a.Min, a.Max, a.Cast, a.FloatImm, a.IntImm, t.BufferLoad, Var)


@dataclass(frozen=True)
class _Plan:
    """Extents of the iterators before and after, by identity."""

    site: BlockSite
    old: dict[int, PrimExpr]
    new: dict[int, PrimExpr]
    """The same object where nothing is padded."""

    def grows(self, index: PrimExpr) -> bool:
        return self.new[id(index)] is not self.old[id(index)]

    def pads(self, indices: Sequence[PrimExpr]) -> bool:
        return any(map(self.grows, indices))

    def shape(self, indices: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
        return tuple(self.new[id(index)] for index in indices)


@primitive(category="reduction", suggest={"padding": [[4, 4, 4], [2, 4, 1], [1, 1, 8], [4, 4], [1, 2, 2, 4]]})
def pad_einsum(state: ScheduleState, block: BlockRV, padding: list[Factor]) -> Change[None]:
    """Round the extents of a block's iterators up to multiples, with zeros in its inputs and a cropped output.

    before:  for i, j, k in grid(5, 7, 9): C[i, j] += A[i, k] * B[k, j]
    after:   A_pad[...] = if_then_else(v0 < 5 and v1 < 9, A[v0, v1], 0)              # (8, 12); B_pad likewise
             for i, j, k in grid(8, 8, 12): C_pad[i, j] += A_pad[i, k] * B_pad[k, j]     # padding=[4, 4, 4]
             C[...] = C_pad[...]                                                     # (5, 7)

    `padding` has one number for each iterator of the block.  A symbolic extent n becomes (n + 3) // 4 * 4.
    Raises `ScheduleError`: accesses that are not plain iterators, a sum to which padded zeros would add something
    (every factor must vanish in the padding), loops that are not the block's own.
    """
    site = state.block(block)
    require_regular(state, site, "pad")
    require_plain_loops(site, "pad")
    plan = _planned(site, padding)
    accesses = _plain_accesses(site)
    _require_nothing_added(site, plan, accesses)
    names = Names(state.tree.names())
    written = site.block.writes[0].buffer
    new_buffers: dict[int, t.Buffer] = {}
    stages: list[t.Stmt] = []
    for buffer, indices in accesses:
        if id(buffer) in new_buffers or not plan.pads(indices):
            continue
        made = t.Buffer(names.fresh(f"{buffer.name}_pad"), plan.shape(indices), buffer.dtype)
        new_buffers[id(buffer)] = made
        if buffer is not written:
            _require_enough(state, site, plan, buffer, indices)
            stages.append(origin.derived(_padded(buffer, made, plan, indices, names), site.block))
    func = _enlarged(state.func, site, plan, new_buffers)
    for stage in stages:
        func = placed_before(func, site.name, stage)
    if id(written) in new_buffers:
        require_alone_in_loops(state, site, written)
        require_covering(state, site)
        where = next(indices for buffer, indices in accesses if buffer is written)
        box = [(build.const(0), plan.old[id(index)]) for index in where]
        copied, _ = copy_block(names.fresh(f"{written.name}_crop"), new_buffers[id(written)], written, box)
        func = placed_after(func, site.name, origin.derived(copied, site.block))
    return Change(allocating(func, *new_buffers.values()))


def _planned(site: BlockSite, padding: list[int]) -> _Plan:
    own = site.block.iter_vars
    require(
        len(padding) == len(own),
        "E-SCHEDULE-PAD-COUNT",
        f"{site.name} has {len(own)} iterators",
        found=f"{len(padding)} numbers: {list(padding)}",
        expected=f"one for each of {', '.join(item.var.name for item in own)}",
        fix="write 1 for what is not to be padded",
        nodes=(site.block,),
    )
    loops = {id(loop.var): loop for loop in site.loops}
    inner = (*site.loops, site.realize)[1:]
    chained = all(loop.body is stmt for loop, stmt in zip(site.loops, inner, strict=True))
    moving = {loop.var for loop in site.loops}
    old: dict[int, PrimExpr] = {}
    for item, value in site.bindings:
        loop = loops.pop(id(value), None)
        whole = loop is not None and are_equal(loop.extent, item.dom.extent)
        begins = (
            loop is not None and number_of(loop.min) == number_of(item.dom.min) == 0
        )
        require(
            variables_in(item.dom.extent).isdisjoint(moving) and whole and begins and chained,
            "E-SCHEDULE-PAD-LOOPS",
            f"iterator {item.var.name} of {site.name} is not a loop of its own",
            found="a split, fused or shared loop, or one that is as long as another one says",
            expected="one loop from 0 on for each iterator, around this block only",
            fix="pad before splitting or moving",
            nodes=(site.block,),
        )
        old[id(item.var)] = item.dom.extent
    require(
        not loops and not conjuncts(site.realize.predicate),
        "E-SCHEDULE-PAD-LOOPS",
        f"{site.name} does not run once for each value of its loops, one an iterator",
        found=", ".join(loop.var.name for loop in loops.values()) or "a condition on the block",
        expected="one loop for each iterator",
        fix="pad before splitting or moving",
        nodes=(site.block,),
    )
    new = {id(item.var): _rounded(item.dom.extent, factor) for item, factor in zip(own, padding, strict=True)}
    return _Plan(site, old, new)


def _rounded(extent: PrimExpr, factor: int) -> PrimExpr:
    """The least multiple of a number that is not below an extent; the extent itself where that is one surely."""
    form = Scope().linear(extent)
    if not any(count % factor for count in (*form.terms.values(), form.offset)):
        return extent
    if form.constant is not None:
        return build.const(-(-form.constant // factor) * factor)
    return build.multiply(build.floordiv(build.add(extent, factor - 1), factor), factor)


def _plain_accesses(site: BlockSite) -> list[tuple[t.Buffer, tuple[PrimExpr, ...]]]:
    """Every access with its indices, which must be iterators; each buffer always at the same ones."""
    own = {id(item.var) for item in site.block.iter_vars}
    found: list[tuple[t.Buffer, tuple[PrimExpr, ...]]] = []
    for part in (site.block.init, site.block.body):
        for node in post_order(part) if part is not None else ():
            if not isinstance(node, (t.BufferLoad, t.BufferStore)):
                continue
            plain = all(id(index) in own for index in node.indices)
            earlier = next((indices for buffer, indices in found if buffer is node.buffer), node.indices)
            same = all(one is other for one, other in zip(earlier, node.indices, strict=True))
            require(
                plain and same and len({id(index) for index in node.indices}) == len(node.indices),
                "E-SCHEDULE-EINSUM",
                f"{site.name} does not access {node.buffer.name} at plain iterators, always the same",
                found="an index that is an expression, or several places",
                expected="accesses like A[vi, vk]",
                fix="choose a product of matrices, or pad the inputs by hand",
                nodes=(site.block,),
            )
            found.append((node.buffer, node.indices))
    return found


def _require_nothing_added(site: BlockSite, plan: _Plan, accesses: list[tuple[t.Buffer, tuple[PrimExpr, ...]]]) -> None:
    """Padded iterations may be run: they divide nothing, and to a sum they add zero."""
    body = site.block.body
    values = [node for node in post_order(body) if isinstance(node, PrimExpr)]
    if not isinstance(body, t.BufferStore) or not all(isinstance(node, _ARITHMETIC) for node in values):
        raise _not_einsum(site, "operations other than sums, differences, products, minima and maxima")
    for item in site.block.iter_vars:
        grows = item.kind is t.IterKind.SPATIAL and plan.grows(item.var)
        if grows and all(index is not item.var for index in body.indices):
            raise _not_einsum(site, f"padded iterations of {item.var.name} would write what its one iteration wrote")
    padded = {
        id(item.var): item.var.name
        for item in site.block.iter_vars
        if item.kind is t.IterKind.REDUCE and plan.grows(item.var)
    }
    if not padded:
        return
    found = reduction_of(site.block)
    if found is None or found.name != "sum":
        raise _not_einsum(site, "a reduction other than a sum, along an iterator that is padded")
    factors = _factors(found.source[0])
    if factors is None:
        raise _not_einsum(site, "a sum of something else than a product")
    for load in factors:
        missing = [name for variable, name in padded.items() if all(id(index) != variable for index in load.indices)]
        if missing:
            raise _not_einsum(
                site, f"{load.buffer.name} does not depend on {missing[0]}: zero times an infinity of it is no zero"
            )


def _factors(value: PrimExpr) -> list[t.BufferLoad] | None:
    """The loads that a product is made of; None if there is anything else in it."""
    found: list[t.BufferLoad] = []
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, a.Mul):
            stack += [node.a, node.b]
        elif isinstance(node, a.Cast):
            stack.append(node.value)
        elif isinstance(node, t.BufferLoad):
            found.append(node)
        else:
            return None
    return found


def _not_einsum(site: BlockSite, found: str) -> Exception:
    return refuse(
        "E-SCHEDULE-EINSUM",
        f"padded iterations of {site.name} might change its result",
        found=found,
        expected="a sum of products of elements that are all zero in the padding",
        fix="pad only spatial iterators, with 1 for the others",
        nodes=(site.block,),
    )


def _require_enough(
    state: ScheduleState, site: BlockSite, plan: _Plan, buffer: t.Buffer, indices: Sequence[PrimExpr]
) -> None:
    """What the block reads of an input is complete before its loops."""
    for (low, count), index in zip(available_box(state, buffer, [site]), indices, strict=True):
        scope = site.forms
        left = scope.linear(count).minus(scope.linear(plan.old[id(index)]))
        require(
            number_of(low) == 0 and scope.is_natural(left),
            "E-SCHEDULE-PARTIAL",
            f"cannot show that all that {site.name} reads of {buffer.name} has been written",
            found="a part of the buffer, or extents that cannot be compared",
            expected="an input that is complete",
            fix="choose another block",
            nodes=(site.block,),
        )


def _padded(source: t.Buffer, target: t.Buffer, plan: _Plan, indices: Sequence[PrimExpr], names: Names) -> t.Stmt:
    """Loops and a block that copy an input and write zeros around it."""
    loops = [(Var(names.fresh(f"ax{number}")), extent) for number, extent in enumerate(target.shape)]
    iter_vars = tuple(
        t.IterVar(Var(f"v{number}"), t.Range(build.const(0), extent), t.IterKind.SPATIAL)
        for number, extent in enumerate(target.shape)
    )
    where = tuple(item.var for item in iter_vars)
    inside = build.all_of(
        *(
            build.less(var, plan.old[id(index)])
            for var, index in zip(where, indices, strict=True)
            if plan.grows(index)
        )
    )
    value = build.if_then_else(inside, t.BufferLoad(source, where), build.const(0, source.dtype))
    reads, writes = (point_region(source, where),), (point_region(target, where),)
    block = t.Block(
        names.fresh(f"{target.name}_copy"), iter_vars, reads, writes, (), None,
        t.BufferStore(target, value, where),
    )  # fmt: skip
    return nest(loops, t.BlockRealize(tuple(var for var, _ in loops), build.const(True), block))


def _enlarged(func: t.PrimFunc, site: BlockSite, plan: _Plan, buffers: dict[int, t.Buffer]) -> t.PrimFunc:
    """`func` with the block over the new extents, on the new buffers."""

    def post(node: object) -> t.BufferLoad | t.BufferStore | None:
        if isinstance(node, t.BufferLoad) and id(node.buffer) in buffers:
            return t.BufferLoad(buffers[id(node.buffer)], node.indices)
        if isinstance(node, t.BufferStore) and id(node.buffer) in buffers:
            return node.replace(buffer=buffers[id(node.buffer)])
        return None

    def pre(node: object) -> t.Buffer | None:
        return node if isinstance(node, t.Buffer) else None

    block = site.block
    iter_vars = tuple(
        item.replace(dom=item.dom.replace(extent=plan.new[id(item.var)])) for item in block.iter_vars
    )
    changed: t.Block = block.replace(
        iter_vars=iter_vars,
        body=rewrite(block.body, post, pre),
        init=None if block.init is None else rewrite(block.init, post, pre),
    )
    changed = origin.derived(with_regions(changed), block)
    extents = {id(value): plan.new[id(item.var)] for item, value in site.bindings}
    made: t.Stmt = site.realize.replace(block=changed, predicate=build.const(True))
    for loop in reversed(site.loops):
        made = loop.replace(extent=extents[id(loop.var)], body=made)
    outermost = site.loops[0] if site.loops else site.realize
    changes: dict[int, Replacement] = {id(outermost): made}
    return replaced(func, changes)
