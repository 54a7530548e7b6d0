"""tensorize: a tile is computed by a tensor intrinsic."""

from __future__ import annotations

from typing import Annotated, Final

from ...analysis.tree import domains_of
from ...arith.nodes import literal
from ...core.equal import same
from ...core.errors import nearest
from ...core.node import pre_order
from ...tir import nodes as t
from ...tir.script import script
from ...tir.tensor_intrin.registry import TENSOR_INTRINSICS
from ..arguments import NameIn
from ..blockizing import Blockized, blockized
from ..errors import refuse, require
from ..references import BlockRV, LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import Names, replaced
from ..tensorizing import CODE, Match, implementation, without_units
from .blockize import tile_of

_ANYWHERE: Final = "dot_16x4_plain"


def _registered() -> list[str]:
    """The names of the intrinsics: users' own first, then what needs no instruction that a processor may not have."""
    return sorted(TENSOR_INTRINSICS, key=lambda name: (TENSOR_INTRINSICS.is_own(name), name != _ANYWHERE))


@primitive(category="tile", suggest={"tensor_intrin": [_ANYWHERE]})
def tensorize(
    state: ScheduleState,
    block_or_loop: LoopRV | BlockRV,
    tensor_intrin: Annotated[str, NameIn(_registered)],
    preserve_unit_iters: bool = True,
) -> Change[None]:
    """Let a tensor intrinsic compute the tile inside a loop, or the block that blockize made.

    before:  for io in range(n): for ii, k in grid(16, 4): C[io * 16 + ii] += A[k] * B[io * 16 + ii, k]
    after:   for io in range(n): with block("C_o"): C[io * 16 : +16] = dot_16x4(C[...], A[0:4], B[...])

    The tile must be the description of the intrinsic, exactly (`tir.TensorIntrin`); the init of a reduction stays,
    unless the description has one too.  The block keeps its regions, and is opaque from then on.
    Raises `ScheduleError`: no such intrinsic, a tile that differs from the description (the first difference is shown).
    """
    known = tensor_intrin in TENSOR_INTRINSICS
    hint = "" if known else nearest(tensor_intrin, TENSOR_INTRINSICS)
    require(
        known,
        CODE,
        f"there is no tensor intrinsic {tensor_intrin!r}",
        found=tensor_intrin,
        expected="the name of a registered tensor intrinsic",
        fix=hint or "tir.TensorIntrin.register(name, description, implementation)",
    )
    intrinsic = TENSOR_INTRINSICS[tensor_intrin]
    names = Names(state.tree.names())
    made, top, originals = _tile(state, block_or_loop, names, preserve_unit_iters)
    outer = made.realize.block
    scope = domains_of(outer)
    for division in made.divisions:
        if division.inner is not None:
            scope.enter(division.inner.var, division.inner.dom.min, division.inner.dom.extent)
    match = Match(intrinsic, outer, scope, originals)
    match.statements(intrinsic.description, outer.body)
    described = _init_of(intrinsic.description)
    function, reset = _chosen(match, made, described)
    body, buffers = implementation(match, function, names)
    init = outer.init
    if described is not None and (reset is not None or not _goes_on(outer)):
        init = None
        if reset is not None:
            init, more = implementation(match, reset, names)
            buffers = (*buffers, *more)
    whole = outer.replace(body=body, init=init, alloc_buffers=(*outer.alloc_buffers, *buffers))
    return Change(replaced(state.func, {id(top): made.realize.replace(block=whole)}))


def _tile(
    state: ScheduleState, target: LoopRV | BlockRV, names: Names, keep_units: bool
) -> tuple[Blockized, t.Stmt, tuple[t.For | t.Block, ...]]:
    """The tile as an outer block around its loops, the statement whose place it takes, and what stands in it now."""
    if isinstance(target, LoopRV):
        site, inside = tile_of(state, target, "tensorize")
        return blockized(site, inside, names, keep_units), inside[0], (site.block, *inside)
    site = state.block(target)
    nested = state.tree.inside(site)
    require(
        bool(nested) and site.scope is not None,
        CODE,
        f"cannot tensorize {site.name}: no loops stand in it",
        found="a block that computes one element",
        expected="a loop, or a block that blockize made",
        fix="tensorize the outermost loop of the tile",
        nodes=(site.block,),
    )
    return Blockized(site.realize, (), nested[-1].realize, site.block.init), site.realize, (site.block,)


def _init_of(description: t.Stmt) -> t.Stmt | None:
    current = without_units(description)
    while isinstance(current, t.For):
        current = current.body
    return current.block.init if isinstance(current, t.BlockRealize) else None


def _goes_on(outer: t.Block) -> bool:
    """Whether the reduction goes on outside the tile."""
    return any(item.kind is t.IterKind.REDUCE and literal(item.dom.extent, 2) != 1 for item in outer.iter_vars)


def _chosen(match: Match, made: Blockized, described: t.Stmt | None) -> tuple[t.PrimFunc, t.PrimFunc | None]:
    """The function for the tile, and the one for its init (None: as it is, or none)."""
    intrinsic, outer = match.intrinsic, made.realize.block
    if described is None:
        return _needed(match, intrinsic.impl, "implementation"), None
    if outer.init is None:
        return _needed(match, intrinsic.update, "update, and the program initialises elsewhere"), None
    _compare_init(match, described, outer.init)
    if _goes_on(outer) or intrinsic.impl is None:
        return _needed(match, intrinsic.update, "update, and the reduction goes on outside the tile"), intrinsic.reset
    return intrinsic.impl, None


def _needed(match: Match, function: t.PrimFunc | None, what: str) -> t.PrimFunc:
    if function is None:
        raise refuse(
            CODE, f"tensor intrinsic {match.intrinsic.name} cannot be used here", found=f"it has no {what}",
            expected="a function for this case", fix="declare it with body, reset and update",
            nodes=(match.originals[0],),
        )  # fmt: skip
    return function


def _compare_init(match: Match, described: t.Stmt, actual: t.Stmt) -> None:
    """The init of the tile, which stands in loops of its own, against that of the description."""
    wanted = [node for node in pre_order(described) if isinstance(node, t.BufferStore)]
    found = [node for node in pre_order(actual) if isinstance(node, t.BufferStore)]
    equal = len(wanted) == len(found) and all(
        same(one.value, other.value)
        and id(one.buffer) in match.places
        and match.places[id(one.buffer)].buffer is other.buffer
        for one, other in zip(wanted, found, strict=True)
    )
    require(
        equal,
        CODE,
        f"{match.block.name} is not what tensor intrinsic {match.intrinsic.name} computes: the inits differ",
        found="; ".join(script(node.value) for node in found),
        expected="; ".join(script(node.value) for node in wanted) + ", as in the description",
        fix="decompose the reduction first, or describe another init",
        nodes=(match.originals[0],),
    )
