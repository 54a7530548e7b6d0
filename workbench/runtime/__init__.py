"""Running compiled code: arrays, functions and modules over the tvm-ffi ABI; one thread pool a process.

Names load on first use, so that importing this package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

_NAMES = {
    "Device": "device",
    "cpu": "device",
    "device": "device",
    "NDArray": "ndarray",
    "PackedFunc": "packed_func",
    "convert": "packed_func",
    "get_global_func": "packed_func",
    "register_func": "packed_func",
    "Module": "module",
    "load_module": "export",
    "BenchmarkResult": "benchmark",
    "CompiledModel": "compiled",
    "num_threads": "threads",
    "set_num_threads": "threads",
}
"""Public names and the files that define them."""

__all__ = sorted([*_NAMES, "ndarray"])


def __getattr__(name: str) -> Any:
    if name == "ndarray":
        return importlib.import_module(".ndarray", __name__)
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
    globals()[name] = value
    return value
