"""The native runtime: a small C library (pool, contexts, argument checks), built once and loaded lazily.

`library()` loads the built library; `build` makes it with the system's C compiler or ziglang.  Without either nothing
runs here, which `why_missing()` explains (E-RUN-NATIVE).
"""

from .loader import NativeRuntime, library, why_missing

__all__ = ["NativeRuntime", "library", "why_missing"]
