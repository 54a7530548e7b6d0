"""The native runtime: a small C library (pool, contexts, argument checks), built once and loaded lazily.

`library()` loads the built library; `build` makes it with the system's C compiler or ziglang.  Without either nothing
runs here, which `why_missing()` explains (E-RUN-NATIVE).
"""

from __future__ import annotations

from ...core.late_names import late_names, names_of

_NAMES = names_of(
    {
        ".loader": "NativeRuntime library why_missing",
    }
)
__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = late_names(__name__, _NAMES)
