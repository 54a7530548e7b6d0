"""Classic names of `workbench.ir`: modules, comparison, passes, instruments."""

from __future__ import annotations

from ..core.late_names import Names, late_names, names_of

_NAMES: Names = {
    **names_of(
        {
            "workbench.core.module": "IRModule",
            ".comparing": "assert_structural_equal structural_equal structural_hash",
            "workbench.tir.transforms.intrinsic_rules": "register_intrin_lowering register_op_attr",
        }
    ),
    "instrument": (".instrument", None),
    "transform": (".transform", None),
}
__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = late_names(__name__, _NAMES)
