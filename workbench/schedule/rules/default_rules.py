"""Which rules a kernel gets: by its anchor, the first that fits; else block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ...tir import nodes as t
from ..errors import ScheduleError
from ..schedule import Schedule
from . import conv, depthwise, generic, matmul, pixels, softmax, winograd
from .shapes import Machine

Rule = Callable[[Schedule, str, Machine], None]
"""(schedule, name of the anchor block, machine): schedules the whole function, or raises `ScheduleError`."""

RULES: dict[str, tuple[Rule, ...]] = {
    "conv2d": (conv.packed,),
    "conv2d_pixels": (pixels.panels,),
    "depthwise_conv2d": (conv.packed, depthwise.rows),
    "dense": (matmul.product,),
    "matmul": (matmul.product,),
    "batch_matmul": (matmul.product,),
    "softmax": (softmax.rows,),
    "conv2d_winograd": (winograd.tiles,),
}
"""By the anchor's name, the first that fits; what is not here, or fits none, is scheduled block by block."""


class KernelLike(Protocol):
    """What is asked of a kernel."""

    @property
    def func(self) -> t.PrimFunc: ...

    @property
    def target(self) -> Any: ...


def default(kernel: KernelLike) -> Schedule:
    """The default schedule of a kernel for its target."""
    schedule = Schedule(kernel.func)
    machine = Machine.of(kernel.target)
    anchor = generic.anchor(schedule)
    for rule in RULES.get(anchor[1], ()) if anchor is not None else ():
        attempt = schedule.copy()
        try:
            rule(attempt, anchor[0] if anchor is not None else "", machine)
            return attempt
        except ScheduleError:
            continue  # The shape does not fit the rule: the next one, or else block by block.
    generic.blockwise(schedule, machine)
    return schedule
