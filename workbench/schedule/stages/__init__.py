"""The classic te schedule (`te.create_schedule`, `te.Stage`) as a recorder of calls over the one engine.

stages record -> materialize: graph calls, inlining, places and loops (consumers first), kinds of loops, initialisations
"""

from .calls import Call, StageError
from .schedule import Schedule, create_schedule
from .stage import Stage

__all__ = ["Call", "Schedule", "Stage", "StageError", "create_schedule"]
