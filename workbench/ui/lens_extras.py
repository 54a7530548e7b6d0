"""Further questions to the tile lens: a cache of chosen size, reuse distances, lifetimes of buffers, iterations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.schedule.schedule import Schedule
from workbench.ui.protocol import Answer, argument
from workbench.views.memory import iterated, lifetimes, reused, simulated

NAMES = ("simulate", "reuse", "lifetimes", "iterations")


def lens_extras(schedule: Callable[[], Schedule]) -> dict[str, Callable[[dict[str, Any]], Answer]]:
    """The commands by name, on the schedule that `schedule` gives."""

    def told(view: dict[str, Any]) -> Answer:
        return Answer(schedule().fingerprint(), view)

    def simulate(args: dict[str, Any]) -> Answer:
        size, line, ways = (argument(args, name, int) for name in ("size", "line", "ways"))
        return told(simulated(schedule(), size, line, ways))

    def iterations(args: dict[str, Any]) -> Answer:
        axes = argument(args, "axes", list, None)
        if axes is not None and (len(axes) != 2 or not all(isinstance(one, str) for one in axes)):
            raise WorkbenchError("E-UI-ARGUMENT", "two axes are drawn", found=str(axes)[:60], expected="two names")
        return told(iterated(schedule(), argument(args, "block", str), (axes[0], axes[1]) if axes else None))

    return {
        "simulate": simulate,
        "reuse": lambda args: told(reused(schedule(), argument(args, "line", int, 64))),
        "lifetimes": lambda args: told(lifetimes(schedule())),
        "iterations": iterations,
    }
