"""Teaching with the workbench: exercises that are checked by the compiler itself.

    from workbench import teach
    task = teach.task("06_1", student="ada")     # an exercise with ada's shapes
    task.check(answer); task.hint()              # a card; then hints that say a little more each time
    teach.predict("How many misses?", truth=count, guess=...).reveal()      # asks; reveals once there is a guess

On the command line: `workbench teach release | grade | report`.  Names load on first use.
"""

from __future__ import annotations

from ..core.late_names import Names, late_names, names_of

_NAMES: Names = {
    **names_of(
        {
            ".cache_checks": "cycles_at_most misses_at_most",
            ".checks": "at_most_steps avoids holds legal metric same_numbers same_program uses value_is",
            ".exercise": "Check Exercise Verdict find",
            ".loop_checks": "loop_extents loop_order parallel vectorized",
            ".machine_code": "HotCode hot_code",
            ".predictions": "Covered Prediction predict",
            ".shapes": "shapes_for",
            ".stage_checks": "inlined inside partial_results scratch_at_most",
            ".tasks": "Progress Report Task progress task",
            ".work": "Work",
        }
    ),
    "check_answer": (".tasks", "check"),
}
__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = late_names(__name__, _NAMES)
