"""Whether an expression has effects: such a value is another one each time, and no part of it may be left out.

>>> from workbench.arith import nodes as n
>>> from workbench.core.dtype import DataType
>>> read = n.Call(DataType("int64"), "call_extern", (n.StringImm("next_number"),))
>>> has_effects(n.Add(read, n.IntImm(1)))
True
"""

from __future__ import annotations

from ..core.node import FieldValue, pre_order
from .intrinsics import is_pure
from .nodes import Call, PrimExpr


def is_effect(node: FieldValue) -> bool:
    """Whether a node itself, not its parts, is a call that may change memory."""
    return isinstance(node, Call) and not is_pure(node.op)


def has_effects(expr: PrimExpr) -> bool:
    """Whether a call in an expression has effects."""
    return any(is_effect(node) for node in pre_order(expr))
