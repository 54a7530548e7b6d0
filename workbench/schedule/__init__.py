"""Schedules: immutable states, named steps, exact legality.  `Schedule` is the classic `tir.Schedule`."""

from __future__ import annotations

from ..core.late_names import late_names, names_of

_NAMES = names_of(
    {
        ".classic": "StmtSRef has_block is_output_block",
        ".errors": "ScheduleError",
        ".references": "BlockRV ExprRV LoopRV",
        ".registry": "PRIMITIVES primitive",
        ".schedule": "Schedule",
        ".state": "Change ScheduleState",
        ".suggesting_maps": "suggest_index_map",
        ".trace": "Step Trace",
    }
)
__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = late_names(__name__, _NAMES)
