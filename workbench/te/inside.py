"""Reads that surely leave their tensor: such a definition is refused before there are loops of it.

    C = compute((4,), lambda i: X[i + 1], name="C")     # X has 4 elements: refused, C[3] would read X[4]

Refused is only what an iteration proves: one in the domain, for which every condition around the read holds and the
index lies outside.  What cannot be decided (an index or a condition that is data, a bound that no corner of the domain
reaches) is not refused.  An extent that is not known counts as at least one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..arith import build as b
from ..arith import nodes as n
from ..arith.simplify import Simplifier
from ..core.errors import WorkbenchError
from ..core.node import children, pre_order, substitute
from ..tir.nodes import Range
from ..tir.script import script
from .nodes import ComputeOp, ProducerLoad, Reduce, Tensor

MOST_PARTS: Final = 20_000
"""Parts of a body that are looked at, one under two conditions counted twice; later ones are not."""
MOST_CONDITIONS: Final = 64
"""Conditions inside one another, beyond which parts are not looked at."""

Guard = tuple[n.PrimExpr, ...]
"""What holds where a part of an expression is evaluated."""


def require_inside(op: ComputeOp, domains: Mapping[n.Var, Range]) -> None:
    """Raise E-TE-BOUNDS if the body of a stage surely reads outside of a tensor; `domains` are those of its axes."""
    if any(isinstance(dom.extent, n.IntImm) and dom.extent.value < 1 for dom in domains.values()):
        return
    ranges = Simplifier()
    for variable, dom in domains.items():
        ranges.bind_range(variable, dom.min, dom.extent)
    for load, guard in _loads(op):
        known: Simplifier | None = None
        for axis, (index, extent) in enumerate(zip(load.indices, load.producer.shape, strict=True)):
            extent = b.convert(extent)
            if _is_inside(ranges, index, extent) or _reads_data(index):
                continue
            if known is None:
                known = ranges.assuming(b.all_of(*guard)) if guard else ranges
            if guard and _is_inside(known, index, extent):
                continue
            for point in _corners(known, index, domains, guard):
                at = ranges.simplify(substitute(index, point))
                outside = b.logical_or(at < 0, at >= extent) if isinstance(at, n.IntImm) else at >= extent
                if ranges.can_prove(outside) and all(ranges.can_prove(substitute(one, point)) for one in guard):
                    raise _refusal(op, load, axis, ranges, at, point)


def _loads(op: ComputeOp) -> Iterator[tuple[ProducerLoad, Guard]]:
    """The reads of a stage, each with the conditions under which it happens."""
    seen: dict[tuple[int, tuple[int, ...]], Guard] = {}  # with the conditions: no other ones get their identities
    stack: list[tuple[Any, Guard]] = [(body, ()) for body in reversed(op.body)]
    while stack and len(seen) < MOST_PARTS:
        part, guard = stack.pop()
        key = (id(part), tuple(map(id, guard)))
        if key in seen or isinstance(part, Tensor) or len(guard) > MOST_CONDITIONS:
            continue
        seen[key] = guard
        if isinstance(part, ProducerLoad):
            yield part, guard
        stack += reversed(_parts(part, guard))


def _parts(part: Any, guard: Guard) -> list[tuple[Any, Guard]]:
    """The operands of an expression, each with the conditions under which it matters."""
    if isinstance(part, n.Select) or (isinstance(part, n.Call) and part.op == "if_then_else"):
        test, yes, no = part.args if isinstance(part, n.Call) else (part.condition, part.true_value, part.false_value)
        return [(test, guard), (yes, (*guard, test)), (no, (*guard, b.logical_not(test)))]
    if isinstance(part, n.And):
        return [(part.a, guard), (part.b, (*guard, part.a))]
    if isinstance(part, n.Or):
        return [(part.a, guard), (part.b, (*guard, b.logical_not(part.a)))]
    if isinstance(part, Reduce):
        always = isinstance(part.condition, n.IntImm) and part.condition.value
        inside = guard if always else (*guard, part.condition)
        return [(part.condition, guard), *((source, inside) for source in part.source)]
    return [(child, guard) for child in children(part)]


def _is_inside(ranges: Simplifier, index: n.PrimExpr, extent: n.PrimExpr) -> bool:
    bound = ranges.bound(index)
    return isinstance(extent, n.IntImm) and bound.low >= 0 and bound.high < extent.value


def _reads_data(index: n.PrimExpr) -> bool:
    return any(isinstance(part, ProducerLoad) for part in pre_order(index))


def _corners(
    known: Simplifier, index: n.PrimExpr, domains: Mapping[n.Var, Range], guard: Guard
) -> Iterator[dict[n.Var, n.PrimExpr]]:
    """The iterations at which an index that is monotone in each variable is greatest and least.

    Conditions that bound a variable narrow its ends; of variables that the index does not name, both ends are tried.
    """
    named = {id(part) for part in pre_order(index) if isinstance(part, n.Var)}
    others = {id(part) for one in guard for part in pre_order(one) if isinstance(part, n.Var)} - named
    needed = [item for item in domains.items() if id(item[0]) in named | others]
    ends = {variable: _ends(known, variable, dom) for variable, dom in needed}
    lowest = {variable: low for variable, (low, _) in ends.items()}
    rises = {variable: _rises(known, index, variable, lowest, ends[variable][1]) for variable in ends}
    for greatest in (True, False):
        for other in (False, True) if others else (False,):
            yield {
                variable: pair[(rises[variable] == greatest) if id(variable) in named else other]
                for variable, pair in ends.items()
            }


def _ends(known: Simplifier, variable: n.Var, dom: Range) -> tuple[n.PrimExpr, n.PrimExpr]:
    if isinstance(dom.extent, n.IntImm) and isinstance(dom.min, n.IntImm):
        bound = known.bound(variable)
        if bound.low <= bound.high:
            return b.const(int(bound.low), variable.dtype), b.const(int(bound.high), variable.dtype)
    return b.cast(variable.dtype, dom.min), b.cast(variable.dtype, b.subtract(b.add(dom.min, dom.extent), 1))


def _rises(
    known: Simplifier, index: n.PrimExpr, variable: n.Var, lowest: dict[n.Var, n.PrimExpr], end: n.PrimExpr
) -> bool:
    """Whether an index is no less at the end of a variable's range than at its begin, the others at theirs."""
    return known.can_prove(substitute(index, {**lowest, variable: end}) >= substitute(index, lowest))


def _refusal(
    op: ComputeOp, load: ProducerLoad, axis: int, ranges: Simplifier, at: n.PrimExpr, point: dict[n.Var, n.PrimExpr]
) -> WorkbenchError:
    name, index, extent = load.producer.name, load.indices[axis], load.producer.shape[axis]
    shown = ", ".join(f"{variable.name} = {_text(ranges.simplify(value))}" for variable, value in point.items())
    bound = ranges.bound(index)
    whole = isinstance(at, n.IntImm) and bound.low > -(1 << 62) and bound.high < 1 << 62
    span = f" (it runs from {bound.low} to {bound.high})" if whole else ""
    return WorkbenchError(
        "E-TE-BOUNDS", f"{op.name} reads {name} outside of its axis {axis}", where=f"the definition of {op.name}",
        found=f"index {_text(index)}" + (f"{span}; it is {_text(at)} at {shown}" if shown else ""),
        expected=f"0 to extent {_text(extent)} (exclusive) of {name}",
        fix=f"give {op.name} the elements only for which {name} has one, or read under a condition: "
            f"te.if_then_else(condition, {name}[...], other)",
        nodes=(op, load),
    )  # fmt: skip


def _text(value: Any) -> str:
    return script(value) if isinstance(value, n.PrimExpr) else str(value)


__all__ = ["require_inside"]
