"""Further questions to the tile lens: a cache of chosen size, reuse distances, lifetimes of buffers, iterations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from workbench.core.errors import WorkbenchError
from workbench.schedule.schedule import Schedule
from workbench.ui.protocol import Answer, argument, items
from workbench.views.memory import iterated, lifetimes, reused, simulated

NAMES = ("simulate", "reuse", "lifetimes", "iterations")
_LARGEST: Final = 1 << 30
"""Bytes of a cache that is simulated: each of its lines takes memory."""
_LONGEST: Final = 1 << 16


def lens_extras(schedule: Callable[[], Schedule]) -> dict[str, Callable[[dict[str, Any]], Answer]]:
    """The commands by name, on the schedule that `schedule` gives."""

    def told(view: dict[str, Any]) -> Answer:
        return Answer(schedule().fingerprint(), view)

    def simulate(args: dict[str, Any]) -> Answer:
        size, line, ways = (argument(args, name, int) for name in ("size", "line", "ways"))
        if size > _LARGEST:
            raise WorkbenchError(
                "E-UI-ARGUMENT", "there is no cache of that size", found=f"{size:,} bytes",
                expected=f"at most {_LARGEST:,} bytes",
            )  # fmt: skip
        return told(simulated(schedule(), size, line, ways))

    def reuse(args: dict[str, Any]) -> Answer:
        line = argument(args, "line", int, 64)
        if not 0 < line <= _LONGEST:
            raise WorkbenchError(
                "E-UI-ARGUMENT", "there is no cache line of that length", found=f"{line:,} bytes",
                expected=f"1 to {_LONGEST:,} bytes",
            )  # fmt: skip
        return told(reused(schedule(), line))

    def iterations(args: dict[str, Any]) -> Answer:
        axes = items(args, "axes", str, None)
        if axes and len(axes) != 2:
            raise WorkbenchError("E-UI-ARGUMENT", "two axes are drawn", found=str(axes)[:60], expected="two names")
        return told(iterated(schedule(), argument(args, "block", str), (axes[0], axes[1]) if axes else None))

    return {
        "simulate": simulate,
        "reuse": reuse,
        "lifetimes": lambda args: told(lifetimes(schedule())),
        "iterations": iterations,
    }
