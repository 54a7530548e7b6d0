"""The classic te schedule (`te.create_schedule`, `te.Stage`) as a recorder of calls over the one engine.

stages record -> materialize: graph calls, inlining, places and loops (consumers first), kinds of loops, initialisations
"""

from __future__ import annotations

from ...core.late_names import late_names, names_of

_NAMES = names_of(
    {
        ".calls": "Call StageError",
        ".schedule": "Schedule create_schedule",
        ".stage": "Stage",
    }
)
__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = late_names(__name__, _NAMES)
