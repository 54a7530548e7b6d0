"""transform_block_layout: a block runs over other iterators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...analysis.coverage import runs_everywhere
from ...analysis.reduction_loops import runs_once
from ...analysis.tree import BlockSite, extent_of
from ...arith import build
from ...arith.nodes import PrimExpr, Var
from ...arith.scope import Scope, number_of, variables_in
from ...core import origin
from ...core.node import rewrite, substitute
from ...tir import nodes as t
from ...tir.build import nest
from ...tir.index_map import IndexMap
from ..blocks import require_any_order, require_leaf
from ..errors import refuse, require
from ..layouts import mapped_shape, require_injective, require_rank
from ..legality import SUMS, blocks_under, require_legal
from ..placing import require_plain_loops
from ..reductions import reduction_operator
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import Names, replaced, simplified, with_regions
from .transform_layout import SUGGESTED


@primitive(category="loop", suggest={"index_map": (*SUGGESTED, "lambda i, j: (i * 6 + j,)")})
def transform_block_layout(state: ScheduleState, block: BlockRV, index_map: IndexMap) -> Change[None]:
    """Give a block the iterators that a map makes of its own, and loops over them.

    before:  for i, j in grid(8, 6): with block: vi, vj = remap("SS", [i, j]); C[vi, vj] = A[vi, vj]
    after:   for ax0, ax1, ax2 in grid(2, 6, 4):                       # lambda i, j: (i // 4, j, i % 4)
                 with block: v0, v1, v2 = remap("SSS", [ax0, ax1, ax2]); C[v0 * 4 + v2, v1] = A[v0 * 4 + v2, v1]

    Buffers stay as they are; `transform_layout` changes them.
    Raises `ScheduleError`: other blocks in the loops, loops that do not run once through the block's domain, a map
    that is no bijection, outputs that mix spatial with reduction iterators, values that depend on the order.
    """
    site = state.block(block)
    require_leaf(state, site, "transform")
    blocks_under(state, site.realize)
    require_plain_loops(site, "transform")
    _require_alone(site)
    own = site.block.iter_vars
    require_rank(index_map, len(own), site.name, (site.block,))
    require_legal(
        state,
        runs_everywhere(site) and runs_once(site),
        "E-SCHEDULE-PARTIAL",
        f"cannot show that the loops of {site.name} run through its domain, once",
        found="loops that may leave iterations out or repeat them",
        expected="a block that runs once at each point of its domain",
        fix="transform before splitting or moving",
        nodes=(site.block,),
    )
    require(
        all(number_of(item.dom.min) == 0 for item in own),
        "E-SCHEDULE-PARTIAL",
        f"iterators of {site.name} do not begin at 0",
        found="a domain with another least value",
        expected="iterators from 0 on",
        fix="leave the block as it is",
        nodes=(site.block,),
    )
    extents = [item.dom.extent for item in own]
    shape = mapped_shape(index_map, extents, (site.block,))
    require_injective(index_map, extents, False, (site.block,))
    require(
        index_map.is_bijective(extents) is True,
        "E-SCHEDULE-MAP-PADS",
        f"the index map makes iterations that {site.name} does not have",
        found=index_map.text,
        expected="a bijection: as many iterations as before",
        fix="choose divisors of the extents",
        nodes=(site.block,),
    )
    kinds, notes = _kinds(site, index_map), tuple[str, ...]()
    before = dict(zip(index_map.initial_indices, extents, strict=True))
    if not (_runs_in_order(site) and _keeps_order(before, list(zip(index_map.final_indices, shape, strict=True)))):
        require_any_order(state, site, "transform")
        notes = _order_notes(state, site, index_map, shape, kinds)
    inverse = index_map.inverted(extents)
    if inverse is None:
        raise refuse(
            "E-SCHEDULE-MAP-UNPROVEN",
            f"the iterators of {site.name} cannot be told from the map's outputs",
            found=index_map.text,
            expected="digits (i // a) % b of constant places, whose inverse is known",
            fix="split and reorder the loops instead",
            nodes=(site.block,),
        )
    made = _transformed(state, site, inverse, shape, kinds)
    outermost = site.loops[0] if site.loops else site.realize
    return Change(replaced(state.func, {id(outermost): made}), notes=notes)


def _require_alone(site: BlockSite) -> None:
    """The loops contain the block and nothing else."""
    for outer, inner in zip(site.loops, (*site.loops, site.realize)[1:], strict=True):
        require(
            outer.body is inner,
            "E-SCHEDULE-SHARED-LOOP",
            f"{site.name} is not alone in its loop {outer.var.name}",
            found="other statements beside it",
            expected="loops around this block only",
            fix="transform before moving blocks together",
            nodes=(outer,),
        )
    require(
        not site.loops or isinstance(site.path[-len(site.loops) - 1], (t.Block, t.SeqStmt)),
        "E-SCHEDULE-SHARED-LOOP",
        f"{site.name} stands in a statement that is no loop",
        found=type(site.path[-len(site.loops) - 1]).__name__ if site.loops else "",
        expected="loops directly under the root block",
        fix="choose another block",
        nodes=(site.block,),
    )


def _kinds(site: BlockSite, index_map: IndexMap) -> list[t.IterKind]:
    """What each output is for: that of the iterators it is made of."""
    of = {id(var): item.kind for var, item in zip(index_map.initial_indices, site.block.iter_vars, strict=True)}
    kinds: list[t.IterKind] = []
    for number, output in enumerate(index_map.final_indices):
        found = {of[id(var)] for var in variables_in(output) if id(var) in of}
        require(
            len(found) <= 1,
            "E-SCHEDULE-MAP-MIXES",
            f"output {number} of the index map mixes spatial with reduction iterators of {site.name}",
            found=index_map.text,
            expected="outputs of iterators of one kind",
            fix="keep reduction iterators apart: they are " + _reduced(site),
            nodes=(site.block,),
        )
        kinds.append(next(iter(found), t.IterKind.SPATIAL))
    return kinds


def _reduced(site: BlockSite) -> str:
    return ", ".join(item.var.name for item in site.block.iter_vars if item.kind is t.IterKind.REDUCE)


def _runs_in_order(site: BlockSite) -> bool:
    """Whether the loops run a block in the order of its iterators: its number among them grows with every loop."""
    steps = [loop for loop in site.loops if extent_of(loop) != 1]
    values = [value for item, value in site.bindings if number_of(item.dom.extent) != 1]
    if len(steps) == len(values) and all(loop.var is value for loop, value in zip(steps, values, strict=True)):
        return True
    items = site.block.iter_vars
    number, inner = site.over_loops(_number((item.var, item.dom.extent) for item in items)), 0
    for loop in reversed(steps):
        factor, extent = number.terms.get(site.forms.number_of(loop.var), 0), extent_of(loop)
        if extent is None or factor <= inner:
            return False
        inner += factor * (extent - 1)
    return set(number.terms) <= site.atoms


def _keeps_order(before: Mapping[Var, PrimExpr], after: Iterable[tuple[PrimExpr, PrimExpr]]) -> bool:
    """Whether outputs and their extents run through the points of indices in the order that these had."""
    scope = Scope()
    for var, extent in before.items():
        scope.enter(var, build.const(0), extent)
    return scope.linear(_number(before.items())).same_as(scope.linear(_number(after)))


def _number(axes: Iterable[tuple[PrimExpr, PrimExpr]]) -> PrimExpr:
    """The number of a point, given by its indices and their extents, in the order of the last index first."""
    number: PrimExpr = build.const(0)
    for index, extent in axes:
        number = build.add(build.multiply(number, extent), index)
    return number


def _order_notes(
    state: ScheduleState,
    site: BlockSite,
    index_map: IndexMap,
    shape: Sequence[PrimExpr],
    kinds: Sequence[t.IterKind],
) -> tuple[str, ...]:
    """A remark where a reduction runs in another order.  Refuses one whose order is not known to be free."""
    pairs = list(zip(index_map.initial_indices, site.block.iter_vars, strict=True))
    before = {var: item.dom.extent for var, item in pairs if item.kind is t.IterKind.REDUCE}
    after = [
        (output, extent)
        for output, extent, kind in zip(index_map.final_indices, shape, kinds, strict=True)
        if kind is t.IterKind.REDUCE
    ]
    if _keeps_order(before, after):
        return ()
    require_legal(
        state,
        reduction_operator(site.block) is not None,
        "E-SCHEDULE-REDUCTION-ORDER",
        f"{site.name} would reduce in another order, and its reduction is not known to allow that",
        found="a reduction other than a sum, product, minimum or maximum",
        expected="reduction iterators that keep their order",
        fix=f"leave {_reduced(site)} as they are in the map",
        nodes=(site.block,),
    )
    return (SUMS.format(site.block.writes[0].buffer.name),)


def _transformed(
    state: ScheduleState,
    site: BlockSite,
    inverse: IndexMap,
    shape: Sequence[PrimExpr],
    kinds: Sequence[t.IterKind],
) -> t.Stmt:
    names = Names(state.tree.names())
    block = site.block
    iter_vars = tuple(
        t.IterVar(Var(names.fresh(f"v{number}")), t.Range(build.const(0), extent), kind)
        for number, (extent, kind) in enumerate(zip(shape, kinds, strict=True))
    )
    scope = Scope()
    for item in iter_vars:
        scope.enter(item.var, item.dom.min, item.dom.extent)
    values = [simplified(value, scope) for value in inverse.map_indices([item.var for item in iter_vars])]
    own = {item.var: value for item, value in zip(block.iter_vars, values, strict=True)}
    moved: t.Block = block.replace(
        iter_vars=iter_vars,
        body=_tidied(substitute(block.body, own), scope),
        init=None if block.init is None else _tidied(substitute(block.init, own), scope),
    )
    moved = origin.derived(with_regions(moved), block)
    loops = [(Var(names.fresh(f"ax{number}")), extent) for number, extent in enumerate(shape)]
    realize = site.realize.replace(iter_values=tuple(var for var, _ in loops), predicate=build.const(True), block=moved)
    return nest(loops, realize)


def _tidied(stmt: t.Stmt, scope: Scope) -> t.Stmt:
    """The indices of accesses simplified."""
    def post(node: object) -> t.BufferLoad | t.BufferStore | None:
        if not isinstance(node, (t.BufferLoad, t.BufferStore)):
            return None
        indices = tuple(simplified(index, scope) for index in node.indices)
        if all(new is old for new, old in zip(indices, node.indices, strict=True)):
            return None
        return node.replace(indices=indices)

    return rewrite(stmt, post, lambda node: node if isinstance(node, t.Buffer) else None)
