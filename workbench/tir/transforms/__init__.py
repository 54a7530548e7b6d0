"""Passes over the loop IR, one file a pass; `pipeline.KERNEL_PIPELINE` lists those that make a kernel, in order."""

from .bound_check import BoundCheck
from .compact_buffers import CompactBuffers
from .flatten_buffer import FlattenBuffer
from .insert_polls import InsertPolls
from .lower_blocks import LowerBlocks
from .lower_intrinsics import LowerIntrinsics
from .pipeline import KERNEL_PIPELINE, lower, lower_module
from .poison_buffers import PoisonBuffers
from .simplify import Simplify
from .storage_plan import StoragePlan
from .unroll_loop import UnrollLoop
from .vectorize_loop import VectorizeLoop

__all__ = [
    "KERNEL_PIPELINE",
    "BoundCheck",
    "CompactBuffers",
    "FlattenBuffer",
    "InsertPolls",
    "LowerBlocks",
    "LowerIntrinsics",
    "PoisonBuffers",
    "Simplify",
    "StoragePlan",
    "UnrollLoop",
    "VectorizeLoop",
    "lower",
    "lower_module",
]
