"""Joins and splits of very many tensors, as trees: what one kernel costs to compile grows with its operands.

    concatenate((x0, ..., x1599))
    ->  concatenate((concatenate((x0, ..., x63)), ..., concatenate((x1536, ..., x1599))))

Groups of equal shapes give equal kernels, which are compiled once.  The price is one more copy a level, at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...core.limits import limits
from ...core.module import IRModule
from ...core.node import post_order
from ...core.rewrite import Match, RuleTable
from .. import op as relay
from ..ir import expr as e
from ..ir.types import TensorType
from ..patterns import any_, op

WIDE: Final = 64
"""Most tensors that one operator joins, or cuts a tensor into."""

RULES = RuleTable("wide")


def require_operands(mod: IRModule) -> None:
    """Refuse operators and functions with more operands than are compiled (`wb.limits.operands`)."""
    for name, func in mod.items():
        if not isinstance(func, e.Function):
            continue
        limits.check("operands", len(func.params), "a function with its parameters", name)
        for node in post_order(func.body):
            if isinstance(node, (e.Call, e.Tuple)):
                fields = node.args if isinstance(node, e.Call) else node.fields
                if len(fields) > limits.operands:
                    limits.check("operands", len(fields), f"a {type(node).__name__.lower()} with its operands", name)


def _grouped(count: int) -> list[slice]:
    """At most `WIDE` groups of neighbours: of `WIDE` each, or of the least power of it that suffices."""
    size = WIDE
    while size * WIDE < count:
        size *= WIDE
    return [slice(begin, begin + size) for begin in range(0, count, size)]


def _joined(parts: Sequence[e.Expr], axis: int) -> e.Expr:
    """One after the other along an axis, by operators of at most `WIDE` operands."""
    if len(parts) == 1:
        return parts[0]
    if len(parts) > WIDE:
        parts = [_joined(parts[group], axis) for group in _grouped(len(parts))]
    return relay.call("concatenate", e.Tuple(tuple(parts)), axis=axis)


@RULES.rule("concatenate-wide", op("concatenate", any_("parts"), name="join"))
def concatenate_wide(m: Match) -> Any:
    """Joining very many tensors is joining joined ones."""
    parts = m["parts"]
    if not isinstance(parts, e.Tuple) or len(parts.fields) <= WIDE:
        return None
    return _joined(parts.fields, m["join"].op.axis)


@RULES.rule("stack-wide", op("stack", any_("parts"), name="join"))
def stack_wide(m: Match) -> Any:
    """Stacking very many tensors is joining stacks of them."""
    parts = m["parts"]
    if not isinstance(parts, e.Tuple) or len(parts.fields) <= WIDE:
        return None
    axis, fields = m["join"].op.axis, parts.fields
    stacks = [
        relay.call("stack", e.Tuple(fields[begin : begin + WIDE]), axis=axis) for begin in range(0, len(fields), WIDE)
    ]
    return _joined(stacks, axis)


def _parts(value: e.Expr, borders: Sequence[int], axis: int) -> list[e.Expr]:
    """What lies between neighbouring borders (the ends included) of a tensor whose first element is at the first."""
    count = len(borders) - 1
    if count == 1:
        return [value]
    groups = _grouped(count) if count > WIDE else [slice(at, at + 1) for at in range(count)]
    inner = tuple(borders[group.start] - borders[0] for group in groups[1:])
    cut = relay.call("split", value, indices_or_sections=inner, axis=axis)
    found: list[e.Expr] = []
    for number, group in enumerate(groups):
        found += _parts(e.TupleGetItem(cut, number), borders[group.start : group.stop + 1], axis)
    return found


@RULES.rule("split-wide", op("split", any_("x"), name="split"))
def split_wide(m: Match) -> Any:
    """Cutting a tensor into very many parts is cutting parts of it."""
    x, split = m["x"], m["split"]
    cuts, kind = split.op.indices_or_sections, x.checked_type
    count = cuts if isinstance(cuts, int) else len(cuts) + 1
    if count <= WIDE or not isinstance(kind, TensorType) or not kind.is_static:
        return None
    axis = int(split.op.axis) % len(kind.shape)
    extent = kind.concrete_shape[axis]
    equal = isinstance(cuts, int)
    borders: list[int] = [at * (extent // cuts) for at in range(cuts)] if equal else [0, *map(int, cuts)]
    return e.Tuple(tuple(_parts(x, [*borders, extent], axis)))
