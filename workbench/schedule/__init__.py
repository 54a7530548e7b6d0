"""Schedules: immutable states, named steps, exact legality.  `Schedule` is the classic `tir.Schedule`."""

from .classic import StmtSRef, has_block, is_output_block
from .errors import ScheduleError
from .references import BlockRV, ExprRV, LoopRV
from .registry import PRIMITIVES, primitive
from .schedule import Schedule
from .state import Change, ScheduleState
from .suggesting_maps import suggest_index_map
from .trace import Step, Trace

__all__ = [
    "PRIMITIVES",
    "BlockRV",
    "Change",
    "ExprRV",
    "LoopRV",
    "Schedule",
    "ScheduleError",
    "ScheduleState",
    "Step",
    "StmtSRef",
    "Trace",
    "has_block",
    "is_output_block",
    "primitive",
    "suggest_index_map",
]
