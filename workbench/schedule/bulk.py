"""Many questions at once, for editors: what may be done with each loop of a nest, and where a block may be dropped.

    for row in sch.legal_moves("conv"):
        row.loop.var.name, row.parallel, row.vectorize, row.swap     # None where legal, else the ScheduleError
    for row in sch.drop_targets("pad"):
        row.loop.var.name, row.compute_at, row.reverse_compute_at

All rows share one dependence relation of the program.  Invariant: nothing is changed; an error's `attempt` stands on
the schedule that was asked, so that `suggest` and its suggestions work on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..tir import nodes as t
from .errors import ScheduleError, refuse
from .state import ScheduleState
from .trial import Trial


@dataclass(frozen=True)
class LoopMoves:
    """What may be done with one loop: None, or the refusal."""

    loop: t.For
    parallel: ScheduleError | None
    vectorize: ScheduleError | None
    unroll: ScheduleError | None
    swap: ScheduleError | None
    """With the next loop inside; refused for the innermost one."""


@dataclass(frozen=True)
class DropTarget:
    """Whether a block may be moved into one loop: None, or the refusal."""

    loop: t.For
    compute_at: ScheduleError | None
    reverse_compute_at: ScheduleError | None


def legal_moves(state: ScheduleState, block: str) -> list[LoopMoves]:
    """The loops around a block, outermost first.  Raises `ScheduleError` if there is no such block."""
    loops = state.find_block(block).loops
    trial = Trial(state)
    references = [trial.loop(loop) for loop in loops]
    rows: list[LoopMoves] = []
    for number, (loop, reference) in enumerate(zip(loops, references, strict=True)):
        if number + 1 < len(loops):
            swap = _tried(state, trial, "reorder", ordered_loops=(references[number + 1], reference))
        else:
            swap = _innermost(loop)
        rows.append(
            LoopMoves(
                loop,
                _tried(state, trial, "parallel", loop=reference),
                _tried(state, trial, "vectorize", loop=reference),
                _tried(state, trial, "unroll", loop=reference),
                swap,
            )
        )
    return rows


def drop_targets(state: ScheduleState, block: str) -> list[DropTarget]:
    """Every loop of the program but the block's own, in the order of the text.

    Raises `ScheduleError` if there is no such block.
    """
    site = state.find_block(block)
    own = {id(loop) for loop in site.loops}
    trial = Trial(state)
    moved = trial.block(block)
    targets = [(loop, trial.loop(loop)) for loop in _loops(state) if id(loop) not in own]
    return [
        DropTarget(
            loop,
            _tried(state, trial, "compute_at", block=moved, loop=reference),
            _tried(state, trial, "reverse_compute_at", block=moved, loop=reference),
        )
        for loop, reference in targets
    ]


def _loops(state: ScheduleState) -> Iterator[t.For]:
    """The loops around leaf blocks, each once."""
    seen: set[int] = set()
    for site in state.tree.leaves:
        for loop in site.loops:
            if id(loop) not in seen:
                seen.add(id(loop))
                yield loop


def _tried(state: ScheduleState, trial: Trial, primitive: str, **arguments: Any) -> ScheduleError | None:
    """Why a primitive is refused, or None."""
    try:
        Trial(trial.state).do(primitive, **arguments)
    except ScheduleError as error:
        if error.attempt is not None:
            error.attempt = replace(error.attempt, base=state)
        return error
    return None


def _innermost(loop: t.For) -> ScheduleError:
    return refuse(
        "E-SCHEDULE-SELECTION",
        f"there is no loop inside {loop.var.name} to change places with",
        found="the innermost loop",
        expected="a loop with another one inside",
        fix="split it first",
        nodes=(loop,),
    )
