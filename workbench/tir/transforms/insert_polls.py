"""InsertPolls: long loops ask now and then whether the call was cancelled, so that Ctrl-C works within a second.

    before:  for i in range(512): for j ...: for k ...: S
    after:   for i in range(512, annotations={"poll_cancel": True}): ...

A serial loop polls when one iteration costs enough to hide the question (`MINIMUM_COST` scalar operations, as counted
from constant extents) and no loop inside it polls.
"""

from __future__ import annotations

from typing import Any, Final

from ...arith import nodes as n
from ...core.trampoline import Task, run
from ...core.transform import function_pass
from .. import nodes as t
from ..build import seq

MINIMUM_COST: Final = 20_000
_UNKNOWN_EXTENT: Final = 64


@function_pass(name="InsertPolls", applies_to=t.PrimFunc)
def InsertPolls(func: t.PrimFunc, mod: Any, ctx: Any) -> t.PrimFunc:
    """Mark the loops that poll for cancellation."""
    body, _, _ = run(_visit(func.body))
    return func.replace(body=body)


def _visit(stmt: t.Stmt) -> Task:
    """The statement, what it costs, and whether something in it polls."""
    if isinstance(stmt, t.SeqStmt):
        parts: list[t.Stmt] = []
        cost, polls = 0, False
        for part in stmt.stmts:
            made, inner_cost, inner_polls = yield _visit(part)
            parts.append(made)
            cost, polls = cost + inner_cost, polls or inner_polls
        same = all(a is b for a, b in zip(parts, stmt.stmts, strict=True))
        return (stmt if same else seq(*parts)), cost, polls
    changes: dict[str, Any] = {}
    cost, polls = 4, False
    for name in stmt.field_names:
        value = getattr(stmt, name)
        if isinstance(value, t.Stmt):
            changes[name], inner_cost, inner_polls = yield _visit(value)
            cost, polls = cost + inner_cost, polls or inner_polls
    made = stmt.replace(**changes) if changes else stmt
    if not isinstance(made, t.For):
        return made, cost, polls
    if made.kind is t.ForKind.SERIAL and not polls and cost >= MINIMUM_COST:
        made = made.replace(annotations=made.annotations.set("poll_cancel", True))
        polls = True
    extent = made.extent.value if isinstance(made.extent, n.IntImm) else _UNKNOWN_EXTENT
    return made, cost * max(extent, 1), polls
