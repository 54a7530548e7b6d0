"""BoundCheck: every access that is not proved inside its buffer is checked before it happens (checked mode).

    before:  for i: C[i] = A[i + 1]
    after:   for i: if not (0 <= i + 1 and i + 1 < 16): report "A[axis 0]: index 16, extent 16, at i = 15" and stop
             C[i] = A[i + 1]

An index that is data (`T.index_within`) is in range when it is used; one that had to be brought there is reported
(`PassContext.checks_bounds` says of which operators).  The report names buffer, axis, index, extent and the loop
variables.  An index whose bounds (from the loops around, and the conditions that guard it) lie inside needs no check,
so a right program runs about as fast as without.  Loads that an `if_then_else` guards are checked under its condition.
Vectorized loops with anything left to check run one lane after the other; vectors (after VectorizeLoop) are checked at
their outermost lanes, or lane by lane under a mask.
Runs before FlattenBuffer, on demand: ``PassContext(config={"tir.instrument_bound_checkers": True})``; on flat code it
checks against the whole buffer.
"""

from __future__ import annotations

from typing import Any, Final

from ...arith import nodes as n
from ...arith.build import add, all_of, any_of, cast, const, logical_and, logical_not, multiply
from ...arith.simplify import Simplifier
from ...core import origin
from ...core.dtype import DataType
from ...core.node import rewrite
from ...core.pass_context import INDEX_CODE
from ...core.trampoline import Task, run
from ...core.transform import function_pass
from .. import nodes as t
from ..build import seq

OUT_OF_BOUNDS: Final = 4
"""The status, as in workbench_runtime.h."""
_MAX_VALUES: Final = 12
_TRUE: Final = const(True)

Lets = tuple[tuple[n.Var, n.PrimExpr], ...]
"""Variables bound inside the expression around an access, outermost first."""


@function_pass(name="BoundCheck", applies_to=t.PrimFunc)
def BoundCheck(func: t.PrimFunc, mod: Any, ctx: Any) -> t.PrimFunc:
    """Check every load and store against its buffer."""
    return check_bounds(func)


def check_bounds(func: t.PrimFunc) -> t.PrimFunc:
    """`func` with a check before every access that may leave its buffer, and before indices that are data are used."""
    checker = _Checker()
    return func.replace(body=without_given_indices(run(checker.visit(func.body, (), _TRUE))))


def without_given_indices(node: Any) -> Any:
    """A statement or expression with indices that are data as they are in range; nothing more is known of them."""

    def post(part: Any) -> Any:
        return part.args[0] if isinstance(part, n.Call) and part.op == "index_within" else None

    return rewrite(node, post, lambda part: part if isinstance(part, t.Buffer) else None)


class _Checker:
    """The walk over one function; knows the ranges of the loop variables met so far."""

    def __init__(self) -> None:
        self.ranges = Simplifier()
        self.inserted = 0

    def visit(self, stmt: t.Stmt, loops: tuple[n.Var, ...], guard: n.PrimExpr) -> Task:
        """`stmt` with checks before its accesses; `loops` are those around, outermost first.

        `guard` is what the conditions around say, as far as it speaks of lanes or bounds indices.
        """
        if isinstance(stmt, t.SeqStmt):
            parts: list[t.Stmt] = []
            for part in stmt.stmts:
                parts.append((yield self.visit(part, loops, guard)))
            return seq(*parts)
        inside = loops
        changes: dict[str, Any] = {}
        if isinstance(stmt, t.For):
            inside = (*loops, stmt.var)
            self.ranges.bind_range(stmt.var, stmt.min, stmt.extent)
        earlier = self.inserted
        for name in stmt.field_names:
            value = getattr(stmt, name)
            if isinstance(value, t.Stmt):
                changes[name] = yield self.visit(value, inside, _around(stmt, name, guard))
        if isinstance(stmt, t.For) and stmt.kind is t.ForKind.VECTORIZED and self.inserted > earlier:
            changes["kind"] = t.ForKind.SERIAL
        made = stmt.replace(**changes) if changes else stmt
        checks = [origin.derived(check, stmt) for check in self.checks(stmt, loops, guard)]
        self.inserted += len(checks)
        if isinstance(stmt, t.While) and checks:
            # The condition is evaluated again after each round, so it is checked at the end of the body as well.
            made = made.replace(body=seq(made.body, checks))  # type: ignore[attr-defined]
        return seq(checks, made)

    def checks(self, stmt: t.Stmt, loops: tuple[n.Var, ...], guard: n.PrimExpr) -> list[t.Stmt]:
        """Checks for the accesses that `stmt` itself makes (not those of statements inside it)."""
        found: list[t.Stmt] = []
        if isinstance(stmt, t.BufferStore):
            self._walk(stmt.value, guard, loops, found)
            for index in stmt.indices:
                self._walk(index, guard, loops, found)
            found += self._access(stmt.buffer, stmt.indices, guard, (), loops, "store to")
            return found
        for name in stmt.field_names:
            value = getattr(stmt, name)
            if isinstance(value, n.PrimExpr) and name != "var":
                self._walk(value, guard, loops, found)
        return found

    def _walk(self, expr: n.PrimExpr, guard: n.PrimExpr, loops: tuple[n.Var, ...], found: list[t.Stmt]) -> None:
        """Checks of the loads in `expr`, inner ones first; a load is made only where `guard` holds."""
        seen: dict[tuple[int, int, int], object] = {}  # with what the identities are of: no other things get them
        stack: list[tuple[Any, n.PrimExpr, Lets, bool]] = [(expr, guard, (), False)]
        while stack:
            current, condition, lets, expanded = stack.pop()
            if expanded and isinstance(current, n.Call):
                found += self._given_index(current, condition, lets, loops)
                continue
            if expanded:
                found += self._access(current.buffer, current.indices, condition, lets, loops, "load from")
                continue
            key = (id(current), id(condition), id(lets))
            if not isinstance(current, n.PrimExpr) or key in seen:
                continue
            seen[key] = condition, lets
            if isinstance(current, t.BufferLoad) or (isinstance(current, n.Call) and current.op == "index_within"):
                stack.append((current, condition, lets, True))
            stack.extend((part, under, around, False) for part, under, around in _parts(current, condition, lets))

    def _access(
        self,
        buffer: t.Buffer,
        indices: tuple[n.PrimExpr, ...],
        guard: n.PrimExpr,
        lets: Lets,
        loops: tuple[n.Var, ...],
        verb: str,
    ) -> list[t.Stmt]:
        checks: list[t.Stmt] = []
        for axis, (index, extent) in enumerate(zip(indices, buffer.shape, strict=True)):
            index = without_given_indices(index)
            if self._surely_inside(index, extent, guard):
                continue
            outside, worst = _around_lets(_outside(index, extent, guard), lets)
            what = f"E-RUN-BOUNDS {verb} {buffer.name} outside axis {axis}"
            checks.append(t.IfThenElse(outside, _report(what, const(0), worst, extent, loops)))
        return checks

    def _given_index(self, call: n.Call, guard: n.PrimExpr, lets: Lets, loops: tuple[n.Var, ...]) -> list[t.Stmt]:
        """The check of an index that is data, which is used only as it is in range."""
        *parts, text = call.args
        _, found, given, least, extent = map(without_given_indices, parts)
        if self._surely_inside(found, extent, guard):
            return []
        outside, worst = _outside(found, extent, guard)
        shown = given if not given.dtype.is_vector else worst
        outside, shown = _around_lets((outside, shown), lets)
        assert isinstance(text, n.StringImm)
        what = f"{INDEX_CODE} an index of {text.value} is out of range"
        return [t.IfThenElse(outside, _report(what, least, shown, extent, loops))]

    def _surely_inside(self, index: n.PrimExpr, extent: n.PrimExpr, guard: n.PrimExpr) -> bool:
        if not isinstance(extent, n.IntImm):
            return False
        ends = _ends(index)
        if ends is None:
            return False
        if self._between(self.ranges, ends, extent.value):
            return True
        if guard is _TRUE or guard.dtype.is_vector:
            return False
        return self._between(self.ranges.assuming(guard), ends, extent.value)

    @staticmethod
    def _between(ranges: Simplifier, ends: tuple[n.PrimExpr, ...], extent: int) -> bool:
        bounds = [ranges.bound(end) for end in ends]
        return all(0 <= bound.low and bound.high < extent for bound in bounds)


def _around(stmt: t.Stmt, name: str, guard: n.PrimExpr) -> n.PrimExpr:
    """What is known inside the part `name` of a statement: the branch of a condition that is taken."""
    if not isinstance(stmt, t.IfThenElse) or name == "condition":
        return guard
    return _both(guard, stmt.condition if name == "then_case" else logical_not(stmt.condition))


def _parts(current: n.PrimExpr, guard: n.PrimExpr, lets: Lets) -> list[tuple[Any, n.PrimExpr, Lets]]:
    """The operands of an expression, each with the condition under which it is evaluated and the lets around."""
    if isinstance(current, n.Let):
        return [(current.value, guard, lets), (current.body, guard, (*lets, (current.var, current.value)))]
    if isinstance(current, n.Call) and current.op == "if_then_else":
        test, yes, no = current.args
        return [(no, _both(guard, logical_not(test)), lets), (yes, _both(guard, test), lets), (test, guard, lets)]
    if isinstance(current, n.Call) and current.op in ("address_of", "access_ptr", "prefetch"):
        return []
    if isinstance(current, t.BufferLoad):
        return [(index, guard, lets) for index in current.indices]
    if isinstance(current, n.Call):
        return [(argument, guard, lets) for argument in current.args]
    return [(getattr(current, name), guard, lets) for name in current.field_names]


def _both(a: n.PrimExpr, b: n.PrimExpr) -> n.PrimExpr:
    """Both conditions, lanes spread where only one of them differs by lane."""
    if a is _TRUE:
        return b
    lanes = max(a.dtype.lanes, b.dtype.lanes)
    return logical_and(_spread(a, lanes), _spread(b, lanes))


def _spread(value: n.PrimExpr, lanes: int) -> n.PrimExpr:
    return value if lanes == 1 or value.dtype.is_vector else n.Broadcast(value, lanes)


def _ends(index: n.PrimExpr) -> tuple[n.PrimExpr, ...] | None:
    """Scalar expressions between which all lanes of an index lie; None where there are none."""
    if not index.dtype.is_vector:
        return (index,)
    if isinstance(index, n.Broadcast):
        return (index.value,)
    if isinstance(index, n.Ramp) and not index.base.dtype.is_vector:
        return (index.base, add(index.base, multiply(index.stride, const(index.lanes - 1))))
    return None


def _outside(index: n.PrimExpr, extent: n.PrimExpr, guard: n.PrimExpr) -> tuple[n.PrimExpr, n.PrimExpr]:
    """Whether an access leaves its buffer where `guard` holds, and the index to report (scalars both)."""
    ends = _ends(index)
    if ends is not None and not guard.dtype.is_vector:
        bad = any_of(*(logical_not(_inside(end, extent)) for end in ends))
        outside = bad if guard is _TRUE else logical_and(guard, bad)
        last = ends[-1]
        worst = last if len(ends) == 1 else n.Select(logical_not(_inside(last, extent)), last, ends[0])
        return outside, worst
    lanes = max(index.dtype.lanes, guard.dtype.lanes)
    wide = _spread(index, lanes)
    zero, limit = (n.Broadcast(value, lanes) for value in (const(0, index.dtype.element_of), extent))
    bad = n.Or(n.LT(wide, zero), n.GE(wide, limit))
    wrong = bad if guard is _TRUE else n.And(_spread(guard, lanes), bad)
    shown = n.Select(wrong, wide, n.Broadcast(const(-(1 << 31), index.dtype.element_of), lanes))
    worst = n.Call(index.dtype.element_of, "reduce_max", (shown,))
    return n.Call(DataType("bool"), "reduce_max", (wrong,)), worst


def _around_lets(values: tuple[n.PrimExpr, n.PrimExpr], lets: Lets) -> tuple[n.PrimExpr, n.PrimExpr]:
    """Two expressions with the variables that they use bound."""
    one, other = values
    for variable, value in reversed(lets):
        one, other = n.Let(variable, value, one), n.Let(variable, value, other)
    return one, other


def _inside(index: n.PrimExpr, extent: n.PrimExpr) -> n.PrimExpr:
    return all_of(n.GE(index, const(0, index.dtype)), n.LT(index, extent))


def _report(
    what: str, least: n.PrimExpr, index: n.PrimExpr, extent: n.PrimExpr, loops: tuple[n.Var, ...]
) -> t.Stmt:
    shown = loops[: _MAX_VALUES - 3]
    at = ", ".join(f"{var.name} = {{}}" for var in shown)
    zero = isinstance(least, n.IntImm) and least.value == 0
    begin = "0" if zero else "{}"
    message = f"{what}; found index {{}}; expected {begin} to extent {{}} (exclusive)" + (f"; at {at}" if at else "")
    values = [cast("int64", value) for value in (index, *(() if zero else (least,)), extent, *shown)]
    status = const(OUT_OF_BOUNDS, "int32")
    arguments = (n.StringImm("wb_report"), status, n.StringImm(message), *values)
    return t.Evaluate(n.Call(DataType("int32"), "call_extern", arguments))
