"""PoisonBuffers: what a function allocates starts as NaN (checked mode), so that reading it too early shows.

    before:  alloc A: S
    after:   alloc A: for i in range(16): A[i] = NaN
                      S

Integers start as the number made of bytes 0xA5, bools are left alone.  Runs on flat code; the fill is a plain loop.
A buffer much larger than what is done with it (one that CompactBuffers has not made small yet) is left alone.
"""

from __future__ import annotations

import math
from typing import Any, Final

from ...analysis.tree import loops_around, statements_in
from ...arith import nodes as n
from ...arith.build import const
from ...arith.nodes import literal
from ...core.dtype import DataType
from ...core.node import rewrite
from ...core.transform import function_pass
from .. import nodes as t
from ..build import loop, seq

PATTERN: Final = 0xA5
MOST_FILL: Final = 4
"""How many elements are filled at most for each innermost iteration during the buffer's life."""


@function_pass(name="PoisonBuffers", applies_to=t.PrimFunc)
def PoisonBuffers(func: t.PrimFunc, mod: Any, ctx: Any) -> t.PrimFunc:
    """Fill every allocation with NaN first."""
    return poison(func)


def poison(func: t.PrimFunc) -> t.PrimFunc:
    """`func` with a fill at the start of each allocation's life."""
    return func.replace(body=rewrite(func.body, _filled, lambda node: node if isinstance(node, t.Buffer) else None))


def _filled(node: Any) -> Any:
    if not isinstance(node, t.AllocBuffer) or len(node.buffer.shape) != 1:
        return None
    value = poison_value(node.buffer.dtype)
    size = literal(node.buffer.shape[0], 0)
    if value is None or size > MOST_FILL * _iterations(node.body):
        return None
    var = n.Var("poison", DataType("int64"))
    fill = loop(var, node.buffer.shape[0], t.BufferStore(node.buffer, value, (var,)))
    return node.replace(body=seq(fill, node.body))


def _iterations(body: t.Stmt) -> int:
    """About how many innermost iterations a statement takes, lanes counted."""
    return sum(
        math.prod(literal(loop.extent, 16) for loop in loops)
        * (stmt.value.dtype.lanes if isinstance(stmt, t.BufferStore) else 1)
        for stmt, loops in loops_around(body) if not statements_in(stmt)
    )  # fmt: skip


def poison_value(dtype: DataType) -> n.PrimExpr | None:
    """What unwritten elements of a dtype hold in checked mode; None where nothing stands out."""
    if dtype.is_float:
        return const(math.nan, dtype)
    if not dtype.is_integer or dtype.lanes != 1:
        return None
    number = int.from_bytes(bytes([PATTERN]) * max(1, dtype.bits // 8), "little", signed=dtype.is_int)
    return const(number, dtype)
