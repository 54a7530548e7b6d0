"""What code is made for: `Target`, its parsing, its capabilities."""

from __future__ import annotations

from ..core.late_names import late_names, names_of

_NAMES = names_of(
    {
        ".dispatch": "GenericFunc generic_func get_native_generic_func override_native_generic_func",
        ".target": "Target as_target cuda llvm tag_names",
    }
)
__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = late_names(__name__, _NAMES)
