"""What compiled code runs on: modules, packed functions, arrays, devices, executors, the thread pool.

Over the open tvm-ffi calling convention; everything of it is imported at first use.
"""

from __future__ import annotations

from ..core.late_names import late_names, names_of

_NAMES = names_of(
    {
        ".devices": "Device cpu cuda device gpu",
        ".model": "CompiledModel KernelCall TensorSpec",
        ".module": "CodeUnit Module load_module",
        ".ndarray": "NDArray",
        ".packed": "PackedFunc convert_function get_global_func register_func",
        ".threads": "num_threads set_num_threads",
        ".timing": "BenchmarkResult",
    }
)
__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = late_names(__name__, _NAMES)
