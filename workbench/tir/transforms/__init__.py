"""Passes over the loop IR, one file a pass; `pipeline.KERNEL_PIPELINE` lists those that make a kernel, in order."""

from .flatten_buffer import FlattenBuffer

__all__ = ["FlattenBuffer"]
