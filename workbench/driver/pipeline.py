"""The pipeline that a model walks through, readable top to bottom.

Each line is a pass by name; a session shows one step for each.  `RELAY` runs on the imported module, `LOWER` makes
kernels and an entry of it, `tir.transforms.pipeline.KERNEL_PIPELINE` runs on those.
"""

from __future__ import annotations

from typing import Final

RELAY: Final[tuple[str, ...]] = (
    "InferType",
    "SimplifyInference",
    "DynamicToStatic",
    "CombineParallelConv2D",
    "CombineParallelDense",
    "CombineParallelBatchMatmul",
    "FoldConstant",
    "SimplifyExpr",
    "FoldScaleAxis",
    "FoldConstant",
    "CanonicalizeCast",
    "CanonicalizeOps",
    "FlattenAtrousConv",
    "EliminateCommonSubexpr",
    "FastMath",
    "AlterOpLayout",
    "PackWeights",
    "FoldConstant",
    "FuseOps",
)
"""Graph passes, in order; those run whose level is not above the context's, and those that it requires."""

ON_DEMAND: Final = frozenset({"DynamicToStatic", "CanonicalizeCast", "CanonicalizeOps", "FlattenAtrousConv"})
"""These graph passes of the classic pipeline run only where they are required."""

LOWER: Final = "Lower"
"""Fused functions become kernels (te -> tir blocks), the main function the native entry."""

SCHEDULE: Final = "Schedule"
"""The provider chooses each kernel's schedule."""

CODEGEN: Final = "Codegen"
"""Native code."""
