"""The canonical order of recorded calls: functions of what was called, never of when.

Invariant: a call that uses what another made, or changes what another uses, stays on its side of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...tir.nodes import IterVar
from .graph import CacheRead, GraphCall
from .relations import Mark, Relation, Remark, StageRecord


def in_order(calls: Sequence[GraphCall]) -> list[GraphCall]:
    """The calls in canonical order: what uses or changes what another made or changed stays after it."""
    waiting = list(calls)
    done: list[GraphCall] = []
    while waiting:
        ready = [
            call for at, call in enumerate(waiting) if not any(_depends(call, earlier) for earlier in waiting[:at])
        ]  # fmt: skip
        chosen = min(ready, key=_rank)
        waiting.remove(chosen)
        done.append(chosen)
    return done


def _depends(call: GraphCall, earlier: GraphCall) -> bool:
    touched = earlier.changes | {earlier.made}
    return bool(touched & call.uses) or bool(call.changes & earlier.uses)


def _rank(call: GraphCall) -> tuple[Any, ...]:
    readers = call.readers if isinstance(call, CacheRead) else ()
    return (type(call).__name__, call.source, readers, getattr(call, "scope", ""))


def next_relation(waiting: Iterable[Relation], current: Sequence[IterVar]) -> Relation:
    """Of the relations whose inputs are there, the one of the outermost loop in the stage's own canonical order."""
    places = {id(axis): number for number, axis in enumerate(current)}
    ready = [item for item in waiting if all(id(part) in places for part in item.inputs)]
    return min(ready, key=lambda item: [places[id(part)] for part in item.inputs])


def same_order(one: Sequence[IterVar], other: Sequence[IterVar]) -> bool:
    return all(a is b for a, b in zip(one, other, strict=True))


def index_of(axes: Sequence[IterVar], wanted: IterVar) -> int:
    return next(number for number, axis in enumerate(axes) if axis is wanted)


def remark_rank(remark: Remark) -> tuple[Any, ...]:
    return (remark.kind, repr(remark.value) if isinstance(remark.value, (int, str, tuple)) else "")


def ordered_marks(stages: Sequence[StageRecord], kinds: Sequence[str]) -> list[tuple[StageRecord, Mark]]:
    """The marks by kind, then stage, then loop."""
    found: list[tuple[StageRecord, Mark]] = []
    for kind in kinds:
        for stage in stages:
            places = {id(leaf): number for number, leaf in enumerate(stage.leaves)}
            own = [mark for mark in stage.marks if mark.kind == kind]
            own.sort(key=lambda mark: (places.get(id(mark.axis), -1), repr(mark.value)))
            found.extend((stage, mark) for mark in own)
    return found
