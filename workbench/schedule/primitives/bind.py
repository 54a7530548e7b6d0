"""bind: a loop runs along an axis of threads."""

from __future__ import annotations

from ...analysis.tree import BlockSite, extent_of
from ...tir import nodes as t
from ..errors import require
from ..kinds import CROSS_THREAD, annotated
from ..legality import (
    blocks_under,
    initialises_first,
    reduce_variables,
    reduction_operator,
    require_independent,
    steps_through_both,
)
from ..references import LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import replaced

AXES = (*(f"{group}.{axis}" for group in ("blockIdx", "threadIdx", "vthread") for axis in "xyz"), "vthread")


@primitive(category="loop", suggest={"thread_axis": ["threadIdx.x"]})
def bind(state: ScheduleState, loop: LoopRV, thread_axis: str, cross_thread: bool = False) -> Change[None]:
    """Bind a loop to an axis of a GPU's threads.

    before:  for i in range(256): C[i] = A[i]
    after:   for i in T.thread_binding(256, thread="threadIdx.x"): C[i] = A[i]

    A buffer used only inside the loop, and written in each iteration before it is read there, is each thread's own.

    Where the loop is one of a reduction that the threads of a group may share, its iterations' values are combined
    across them, and the loop is annotated so ("cross_thread"); with `cross_thread` anything else is refused.
    Raises `ScheduleError`: an unknown axis, iterations that depend on each other (with a witness), a reduction across
    threads over blocks of threads, or of values that depend on their order.
    """
    old = state.loop(loop)
    require(
        thread_axis in AXES,
        "E-SCHEDULE-THREAD",
        f"{thread_axis!r} is not an axis of threads",
        found=thread_axis,
        expected=", ".join(AXES),
        fix='bind(loop, "threadIdx.x")',
        nodes=(old,),
    )
    kind = t.ForKind.THREAD_BINDING
    if not cross_thread and not _is_shared_reduction(state, old, thread_axis):
        require_independent(state, old, "bind", True, across=False)
        return annotated(state, old, kind, thread_axis)
    reductions = _reductions(state, old, thread_axis)
    require_independent(state, old, "bind", False, across=True)
    marked = old.replace(kind=kind, thread=thread_axis, annotations=old.annotations.set(CROSS_THREAD, 1))
    note = f"combined across threads: {', '.join(site.name for site in reductions)}"
    return Change(replaced(state.func, {id(old): marked}), (), (note,))


def _is_shared_reduction(state: ScheduleState, loop: t.For, thread_axis: str) -> bool:
    """Whether a loop is one of reductions that the threads of a group may share."""
    if not thread_axis.startswith("threadIdx") or extent_of(loop) in (0, 1):
        return False
    found = [site for site in state.tree.under(loop) if id(loop.var) in reduce_variables(site)]
    return bool(found) and all(_is_combinable(site, loop) for site in found)


def _reductions(state: ScheduleState, loop: t.For, thread_axis: str) -> list[BlockSite]:
    """The reductions that run over `loop`, which threads of one group may share."""
    found = [site for site in blocks_under(state, loop) if id(loop.var) in reduce_variables(site)]
    require(
        bool(found) and all(_is_combinable(site, loop) for site in found),
        "E-SCHEDULE-NOT-REDUCTION-LOOP",
        f"cannot combine the iterations of {loop.var.name} across threads",
        found=", ".join(site.name for site in found) or "no reduction runs over the loop",
        expected="a loop of reductions that begin with their initialisation and may be done in any order",
        fix="leave cross_thread out, or choose a reduction loop before decompose_reduction",
        nodes=(loop,),
    )
    require(
        thread_axis.startswith("threadIdx"),
        "E-SCHEDULE-THREAD",
        f"values cannot be combined across {thread_axis}",
        found="blocks of threads, which do not wait for each other",
        expected="threadIdx.x, threadIdx.y or threadIdx.z",
        fix="use rfactor, and bind the loop over partial results",
        nodes=(loop,),
    )
    return found


def _is_combinable(site: BlockSite, loop: t.For) -> bool:
    """Whether what the iterations of `loop` add may be combined in any order, once the first has initialised."""
    begins = site.block.init is not None and initialises_first(site) and not steps_through_both(site, [loop])
    return begins and reduction_operator(site.block) is not None
