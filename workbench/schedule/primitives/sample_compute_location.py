"""sample_compute_location: where to compute a block, drawn from the places where that is legal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ...analysis.tree import BlockSite
from ...arith.nodes import Var
from ..errors import ScheduleError, require
from ..references import INLINE, ROOT, BlockRV, LoopRV
from ..registry import primitive
from ..sampling import Draws
from ..state import Change, ScheduleState
from .compute_at import compute_at
from .compute_inline import compute_inline

_TRIAL = "location"


@primitive(category="sample")
def sample_compute_location(state: ScheduleState, block: BlockRV, decision: int | None = None) -> Change[LoopRV]:
    """Draw a place for a producer: one of its consumers' loops, the root (decision -1), or inlined (decision -2).

    before:  the program
    after:   the same program; l4 = sch.sample_compute_location(B, decision=0) is the outermost loop around the users
             of B

    Every legal place is equally likely.  Hand the answer to compute_at: the root leaves the block where it is, and
    inlined means compute_inline.  A decision counts the loops around all consumers from the outermost.
    Raises `ScheduleError`: a decision that is not legal here.
    """
    site = state.block(block)
    places = _places(state, block, site)
    draws = Draws(state.random)
    if decision is None:
        decision = list(places)[draws.below(len(places))]
    require(
        decision in places,
        "E-SCHEDULE-DECISION",
        f"{site.name} cannot be computed at place {decision}",
        found=f"decision {decision}",
        expected=f"one of {', '.join(map(str, places))} (-1: the root, -2: inlined)",
        fix="leave the decision out to draw again",
        nodes=(site.block,),
    )
    return Change(state.func, (places[decision],), decision=decision, random=draws.state)


def _places(state: ScheduleState, block: BlockRV, site: BlockSite) -> dict[int, Var]:
    """The legal places by their decisions."""
    found: dict[int, Var] = {-1: ROOT}
    if _works(partial(compute_inline, state, block)):
        found[-2] = INLINE
    for number, var in enumerate(_common_loops(state, site)):
        trial = replace(state, named=state.named.set(_TRIAL, var))
        if _works(partial(compute_at, trial, block, LoopRV(_TRIAL, var))):
            found[number] = var
    return found


def _works(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except ScheduleError:
        return False
    return True


def _common_loops(state: ScheduleState, site: BlockSite) -> list[Var]:
    """The loops around all readers of what a block writes, outermost first."""
    readers = [reader for region in site.block.writes for reader in state.tree.readers(region.buffer)]
    if not readers or any(reader is site for reader in readers):
        return []
    shared = [loop.var for loop in readers[0].loops]
    for reader in readers[1:]:
        around = {id(loop.var) for loop in reader.loops}
        shared = [var for var in shared if id(var) in around]
    return shared
