"""All passes over the loop IR: importing this module enters them into the table of passes."""

from . import (
    bound_check,
    compact_buffers,
    flatten_buffer,
    insert_polls,
    lower_blocks,
    lower_intrinsics,
    poison_buffers,
    simplify,
    storage_plan,
    unroll_loop,
    vectorize_loop,
)

__all__ = [
    "bound_check",
    "compact_buffers",
    "flatten_buffer",
    "insert_polls",
    "lower_blocks",
    "lower_intrinsics",
    "poison_buffers",
    "simplify",
    "storage_plan",
    "unroll_loop",
    "vectorize_loop",
]
