"""Schedules: immutable states, named steps, exact legality.  `Schedule` is the classic `tir.Schedule`."""

from .errors import ScheduleError
from .references import BlockRV, LoopRV
from .registry import PRIMITIVES, primitive
from .schedule import Schedule
from .state import Change, ScheduleState
from .trace import Step, Trace

__all__ = [
    "PRIMITIVES",
    "BlockRV",
    "Change",
    "LoopRV",
    "Schedule",
    "ScheduleError",
    "ScheduleState",
    "Step",
    "Trace",
    "primitive",
]
