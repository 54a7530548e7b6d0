"""Facts about loop programs: what they touch, how much they compute, which steps depend on which.

`facts(schedule)` gives all at a glance; each fact is also a function of its own.  Names load on first use.

    import workbench as wb
    print(wb.analysis.footprints(sch, "llvm -mcpu=znver3"))
"""

from __future__ import annotations

from ..core.late_names import late_names, names_of

_NAMES = names_of(
    {
        "workbench.target.memory": "CacheLevel",
        ".cache": "simulate_cache",
        ".footprint": "footprints",
        ".iterations": "iteration_points",
        ".loop_trees": "loop_tree",
        ".operations": "calculate_allocated_bytes estimate_tir_flops flops",
        ".patterns": "access_patterns vector_widths",
        ".registers": "register_use",
        ".reuse": "reuse_distance",
        ".roofline_paths": "roofline_path",
        ".rooflines": "roofline",
        ".summary": "facts",
        ".trace": "trace_of",
    }
)
__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = late_names(__name__, _NAMES)
