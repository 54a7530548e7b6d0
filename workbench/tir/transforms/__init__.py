"""Passes over the loop IR, one file a pass; `pipeline.KERNEL_PIPELINE` lists those that make a kernel, in order."""

from .compact_buffers import CompactBuffers
from .flatten_buffer import FlattenBuffer
from .lower_blocks import LowerBlocks
from .simplify import Simplify
from .vectorize_loop import VectorizeLoop

__all__ = ["CompactBuffers", "FlattenBuffer", "LowerBlocks", "Simplify", "VectorizeLoop"]
