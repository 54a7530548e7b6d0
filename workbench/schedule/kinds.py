"""The kinds of loops: the common part of vectorize, parallel, unroll and bind, and what moving blocks asks of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..core.node import FrozenMap
from ..tir import nodes as t
from .legality import require_independent
from .state import Change, ScheduleState
from .surgery import loop_replaced

CROSS_THREAD = "cross_thread"
"""The annotation of a loop bound to threads that combine the values of its iterations."""


def annotated(state: ScheduleState, loop: t.For, kind: t.ForKind, thread: str = "") -> Change[None]:
    """`loop` made of another kind, whatever it was before; the caller has asked whether that is legal."""
    if loop.kind is kind and loop.thread == thread and not loop.is_cross_thread:
        return Change(state.func)
    annotations = FrozenMap({key: value for key, value in loop.annotations.items() if key != CROSS_THREAD})
    made = loop.replace(kind=kind, thread=thread, annotations=annotations)
    return Change(loop_replaced(state.tree, loop, made))


def require_still_independent(state: ScheduleState, func: t.PrimFunc, buffers: Iterable[t.Buffer]) -> None:
    """Refuse when blocks have moved in `func` so that a loop whose iterations run at once is independent no more.

    A buffer that was private to each iteration of such a loop is not once a block outside reads it.
    """
    if not any(site.loop.kind in t.AT_ONCE for site in state.tree.loops.values()):
        return  # no primitive that moves blocks makes a loop run at once
    after = replace(state, functions=state.functions.set(state.working, func))
    at_once = {
        id(loop): loop
        for buffer in buffers
        for site in after.tree.accessing(buffer)
        for loop in site.loops
        if loop.kind in t.AT_ONCE
    }
    for loop in at_once.values():
        require_independent(after, loop, "go on running {} at once after this step", loop.has_private_buffers)
