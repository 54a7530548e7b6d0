"""Which lines of a kernel's loop program compute in lanes that the schedule made: vectors before LLVM sees them.

    vector_lines(s.provenance, kernel)      # {7, 8}: a loop, and the statement in it that works on 16 numbers at once
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..codegen.llvm.places import SourcePlace, printed
from ..core.node import pre_order
from ..tir import nodes as t

if TYPE_CHECKING:
    from .trails import Provenance


def vector_lines(provenance: Provenance, kernel: str) -> frozenset[int]:
    """The lines of statements in lanes, and of those that hold such and no loop of others."""
    function = provenance.function(kernel)
    _, places = printed(function, kernel)
    found: set[int] = set()
    for node in pre_order(function):
        if not isinstance(node, t.Stmt):
            continue
        stores = [one for one in pre_order(node) if isinstance(one, t.BufferStore)]
        if stores and any(one.value.dtype.lanes > 1 for one in stores) and not _scalar_loops(node):
            found.add(places.get(id(node), SourcePlace(0)).line)
    return frozenset(found - {0})


def _scalar_loops(node: t.Stmt) -> bool:
    """Whether a loop inside (or the node) holds stores, and none of them in lanes."""
    for loop in pre_order(node):
        if isinstance(loop, t.For):
            stores = [one for one in pre_order(loop) if isinstance(one, t.BufferStore)]
            if stores and all(one.value.dtype.lanes == 1 for one in stores):
                return True
    return False
