"""Teaching with the workbench: exercises that are checked by the compiler itself.

    from workbench import teach
    task = teach.task("06_1", student="ada")     # an exercise with ada's shapes
    task.check(answer); task.hint()              # a card; then hints that say a little more each time
    teach.predict("How many misses?", truth=count, guess=1000).reveal()

On the command line: `workbench teach release | grade | report`.  Names load on first use.
"""

from __future__ import annotations

import importlib
from typing import Any

_NAMES: dict[str, tuple[str, str]] = {
    "Check": ("exercise", "Check"),
    "Exercise": ("exercise", "Exercise"),
    "Prediction": ("predictions", "Prediction"),
    "Progress": ("tasks", "Progress"),
    "Report": ("tasks", "Report"),
    "Task": ("tasks", "Task"),
    "Verdict": ("exercise", "Verdict"),
    "Work": ("work", "Work"),
    "at_most_steps": ("checks", "at_most_steps"),
    "avoids": ("checks", "avoids"),
    "check_answer": ("tasks", "check"),
    "cycles_at_most": ("cache_checks", "cycles_at_most"),
    "find": ("exercise", "find"),
    "holds": ("checks", "holds"),
    "inlined": ("stage_checks", "inlined"),
    "inside": ("stage_checks", "inside"),
    "legal": ("checks", "legal"),
    "loop_extents": ("loop_checks", "loop_extents"),
    "loop_order": ("loop_checks", "loop_order"),
    "metric": ("checks", "metric"),
    "misses_at_most": ("cache_checks", "misses_at_most"),
    "parallel": ("loop_checks", "parallel"),
    "partial_results": ("stage_checks", "partial_results"),
    "predict": ("predictions", "predict"),
    "progress": ("tasks", "progress"),
    "same_numbers": ("checks", "same_numbers"),
    "same_program": ("checks", "same_program"),
    "scratch_at_most": ("stage_checks", "scratch_at_most"),
    "shapes_for": ("shapes", "shapes_for"),
    "task": ("tasks", "task"),
    "uses": ("checks", "uses"),
    "value_is": ("checks", "value_is"),
    "vectorized": ("loop_checks", "vectorized"),
}
"""Public names: module of this folder, and what it is called there.  No module is called like a public name."""

__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'workbench.teach' has no attribute {name!r}")
    module, attribute = _NAMES[name]
    value = getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
