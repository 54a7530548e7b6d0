"""Facts about loop programs: what they touch, how much they compute, which steps depend on which.

`facts(schedule)` gives all at a glance; each fact is also a function of its own.  Names load on first use.

    import workbench as wb
    print(wb.analysis.footprints(sch, "llvm -mcpu=znver3"))
"""

from __future__ import annotations

import importlib
from typing import Any

_NAMES: dict[str, str] = {
    "CacheLevel": "workbench.target.memory",
    "access_patterns": "workbench.analysis.patterns",
    "calculate_allocated_bytes": "workbench.analysis.operations",
    "estimate_tir_flops": "workbench.analysis.operations",
    "facts": "workbench.analysis.summary",
    "flops": "workbench.analysis.operations",
    "footprints": "workbench.analysis.footprint",
    "iteration_points": "workbench.analysis.iterations",
    "loop_tree": "workbench.analysis.loop_trees",
    "register_use": "workbench.analysis.registers",
    "reuse_distance": "workbench.analysis.reuse",
    "roofline": "workbench.analysis.rooflines",
    "simulate_cache": "workbench.analysis.cache",
    "trace_of": "workbench.analysis.trace",
    "vector_widths": "workbench.analysis.patterns",
}
"""Public names and the module of each."""

__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'workbench.analysis' has no attribute {name!r}")
    return getattr(importlib.import_module(_NAMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_NAMES])
