"""The loop passes that make a scheduled function ready for code generation, in order; a session shows one step each."""

from __future__ import annotations

from typing import Final

KERNEL_PIPELINE: Final[tuple[str, ...]] = (
    "LowerBlocks",
    "CompactBuffers",
    "Simplify",
    "FlattenBuffer",
    "VectorizeLoop",
    "Simplify",
)
