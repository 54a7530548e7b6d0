"""The schedule primitives, one file each; importing this package fills the table.

split      for i in range(n): S(i)   ->   for io, ii in grid(ceil(n / f), f): S(io * f + ii)
"""

from . import (
    annotate,
    bind,
    cache_read,
    cache_write,
    compute_at,
    compute_inline,
    decompose_reduction,
    fuse,
    get_block,
    get_child_blocks,
    get_consumers,
    get_loops,
    get_producers,
    parallel,
    reorder,
    reverse_compute_at,
    reverse_compute_inline,
    rfactor,
    set_scope,
    split,
    unroll,
    vectorize,
)

__all__ = [
    "annotate",
    "bind",
    "cache_read",
    "cache_write",
    "compute_at",
    "compute_inline",
    "decompose_reduction",
    "fuse",
    "get_block",
    "get_child_blocks",
    "get_consumers",
    "get_loops",
    "get_producers",
    "parallel",
    "reorder",
    "reverse_compute_at",
    "reverse_compute_inline",
    "rfactor",
    "set_scope",
    "split",
    "unroll",
    "vectorize",
]
