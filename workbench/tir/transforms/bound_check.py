"""BoundCheck: every access is checked against its buffer before it happens (checked mode).

    before:  for i: C[i] = A[i + 1]
    after:   for i: if not (0 <= i + 1 and i + 1 < 16): report "A[axis 0]: index 16, extent 16, at i = 15" and stop
             C[i] = A[i + 1]

The report names buffer, axis, index, extent and the loop variables.  Loads that an `if_then_else` guards are checked
under its condition.  Vectorized loops run one lane after the other.  Runs before FlattenBuffer, on demand:
``PassContext(config={"tir.instrument_bound_checkers": True})``.
"""

from __future__ import annotations

from typing import Any, Final

from ...arith import nodes as n
from ...arith.build import all_of, cast, const, logical_and, logical_not
from ...core import origin
from ...core.dtype import DataType
from ...core.trampoline import Task, run
from ...core.transform import function_pass
from .. import nodes as t
from ..build import seq

OUT_OF_BOUNDS: Final = 4
"""The status, as in workbench_runtime.h."""
_MAX_VALUES: Final = 12


@function_pass(name="BoundCheck", applies_to=t.PrimFunc)
def BoundCheck(func: t.PrimFunc, mod: Any, ctx: Any) -> t.PrimFunc:
    """Check every load and store against its buffer."""
    return check_bounds(func)


def check_bounds(func: t.PrimFunc) -> t.PrimFunc:
    return func.replace(body=run(_check(func.body, ())))


def _check(stmt: t.Stmt, variables: tuple[n.Var, ...]) -> Task:
    """`stmt` with checks before its accesses; `variables` are the loops around, outermost first."""
    if isinstance(stmt, t.SeqStmt):
        parts: list[t.Stmt] = []
        for part in stmt.stmts:
            parts.append((yield _check(part, variables)))
        return seq(*parts)
    inside = variables
    changes: dict[str, Any] = {}
    if isinstance(stmt, t.For):
        inside = (*variables, stmt.var)
        if stmt.kind is t.ForKind.VECTORIZED:
            changes["kind"] = t.ForKind.SERIAL
    for name in stmt.field_names:
        value = getattr(stmt, name)
        if isinstance(value, t.Stmt):
            changes[name] = yield _check(value, inside)
    made = stmt.replace(**changes) if changes else stmt
    checks = [origin.derived(check, stmt) for check in _checks(stmt, variables)]
    if isinstance(stmt, t.While) and checks:
        # The condition is evaluated again after each round, so it is checked at the end of the body as well.
        made = made.replace(body=seq(made.body, checks))  # type: ignore[attr-defined]
    return seq(checks, made)


def _checks(stmt: t.Stmt, variables: tuple[n.Var, ...]) -> list[t.Stmt]:
    """Checks for the accesses that `stmt` itself makes (not those of statements inside it)."""
    found: list[t.Stmt] = []
    if isinstance(stmt, t.BufferStore):
        _walk(stmt.value, const(True), variables, found)
        for index in stmt.indices:
            _walk(index, const(True), variables, found)
        found += _access(stmt.buffer, stmt.indices, const(True), variables, "store to")
        return found
    for name in stmt.field_names:
        value = getattr(stmt, name)
        if isinstance(value, n.PrimExpr) and name != "var":
            _walk(value, const(True), variables, found)
    return found


def _walk(expr: n.PrimExpr, guard: n.PrimExpr, variables: tuple[n.Var, ...], found: list[t.Stmt]) -> None:
    """Checks of the loads in `expr`, inner ones first; a load is made only where `guard` holds."""
    seen: set[tuple[int, int]] = set()
    stack: list[tuple[Any, n.PrimExpr, bool]] = [(expr, guard, False)]
    while stack:
        current, condition, expanded = stack.pop()
        if expanded:
            found += _access(current.buffer, current.indices, condition, variables, "load from")
            continue
        if not isinstance(current, n.PrimExpr) or (id(current), id(condition)) in seen:
            continue
        seen.add((id(current), id(condition)))
        if isinstance(current, n.Let):
            # A let's variable is unknown outside it: nothing to check with.
            stack.append((current.value, condition, False))
        elif isinstance(current, n.Call) and current.op == "if_then_else":
            test, yes, no = current.args
            stack += [
                (no, logical_and(condition, logical_not(test)), False),
                (yes, logical_and(condition, test), False),
                (test, condition, False),
            ]
        elif isinstance(current, n.Call) and current.op in ("address_of", "prefetch"):
            continue
        elif isinstance(current, t.BufferLoad):
            stack.append((current, condition, True))
            stack.extend((index, condition, False) for index in current.indices)
        else:
            stack.extend((getattr(current, name), condition, False) for name in current.field_names)
            if isinstance(current, n.Call):
                stack.extend((argument, condition, False) for argument in current.args)


def _access(
    buffer: t.Buffer, indices: tuple[n.PrimExpr, ...], guard: n.PrimExpr, variables: tuple[n.Var, ...], verb: str
) -> list[t.Stmt]:
    checks: list[t.Stmt] = []
    for axis, (index, extent) in enumerate(zip(indices, buffer.shape, strict=True)):
        if index.dtype.is_vector or _surely_inside(index, extent):
            continue
        inside = all_of(n.GE(index, const(0, index.dtype)), n.LT(index, extent))
        report = _report(buffer, axis, index, extent, variables, verb)
        checks.append(t.IfThenElse(logical_and(guard, logical_not(inside)), report))
    return checks


def _surely_inside(index: n.PrimExpr, extent: n.PrimExpr) -> bool:
    return isinstance(index, n.IntImm) and isinstance(extent, n.IntImm) and 0 <= index.value < extent.value


def _report(
    buffer: t.Buffer, axis: int, index: n.PrimExpr, extent: n.PrimExpr, variables: tuple[n.Var, ...], verb: str
) -> t.Stmt:
    shown = variables[: _MAX_VALUES - 2]
    loops = ", ".join(f"{var.name} = {{}}" for var in shown)
    message = (
        f"E-RUN-BOUNDS {verb} {buffer.name} outside axis {axis}"
        "; found index {}; expected 0 to extent {} (exclusive)" + (f"; at {loops}" if loops else "")
    )
    values = [cast("int64", value) for value in (index, extent, *shown)]
    status = const(OUT_OF_BOUNDS, "int32")
    arguments = (n.StringImm("wb_report"), status, n.StringImm(message), *values)
    return t.Evaluate(n.Call(DataType("int32"), "call_extern", arguments))
