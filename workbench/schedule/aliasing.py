"""Functions whose parameters may overlap (attribute ``noalias`` false): what a schedule may do to them.

Legality tells accesses apart by buffer.  Where two parameters may be the same memory, that proves nothing, so only
primitives that keep the order of all stores and loads are legal.
"""

from __future__ import annotations

from typing import Final

from ..tir import nodes as t
from .legality import require_legal
from .registry import Primitive
from .state import ScheduleState

IN_ORDER: Final = frozenset({"split", "fuse", "unroll", "add_unit_loop", "loop_partition", "enter_postproc"})
"""Primitives after which everything runs in the order in which it ran."""
CATEGORIES: Final = frozenset({"get", "annotation", "sample"})
"""Categories that move nothing."""


def may_overlap(func: t.PrimFunc) -> bool:
    """Whether two parameters may share memory; that one of them is written is taken for granted."""
    apart = func.attrs.get("noalias", True) and func.attrs.get("tir.noalias", True)
    return not apart and sum(isinstance(param, t.Buffer) for param in func.params) > 1


def require_order_kept(state: ScheduleState, entry: Primitive) -> None:
    """Refuse a primitive that may change the order of accesses where parameters may overlap."""
    if entry.category in CATEGORIES or entry.name in IN_ORDER:
        return
    require_legal(
        state,
        not may_overlap(state.func),
        "E-SCHEDULE-OVERLAP",
        f"{entry.name} may change the order of stores and loads, and the parameters of {state.working} may overlap",
        found='T.func_attr({"noalias": False})',
        expected="parameters that are known to be apart, or a primitive that keeps the order: "
        + ", ".join(sorted(IN_ORDER)),
        fix="take the attribute away if callers never pass overlapping arrays",
        nodes=(),
    )
