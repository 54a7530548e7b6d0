"""How many bytes the kernels of a model read and write in one run, by the types of what passes between them.

    traffic(session)        # 93_412_608: operands and results of every call of the fused graph

Caches are left out of account: it is what passes between kernels, not what comes from memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.dtype import DataType
from ..relay.ir import expr as r
from .intermediates import graph_steps, top_calls

if TYPE_CHECKING:
    from .session import Session


def traffic(session: Session) -> int | None:
    """Bytes in and out of all calls of the last graph; None without a graph, or where an extent is not known."""
    steps = graph_steps(session)
    if not steps:
        return None
    total = 0
    for call in top_calls(session.step(steps[-1]).stage.module["main"]).values():
        for value in (*call.args, call):
            size = _bytes(value)
            if size is None:
                return None
            total += size
    return total


def _bytes(value: r.Expr) -> int | None:
    return _of_type(value.type_or_none)


def _of_type(known: Any) -> int | None:
    fields = getattr(known, "fields", None)
    if fields is not None:
        sizes = [_of_type(field) for field in fields]
        return None if None in sizes else sum(size for size in sizes if size is not None)
    shape = getattr(known, "shape", None)
    if shape is None or not all(str(extent).isdigit() for extent in shape):
        return None
    count = 1
    for extent in shape:
        count *= int(str(extent))
    return count * DataType(str(known.dtype)).to_numpy().itemsize
