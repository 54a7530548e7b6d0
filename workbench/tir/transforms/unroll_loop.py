"""UnrollLoop: short loops marked for unrolling are written out.

    before:  for i in T.unroll(2): S(i)
    after:   S(0); S(1)

A loop whose copies would exceed the limit keeps its mark, so that the program stays readable; the backend repeats its
body then.  Option ``tir.UnrollLoop``: ``{"auto_max_step": n, "explicit_unroll": bool}``; `auto_max_step` is the
limit in statements, `explicit_unroll=False` keeps every mark.
"""

from __future__ import annotations

from typing import Any, Final

from ...arith import nodes as n
from ...arith.build import add, const
from ...core.trampoline import Task, run
from ...core.transform import function_pass
from .. import nodes as t
from ..build import seq
from .constant_fold import folded_with
from .copies import fresh_copy
from .pragmas import has_pragmas, under_pragmas

MAX_STATEMENTS: Final = 4
"""Statements that a loop may become."""


@function_pass(name="UnrollLoop", applies_to=t.PrimFunc)
def UnrollLoop(func: t.PrimFunc, mod: Any, ctx: Any) -> t.PrimFunc:
    """Write out loops marked for unrolling; loops of one iteration always."""
    options = ctx.config.get("tir.UnrollLoop", {})
    limit = int(options.get("auto_max_step", MAX_STATEMENTS)) if options.get("explicit_unroll", True) else 0
    return unroll(func, limit)


def unroll(func: t.PrimFunc, limit: int = MAX_STATEMENTS) -> t.PrimFunc:
    body, _ = run(_unroll(func.body, limit))
    return func.replace(body=body)


def _unroll(stmt: t.Stmt, limit: int) -> Task:
    """The statement with its marked loops written out, and its number of leaves."""
    if isinstance(stmt, t.For):
        body, leaves = yield _unroll(stmt.body, limit)
        rebuilt = stmt.replace(body=body)
        if not _wanted(stmt, leaves, limit):
            return rebuilt, leaves
        return under_pragmas(stmt, _copies(rebuilt)), leaves * stmt.extent.value  # type: ignore[attr-defined]
    if isinstance(stmt, t.SeqStmt):
        parts: list[t.Stmt] = []
        total = 0
        for part in stmt.stmts:
            made, leaves = yield _unroll(part, limit)
            parts.append(made)
            total += leaves
        same = all(a is b for a, b in zip(parts, stmt.stmts, strict=True))
        return (stmt if same else seq(*parts)), total
    changes: dict[str, Any] = {}
    total = 1
    for name in stmt.field_names:
        value = getattr(stmt, name)
        if isinstance(value, t.Stmt):
            changes[name], leaves = yield _unroll(value, limit)
            total += leaves
    return (stmt.replace(**changes) if changes else stmt), total


def _wanted(loop: t.For, leaves: int, limit: int) -> bool:
    if not isinstance(loop.extent, n.IntImm):
        return False
    if loop.kind in (t.ForKind.SERIAL, t.ForKind.UNROLLED) and loop.extent.value == 1:
        return not has_pragmas(loop.annotations)
    return loop.kind is t.ForKind.UNROLLED and leaves * loop.extent.value <= limit


def _copies(loop: t.For) -> t.Stmt:
    assert isinstance(loop.extent, n.IntImm)
    values = [add(loop.min, const(step, loop.var.dtype)) for step in range(loop.extent.value)]
    bodies = (loop.body if step == 0 else fresh_copy(loop.body) for step in range(len(values)))
    return seq(*(folded_with(body, {loop.var: value}) for body, value in zip(bodies, values, strict=True)))
