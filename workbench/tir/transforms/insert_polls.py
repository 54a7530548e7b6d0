"""InsertPolls: long loops ask now and then whether the call was cancelled, so that Ctrl-C works within a second.

    before:  for i in range(512): for j ...: for k ...: S
    after:   for i in range(512, annotations={"poll_cancel": True}): ...

A serial loop polls when one iteration costs enough to hide the question (`MINIMUM_COST` scalar operations, as counted
from constant extents) and no loop inside it polls.  A loop of many cheap iterations is cut, and its outer part polls:

    before:  for i in range(10**11): S(i)
    after:   for o in range(10**11 // 4096, annotations={"poll_cancel": True}): for r in range(4096): S(o * 4096 + r)
"""

from __future__ import annotations

from typing import Any, Final

from ...arith import nodes as n
from ...arith.build import const, floordiv, minimum
from ...core.node import FrozenMap, post_order, substitute
from ...core.trampoline import Task, run
from ...core.transform import function_pass
from .. import nodes as t
from ..build import seq

MINIMUM_COST: Final = 20_000
LONG: Final = 1_000_000_000
"""A loop that costs as much and does not poll is cut: about a third of a second."""
_UNKNOWN_EXTENT: Final = 64


@function_pass(name="InsertPolls", applies_to=t.PrimFunc)
def InsertPolls(func: t.PrimFunc, mod: Any, ctx: Any) -> t.PrimFunc:
    """Mark the loops that poll for cancellation."""
    body, _, _ = run(_visit(func.body, _numbers(func)))
    return func.replace(body=body)


def _numbers(func: t.PrimFunc) -> frozenset[int]:
    """The scalar parameters that are no extents of a buffer: nothing bounds a loop that goes by them."""
    text = ", ".join(str(entry).partition("[")[2] for entry in func.attrs.get("signature", ()))
    extents = set(text.replace("]", "").split(", "))
    return frozenset(id(item) for item in func.params if isinstance(item, n.Var) and item.name not in extents)


def _visit(stmt: t.Stmt, numbers: frozenset[int]) -> Task:
    """The statement, what it costs, and whether something in it polls."""
    if isinstance(stmt, t.SeqStmt):
        parts: list[t.Stmt] = []
        cost, polls = 0, False
        for part in stmt.stmts:
            made, inner_cost, inner_polls = yield _visit(part, numbers)
            parts.append(made)
            cost, polls = cost + inner_cost, polls or inner_polls
        same = all(a is b for a, b in zip(parts, stmt.stmts, strict=True))
        return (stmt if same else seq(*parts)), cost, polls
    changes: dict[str, Any] = {}
    cost, polls = 4, False
    for name in stmt.field_names:
        value = getattr(stmt, name)
        if isinstance(value, t.Stmt):
            changes[name], inner_cost, inner_polls = yield _visit(value, numbers)
            cost, polls = cost + inner_cost, polls or inner_polls
    made = stmt.replace(**changes) if changes else stmt
    if not isinstance(made, t.For):
        return made, cost, polls
    if made.kind is t.ForKind.SERIAL and not polls and cost >= MINIMUM_COST:
        made = made.replace(annotations=made.annotations.set("poll_cancel", True))
        polls = True
    extent = made.extent.value if isinstance(made.extent, n.IntImm) else _UNKNOWN_EXTENT
    unbounded = any(id(part) in numbers for part in post_order(made.extent))
    if made.kind is t.ForKind.SERIAL and not polls and (unbounded or cost * extent >= LONG):
        return _cut(made, max(LONG // 100 // cost, 1)), cost * max(extent, 1), True
    return made, cost * max(extent, 1), polls


def _cut(loop: t.For, size: int) -> t.For:
    """The loop in pieces of `size` iterations; the last one may be shorter."""
    outer, inner = n.Var(f"{loop.var.name}_o", loop.var.dtype), n.Var(f"{loop.var.name}_r", loop.var.dtype)
    begin = outer * size
    known = loop.extent.value if isinstance(loop.extent, n.IntImm) else None
    left = const(size, loop.var.dtype)
    if known is None or known % size:
        left = minimum(left, loop.extent - begin)
    body = substitute(loop.body, {loop.var: loop.min + begin + inner})
    zero = const(0, loop.var.dtype)
    pieces = t.For(inner, zero, left, t.ForKind.SERIAL, body)
    return t.For(
        outer,
        zero,
        floordiv(loop.extent + (size - 1), const(size, loop.var.dtype)),
        t.ForKind.SERIAL,
        pieces,
        annotations=FrozenMap({"poll_cancel": True}),
    )
