"""blockize: a tile of a block becomes a block of its own."""

from __future__ import annotations

from ...analysis.tree import BlockSite, loops_nested
from ...tir import nodes as t
from ..blockizing import blockized
from ..enclosing import enclosed
from ..errors import refuse, require
from ..references import BlockRV, LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import Names, replaced


@primitive(category="tile")
def blockize(
    state: ScheduleState, target: LoopRV | BlockRV | list[BlockRV], preserve_unit_iters: bool = True
) -> Change[BlockRV]:
    """Make one block of a loop and all that is in it: the inside of a tile, over which the loops outside run.

    before:  for io, ii in grid(4, 16): with block("C"): vi = io * 16 + ii; C[vi] = A[vi]
    after:   for io in range(4): with block("C_o"): vi_o = io; reads(A[vi_o * 16 : +16]); writes(C[vi_o * 16 : +16])
                 for ii in range(16): with block("C"): vi_i = ii; C[vi_o * 16 + vi_i] = A[vi_o * 16 + vi_i]

    The init of a reduction goes to the outer block.  With `preserve_unit_iters` the outer block keeps iterators that
    run over one value.  A block as the target is taken by itself, without loops.  Answers the outer block.
    Several blocks as the target, which stand side by side in loops around them, get one block around them all, whose
    iterators are these loops.
    Raises `ScheduleError`: several blocks inside, or iterators that are not outer * tile + inner.  Of several blocks:
    others between them, one that reduces along a loop around them.
    """
    if not isinstance(target, (LoopRV, BlockRV)):
        sites = list({state.block(item).name: state.block(item) for item in target}.values())
        require(
            bool(sites),
            "E-SCHEDULE-BLOCKIZE",
            "there is nothing to make a block of",
            found="an empty list",
            expected="a loop, a block, or blocks side by side",
            fix="name the blocks: sch.blockize([first, second])",
        )
        if len(sites) > 1:
            func, name = enclosed(state, sorted(sites, key=lambda site: site.order), preserve_unit_iters)
            return Change(func, (name,))
        target = target[0]
    site, inside = tile_of(state, target, "make a block of")
    made = blockized(site, inside, Names(state.tree.names()), preserve_unit_iters)
    top = inside[0] if inside else site.realize
    return Change(replaced(state.func, {id(top): made.realize}), (made.realize.block.name,))


def tile_of(state: ScheduleState, target: LoopRV | BlockRV, verb: str) -> tuple[BlockSite, tuple[t.For, ...]]:
    """The only block inside a loop, and the loops from there on; a block itself, and none."""
    if isinstance(target, BlockRV):
        site = state.block(target)
        require(
            site.scope is not None,
            "E-SCHEDULE-BLOCKIZE",
            f"cannot {verb} {site.name}: it is the block around everything",
            found="the root block",
            expected="a loop, or a block under the root",
            fix="choose a loop",
            nodes=(site.block,),
        )
        return site, ()
    loop = state.loop(target)
    chain, current = loops_nested(loop)
    if not isinstance(current, t.BlockRealize):
        raise refuse(
            "E-SCHEDULE-BLOCKIZE",
            f"cannot {verb} {loop.var.name}: there is not one block in it",
            found=f"{len(state.tree.under(loop))} blocks",
            expected="loops nested directly in one another, around one block",
            fix="compute the other blocks elsewhere, or choose an inner loop",
            nodes=(loop,),
        )
    for item in chain:
        require(
            not item.thread,
            "E-SCHEDULE-BLOCKIZE",
            f"cannot {verb} {loop.var.name}: {item.var.name} is bound to a thread",
            found=f"thread {item.thread}",
            expected="loops inside one thread",
            fix="choose a loop inside",
            nodes=(item,),
        )
    return state.tree.blocks[current.block.name], tuple(chain)
