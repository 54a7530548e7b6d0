"""Changing the kind of a loop: the common part of vectorize, parallel, unroll and bind."""

from __future__ import annotations

from collections.abc import Callable

from ..tir import nodes as t
from .errors import require
from .state import Change, ScheduleState
from .surgery import replaced


def annotated(
    state: ScheduleState, loop: t.For, kind: t.ForKind, legality: Callable[[], None], thread: str = ""
) -> Change[None]:
    """`loop` made of another kind, once `legality` has not refused."""
    require(
        loop.kind is t.ForKind.SERIAL,
        "E-SCHEDULE-KIND",
        f"{loop.var.name} is {loop.kind.value} already",
        found=f"a loop of kind {loop.kind.value}",
        expected="a serial loop",
        fix="undo the earlier step, or choose another loop",
        nodes=(loop,),
    )
    legality()
    made = loop.replace(kind=kind, thread=thread)
    return Change(replaced(state.func, {id(loop): made}))
