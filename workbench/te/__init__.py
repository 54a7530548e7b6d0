"""Tensor expressions: what is computed, before anything is said about how.

Classic names; `create_prim_func` makes loop IR of them.
"""

from __future__ import annotations

from ..core.late_names import late_names, names_of

_NAMES = names_of(
    {
        "workbench.arith.build": (
            "add cast const floordiv floormod if_then_else indexdiv indexmod multiply select subtract truncdiv truncmod"
        ),
        "workbench.tir.index_map": "AXIS_SEPARATOR",
        "workbench.tir.op": "decl_buffer div",
        ".build": (
            "all any comm_reducer compute max max_value min min_value placeholder prod reduce_axis "
            "size_var sum thread_axis var"
        ),
        ".external": "extern extern_primfunc",
        ".math": (
            "abs acos acosh asin asinh atan atan2 atanh ceil cos cosh erf exp exp2 floor fmod isfinite "
            "isinf isnan log log1p log2 log10 nearbyint popcount power round rsqrt sigmoid sin sinh "
            "sqrt tan tanh trunc"
        ),
        ".nodes": (
            "CommReducer ComputeOp ExternOp Operation PlaceholderOp ProducerLoad Reduce ScanOp Tensor TensorSlice"
        ),
        ".prim_func": "create_prim_func",
        ".scanning": "scan",
        ".tags": "tag_scope",
        ".tensor_intrin": "decl_tensor_intrin",
        "workbench.schedule.stages": "Schedule Stage create_schedule",
    }
)
__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = late_names(__name__, _NAMES)
