"""Functions whose parameters may overlap (attribute ``noalias`` false): what a schedule may do to them.

Legality tells accesses apart by buffer.  Where two parameters may be the same memory, that proves nothing, so only
primitives that keep the order of all stores and loads are legal; each says so of itself (`Primitive.keeps_order`).
"""

from __future__ import annotations

from ..tir import nodes as t
from .legality import require_legal
from .registry import PRIMITIVES, STILL, Primitive
from .state import ScheduleState


def may_overlap(func: t.PrimFunc) -> bool:
    """Whether two parameters may share memory; that one of them is written is taken for granted."""
    apart = func.attrs.get("noalias", True) and func.attrs.get("tir.noalias", True)
    return not apart and sum(isinstance(param, t.Buffer) for param in func.params) > 1


def require_order_kept(state: ScheduleState, entry: Primitive) -> None:
    """Refuse a primitive that may change the order of accesses where parameters may overlap."""
    if entry.keeps_order:
        return
    others = sorted(each.name for each in PRIMITIVES.values() if each.keeps_order and each.category not in STILL)
    require_legal(
        state,
        not may_overlap(state.func),
        "E-SCHEDULE-OVERLAP",
        f"{entry.name} may change the order of stores and loads, and the parameters of {state.working} may overlap",
        found='T.func_attr({"noalias": False})',
        expected="parameters that are known to be apart, or a primitive that keeps the order: "
        + ", ".join(others),
        fix="take the attribute away if callers never pass overlapping arrays",
        nodes=(),
    )
