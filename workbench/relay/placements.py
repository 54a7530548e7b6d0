"""How the values of a graph lie, beside the graph before its layouts were changed.

    placements(session["AlterOpLayout"].program["main"])[id(call)]    # Placed(before="NHWC", now="NCHW")

`layout_transform` brings data into another order of axes; what computes on it afterwards gives results in that order,
as the operators' own layout rules say (`Operator.arrange`), asked here for the way back: of a value, `before` is how
its axes lie in the given graph, `now` how they lay before they were moved.  Values that lie as ever are left out, and
so are those with split axes ("NCHW16c").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.errors import WorkbenchError
from ..core.node import post_order
from ..topi.layout import parse
from .ir import expr as e
from .ir.operator import Operator, Placed


def placements(function: e.Function) -> dict[int, Placed]:
    """By identity of a call of the function's own graph: how its result lies, and how it lay."""
    found = _walk(function.body, {})
    return {key: placed for key, placed in found.items() if isinstance(placed, Placed)}


def _walk(body: e.Expr, found: dict[int, Any]) -> dict[int, Any]:
    """Add to `found` what is known of the expressions below `body`: a `Placed`, or for a tuple one each, or None."""
    for node in post_order(body):
        if isinstance(node, e.Tuple):
            found[id(node)] = tuple(found.get(id(item)) for item in node.fields)
        elif isinstance(node, e.TupleGetItem):
            whole = found.get(id(node.tuple_value))
            found[id(node)] = whole[node.index] if isinstance(whole, tuple) else None
        elif isinstance(node, e.Call):
            found[id(node)] = _of_call(node, [found.get(id(argument)) for argument in node.args])
    return found


def _of_call(call: e.Call, operands: Sequence[Any]) -> Any:
    if isinstance(call.op, e.Function):
        parameters = {id(var): placed for var, placed in zip(call.op.params, operands, strict=False)}
        return _walk(call.op.body, parameters).get(id(call.op.body))
    if not isinstance(call.op, Operator):
        return None
    if "data_layout" in call.op.field_names or "layout" in call.op.field_names:
        return operands[0]
    types = tuple(argument.checked_type for argument in call.args)
    try:
        found = call.op.arrange(tuple(operands), types)
    except WorkbenchError:
        return None
    return None if found is None else _whole(found.result)


def _whole(placed: Any) -> Any:
    """What is said of a result, less what is split."""
    parts: Any = placed
    if isinstance(placed, tuple):
        return tuple(_whole(part) for part in parts)
    return placed if isinstance(placed, Placed) and not parse(placed.before).factors else None
