"""What rules do to loops again and again: vectors along one, threads over the outer ones."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from ...arith import nodes as n
from ...arith.nodes import literal
from ...core.node import pre_order
from ...tir import nodes as t
from ...tir.transforms.float_functions import FLOAT32
from ..errors import ScheduleError
from ..references import LoopRV
from ..schedule import Schedule
from .shapes import PARALLEL_FROM, Machine, extent, whole_lanes

Result = TypeVar("Result")

PARTS = 64
"""Iterations of a parallel loop that are enough for threads to share out."""
SIDE_BY_SIDE = 4
"""Vectors of long arithmetic that are computed at once."""
MANY_REGISTERS = 32
"""With fewer, constants and numbers of so many vectors would not all be in registers."""
UNROLLED_TAPS = 16
"""Windows of at most so many elements are written out."""


def attempted(schedule: Schedule, rule: Callable[[], Result]) -> Result | None:
    """What a rule gives; None, and the schedule as it was, where one of its steps is refused."""
    before = schedule.state
    try:
        return rule()
    except ScheduleError:
        while schedule.state is not before:
            schedule.undo()
        return None


def taps_of(items: tuple[t.IterVar, ...]) -> int:
    """How many elements are reduced into one; 0 if that is not constant."""
    total = 1
    for item in items:
        if item.kind is t.IterKind.REDUCE:
            total *= extent(item) or 0
    return total


def vectors(schedule: Schedule, loop: LoopRV, lanes: int) -> tuple[list[LoopRV], list[LoopRV]]:
    """The loop cut into vectors; (loops left outside, the vectorized loop or nothing)."""
    outer, inner = cut(schedule, loop, lanes)
    for one in inner:
        schedule.vectorize(one)
    return outer, inner


def cut(schedule: Schedule, loop: LoopRV, lanes: int) -> tuple[list[LoopRV], list[LoopRV]]:
    """A loop cut for vectors: (loops left outside, the loop over a vector or nothing)."""
    size = schedule.get(loop).extent
    known = literal(size, None)
    chosen = (whole_lanes(known, lanes) if isinstance(known, int) else None) or lanes
    if not isinstance(known, int) or known > chosen:
        outer, inner = schedule.split(loop, factors=[None, chosen])
        return [outer], [inner]
    return ([], [loop]) if known > 1 else ([loop], [])


def several_vectors(schedule: Schedule, loop: LoopRV, lanes: int, machine: Machine) -> int:
    """Lanes of several vectors at once along a loop, where they leave no rest; else `lanes`, of one.

    For long chains of arithmetic on each number (exp, tanh): several at once wait less, and a loop of one vector spends
    a quarter of its instructions on itself.  Measured: GELU takes 0.77 of the time, tanh 0.84.
    """
    several = lanes * (SIDE_BY_SIDE if machine.registers >= MANY_REGISTERS else SIDE_BY_SIDE // 2)
    return several if (extent_of_loop(schedule, loop) or 1) % several == 0 else lanes


def is_long(value: n.PrimExpr) -> bool:
    """Whether an element takes one of the functions that become long chains of arithmetic."""
    return any(isinstance(node, n.Call) and node.op in FLOAT32 for node in pre_order(value))


def parallel(schedule: Schedule, loops: list[LoopRV], work: int) -> LoopRV | None:
    """Loops in parallel, if there is enough to do; else they stay as they are.  The innermost of them.

    The outer ones become one parallel loop of at least `PARTS` iterations; those inside stay, so that what tells their
    places is counted up, not divided out of one number.
    """
    if not loops or work < PARALLEL_FROM:
        return loops[-1] if loops else None
    count = _enough([extent_of_loop(schedule, loop) for loop in loops])
    joined = loops[0] if count == 1 else schedule.fuse(*loops[:count])
    with suppress(ScheduleError):  # refused, it leaves the schedule as it is; why_not first would do the work twice
        schedule.parallel(joined)
    return loops[-1] if count < len(loops) else joined


def _enough(extents: list[int | None]) -> int:
    """How many of the outer loops make `PARTS` iterations; all of them where an extent is not known."""
    total = 1
    for count, size in enumerate(extents, 1):
        if size is None:
            return len(extents)
        total *= size
        if total >= PARTS:
            return count
    return len(extents)


def extent_of_loop(schedule: Schedule, loop: LoopRV) -> int | None:
    """The constant extent of a loop."""
    found = getattr(schedule.get(loop).extent, "value", None)
    return found if isinstance(found, int) else None
