"""VectorizeLoop: loops marked as vectorized become operations on explicit vectors.

    before:  for i in T.vectorized(16): C[io * 16 + i] = A[io * 16 + i] * 2
    after:   C[T.ramp(io * 16, 1, 16)] = A[T.ramp(io * 16, 1, 16)] * T.broadcast(2, 16)

Conditions that differ by lane: stores under them become masked stores, behind a test whether all lanes hold (then no
mask is needed).  What has no form in lanes (calls with effects, inner loops of differing length, a store of one lane to
what all name) stays a serial loop.  Storing all lanes to one element is a reduction and refused.
"""

from __future__ import annotations

from typing import Any

from ...arith import nodes as n
from ...arith.build import add, all_of, const, multiply
from ...core import origin
from ...core.errors import WorkbenchError
from ...core.node import pre_order, substitute
from ...core.trampoline import Task, run
from ...core.transform import function_pass
from .. import nodes as t
from ..build import seq
from .constant_fold import fold
from .copies import fresh_copy
from .pragmas import under_pragmas
from .vectorize_expr import Lanes, Scalarise, scalar_of


@function_pass(name="VectorizeLoop", applies_to=t.PrimFunc)
def VectorizeLoop(func: t.PrimFunc, mod: Any, ctx: Any) -> t.PrimFunc:
    """Turn vectorized loops into vector operations (flat accesses only: run FlattenBuffer first)."""
    return vectorize(func, disabled=bool(ctx.config.get("tir.disable_vectorize", False)))


def vectorize(func: t.PrimFunc, disabled: bool = False) -> t.PrimFunc:
    return func.replace(body=run(_visit(func.body, disabled)))


def _visit(stmt: t.Stmt, disabled: bool) -> Task:
    """Vectorise inside out."""
    if isinstance(stmt, t.SeqStmt):
        parts: list[t.Stmt] = []
        for part in stmt.stmts:
            parts.append((yield _visit(part, disabled)))
        same = all(a is b for a, b in zip(parts, stmt.stmts, strict=True))
        return stmt if same else seq(*parts)
    changes: dict[str, Any] = {}
    never = isinstance(stmt, t.For) and isinstance(stmt.extent, n.IntImm) and stmt.extent.value <= 0
    for name in stmt.field_names:
        value = getattr(stmt, name)
        if isinstance(value, t.Stmt):
            changes[name] = yield _visit(value, disabled or never)  # where nothing runs, lanes may be of any kind
    made = stmt.replace(**changes) if changes else stmt
    if not isinstance(made, t.For) or made.kind is not t.ForKind.VECTORIZED:
        return made
    lanes = made.extent.value if isinstance(made.extent, n.IntImm) else 0
    if disabled or not 1 < lanes <= 256:
        return made.replace(kind=t.ForKind.SERIAL)
    return under_pragmas(made, (yield _stmt(made.body, made, Lanes(made.var, made.min, lanes))))


def _serial(stmt: t.Stmt, loop: t.For, lanes: Lanes) -> t.Stmt:
    """`stmt` under a serial loop of its own; unrolling is left to LLVM."""
    lanes.named_serially.update(id(node) for node in pre_order(stmt) if isinstance(node, n.Var))
    var = n.Var(loop.var.name, loop.var.dtype)
    return t.For(var, loop.min, loop.extent, t.ForKind.SERIAL, substitute(stmt, {loop.var: var}))


def _stmt(stmt: t.Stmt, loop: t.For, lanes: Lanes) -> Task:
    """`stmt` for all lanes at once."""
    try:
        leaf = _LEAVES.get(type(stmt))
        if leaf is not None:
            return leaf(stmt, lanes)
        if isinstance(stmt, t.IfThenElse):
            condition = lanes.vector(stmt.condition)
            if condition is not stmt.condition and not _can_be_masked(stmt, lanes):
                return _serial(stmt, loop, lanes)
            return (yield _if(stmt, scalar_of(condition), loop, lanes))
        if isinstance(stmt, t.For):
            _require_same(lanes, stmt.min, stmt.extent)
            return stmt.replace(body=(yield _stmt(stmt.body, loop, lanes)))
        if isinstance(stmt, t.LetStmt):
            return (yield _let(stmt, lanes.vector(stmt.value), loop, lanes))
        if not isinstance(stmt, t.SeqStmt):
            raise Scalarise(type(stmt).__name__)
    except Scalarise:
        return _serial(stmt, loop, lanes)
    return (yield _sequence(stmt, loop, lanes))


def _sequence(stmt: t.SeqStmt, loop: t.For, lanes: Lanes) -> Task:
    parts: list[t.Stmt] = []
    for part in stmt.stmts:
        parts.append((yield _stmt(part, loop, lanes)))
    return seq(*parts)


def _require_same(lanes: Lanes, *exprs: n.PrimExpr) -> None:
    if any(lanes.vector(expr) is not expr for expr in exprs):
        raise Scalarise("the loop differs by lane")


def _store(stmt: t.BufferStore, lanes: Lanes) -> t.Stmt:
    index = stmt.indices[0] if stmt.indices else const(0)
    where, value = lanes.vector(index), lanes.vector(stmt.value)
    if len(stmt.indices) > 1:
        raise Scalarise("the access is not flat")
    if where is index or isinstance(where, n.Broadcast):
        if value is stmt.value and not _reads_itself(stmt):
            return stmt
        raise WorkbenchError(
            "E-VECTORIZE-REDUCTION",
            f"all lanes store to one element of {stmt.buffer.name}",
            found=f"{stmt.buffer.name}[...] does not depend on the vectorized loop",
            expected="each iteration stores to an element of its own",
            fix="vectorize a spatial loop, or rfactor the reduction first",
            nodes=(stmt,),
        )
    return origin.derived(t.BufferStore(stmt.buffer, lanes.spread(value), (where,)), stmt)


def _reads_itself(stmt: t.BufferStore) -> bool:
    return any(isinstance(node, t.BufferLoad) and node.buffer is stmt.buffer for node in pre_order(stmt.value))


def _evaluate(stmt: t.Evaluate, lanes: Lanes) -> t.Stmt:
    if isinstance(stmt.value, (n.IntImm, n.FloatImm)):
        return stmt
    raise Scalarise("it has effects")


def _assert(stmt: t.AssertStmt, lanes: Lanes) -> t.Stmt:
    if lanes.vector(stmt.condition) is not stmt.condition:
        raise Scalarise("it differs by lane")
    return stmt


_LEAVES: dict[type, Any] = {t.BufferStore: _store, t.Evaluate: _evaluate, t.AssertStmt: _assert}


def _let(stmt: t.LetStmt, value: n.PrimExpr, loop: t.For, lanes: Lanes) -> Task:
    var = stmt.var
    if value is not stmt.value:
        var = n.Var(stmt.var.name, value.dtype)
        lanes.bind(stmt.var, var)
    body = yield _stmt(stmt.body, loop, lanes)
    if var is not stmt.var and id(stmt.var) in lanes.named_serially:
        return _serial(stmt, loop, lanes)  # there it has one value in each iteration
    return origin.derived(t.LetStmt(var, value, body), stmt)


# --- conditions ---------------------------------------------------------------------------------------------------


def _if(stmt: t.IfThenElse, condition: n.PrimExpr, loop: t.For, lanes: Lanes) -> Task:
    if not condition.dtype.is_vector:
        then_case = yield _stmt(stmt.then_case, loop, lanes)
        else_case = None
        if stmt.else_case is not None:
            else_case = yield _stmt(stmt.else_case, loop, lanes)
        return origin.derived(t.IfThenElse(condition, then_case, else_case), stmt)
    then_case = yield _stmt(stmt.then_case, loop, lanes)
    if not _only_vector_stores(then_case):
        return _serial(stmt, loop, lanes)
    masked = origin.derived(t.IfThenElse(condition, then_case), stmt)
    everywhere = _all_lanes(condition)
    return masked if everywhere is None else fold(t.IfThenElse(everywhere, fresh_copy(then_case), masked))


def _can_be_masked(stmt: t.IfThenElse, lanes: Lanes) -> bool:
    """Whether all that stands under a condition that differs by lane is stores to elements that do.  May raise
    `Scalarise`."""
    return stmt.else_case is None and _only_stores(stmt.then_case) and not _stores_to_one_element(stmt.then_case, lanes)


def _only_stores(stmt: t.Stmt) -> bool:
    parts = stmt.stmts if isinstance(stmt, t.SeqStmt) else (stmt,)
    return all(isinstance(part, t.BufferStore) for part in parts)


def _stores_to_one_element(stmt: t.Stmt, lanes: Lanes) -> bool:
    """Whether lanes store to the same element: under a condition that a single lane may pass, no reduction."""
    parts = stmt.stmts if isinstance(stmt, t.SeqStmt) else (stmt,)
    stores = [part for part in parts if isinstance(part, t.BufferStore) and part.indices]
    return any(lanes.vector(store.indices[0]) is store.indices[0] for store in stores)


def _only_vector_stores(stmt: t.Stmt) -> bool:
    parts = stmt.stmts if isinstance(stmt, t.SeqStmt) else (stmt,)
    return all(isinstance(part, t.BufferStore) and part.indices[0].dtype.is_vector for part in parts)


def _all_lanes(condition: n.PrimExpr) -> n.PrimExpr | None:
    """A scalar condition under which every lane's condition holds; None if none is seen.

    A comparison of a ramp with a scalar holds in every lane when it holds in the extreme one.
    """
    pending: list[n.PrimExpr] = [condition]
    found: list[n.PrimExpr] = []
    while pending:
        expr = pending.pop()
        if isinstance(expr, n.And):
            pending += [expr.b, expr.a]
            continue
        if isinstance(expr, n.Broadcast):
            found.append(expr.value)
            continue
        made = _extreme(expr)
        if made is None:
            return None
        found.append(made)
    return all_of(*found)


def _extreme(expr: n.PrimExpr) -> n.PrimExpr | None:
    if not isinstance(expr, (n.LT, n.LE, n.GT, n.GE)):
        return None
    rising_left = isinstance(expr, (n.LT, n.LE))
    a, b = _end(expr.a, last=rising_left), _end(expr.b, last=not rising_left)
    return None if a is None or b is None else type(expr)(a, b)


def _end(expr: n.PrimExpr, last: bool) -> n.PrimExpr | None:
    """The greatest (`last`) or least lane of a vector whose lanes are ordered; numbers of few bits wrap."""
    if isinstance(expr, n.Broadcast):
        return expr.value
    if not isinstance(expr, n.Ramp) or not isinstance(expr.stride, n.IntImm) or expr.base.dtype.bits < 32:
        return None
    if (expr.stride.value >= 0) != last:
        return expr.base
    return add(expr.base, multiply(expr.stride, const(expr.lanes - 1, expr.stride.dtype)))


__all__ = ["VectorizeLoop", "vectorize"]
