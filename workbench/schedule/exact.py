"""The exact tier for primitives that move, inline or copy: what the quick tier doubts is decided by value flow.

    working = doubting(state)                  # legality refusals are collected, not raised
    ...checks and rewrite with `working`...
    settle(state, working, func, loops)        # raises the first doubt, unless every read keeps its value

Invariant: without doubts nothing is asked; with doubts a program passes only on proof.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ..analysis.flow import Difference, Stranger, difference, inline_difference
from ..analysis.flow_model import Alias
from ..analysis.reduction_loops import initialises_first
from ..analysis.tree import BlockSite, Tree
from ..analysis.verdict import Verdict, exactly
from ..tir import nodes as t
from .errors import IllegalError
from .legality import forbid, reduction_operator, require_independent
from .state import ScheduleState


def doubting(state: ScheduleState) -> ScheduleState:
    """The same state, on which legality refusals are collected in `doubts`."""
    made = replace(state, doubts=[])
    made.__dict__["tree"] = state.tree
    return made


def settle(
    state: ScheduleState,
    working: ScheduleState,
    func: t.PrimFunc,
    loops: Sequence[t.For] = (),
    copies: Collection[str] = (),
    aliases: Mapping[int, Alias] | None = None,
) -> None:
    """Refuse with the first doubt unless each read in `func` gets the value that it got before.

    `loops`: loops of the function whose iterations, where they run at once, must still be independent.
    """
    if not working.doubts:
        return
    after = replace(state, functions=state.functions.set(state.working, func), doubts=None)
    now: Tree = after.tree
    names = {name for tree in (state.tree, now) for name in _updates(tree)}
    verdict = exactly(lambda: difference(state.tree, now, names, copies, aliases))
    if _settled(state, working.doubts, verdict):
        require_concurrent(after, loops)


def settle_inline(state: ScheduleState, working: ScheduleState, producer: BlockSite) -> None:
    """Like `settle`, for a block whose value is computed where it is read."""
    if working.doubts:
        verdict = exactly(lambda: inline_difference(state.tree, producer, _updates(state.tree)))
        _settled(state, working.doubts, verdict)


def _settled(
    state: ScheduleState, doubts: Sequence[IllegalError], verdict: Verdict[Difference] | Verdict[Difference | Stranger]
) -> bool:
    """True where it is proven that nothing changes; else the doubts are refused (or noted, if unsafe)."""
    if verdict.answer:
        return True
    if verdict.witness is not None:
        doubts[0].found = f"{doubts[0].found}: {verdict.why}"
        doubts[0].witness = verdict.witness
    for doubt in doubts:
        if verdict.answer is None:
            doubt.found = f"{doubt.found}; not decided exactly: {verdict.why}"
        forbid(state, doubt)
    return False


def _updates(tree: Tree) -> list[str]:
    """The blocks whose updates of an element may run in any order, after what initialises it, if they do that."""
    return [site.name for site in tree.leaves if reduction_operator(site.block) is not None and _begins(site)]


def _begins(site: BlockSite) -> bool:
    return site.block.init is None or initialises_first(site)


def require_concurrent(after: ScheduleState, loops: Sequence[t.For]) -> None:
    """Refuse unless those of `loops` whose iterations run at once are independent in the state `after`."""
    for loop in loops:
        now = after.tree.loops[id(loop.var)].loop
        if now.kind in t.AT_ONCE:
            require_independent(after, now, "run {} at once", now.has_private_buffers)
