"""Default schedules: what a kernel gets when nobody chose otherwise.  Written with the primitives only, no search.

Tile sizes follow from the extents, the target's lanes and its vector registers.  Which rule a kernel gets is decided
by the annotation "anchor" of its blocks, which the operators' tensor expressions carry.

    sch = default(kernel)              # kernel.func unscheduled, kernel.target
    print(sch.code())                  # the steps that a person could have clicked
"""

from __future__ import annotations

from ...core.late_names import late_names, names_of

_NAMES = names_of(
    {
        ".default_rules": "RULES default",
    }
)
__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = late_names(__name__, _NAMES)
