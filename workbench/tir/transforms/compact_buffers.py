"""CompactBuffers: an intermediate buffer keeps only the region touched where it lives.

    before:  for i: alloc B (64, 64); for j in 16: B[i, j] = ...;  use B[i, 0..15]
    after:   for i: alloc B (1, 16);  for j in 16: B[0, j] = ...;  use B[0, 0..15]

Each index is a sum; terms that do not change inside the allocation are the region's origin, the rest its extent.  An
axis whose accesses have different origins, or whose extent is not seen to be smaller, stays whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...arith import nodes as n
from ...arith.build import const
from ...arith.intrinsics import ADDRESSES
from ...arith.simplify import Simplifier
from ...core.node import Node, children, pre_order, rewrite
from ...core.trampoline import Task, run
from ...core.transform import function_pass
from .. import nodes as t
from .linear import Linear, difference, linear

Interval = tuple[int, int]


@function_pass(name="CompactBuffers", applies_to=t.PrimFunc)
def CompactBuffers(func: t.PrimFunc, mod: Any, ctx: Any) -> t.PrimFunc:
    """Shrink intermediate buffers to the regions touched where they live."""
    return compact(func)


def compact(func: t.PrimFunc) -> t.PrimFunc:
    plans: dict[int, _Plan] = {}
    replaced: dict[int, t.Buffer] = {}
    run(_collect(func.body, _Scope({}, {}, frozenset(), Simplifier()), plans))
    for key, plan in plans.items():
        plan.finish()
        if plan.origins:
            replaced[key] = plan.new_buffer()
    if not replaced:
        return func

    def post(node: Any) -> Any:
        if isinstance(node, (t.BufferLoad, t.BufferStore)) and id(node.buffer) in replaced:
            moved = plans[id(node.buffer)].moved(node.indices)
            return node.replace(buffer=replaced[id(node.buffer)], indices=moved)
        if isinstance(node, t.AllocBuffer) and id(node.buffer) in replaced:
            return node.replace(buffer=replaced[id(node.buffer)])
        return None

    return func.replace(body=rewrite(func.body, post, lambda node: node if isinstance(node, t.Buffer) else None))


class _Scope:
    """What is known at a statement: ranges of loop variables, values of lets, all variables bound outside."""

    __slots__ = ("lets", "ranges", "simplifier", "variables")

    def __init__(
        self,
        ranges: Mapping[int, tuple[n.PrimExpr, n.PrimExpr]],
        lets: Mapping[int, n.PrimExpr],
        variables: frozenset[int],
        simplifier: Simplifier,
    ) -> None:
        self.simplifier = simplifier
        """For indices whose parts belong together: (y * 56 + x) // 16 where y and x are one number's digits."""
        self.ranges = ranges
        self.lets = lets
        self.variables = variables

    def with_loop(self, loop: t.For) -> _Scope:
        ranges = {**self.ranges, id(loop.var): (loop.min, loop.extent)}
        self.simplifier.bind_range(loop.var, loop.min, loop.extent)
        return _Scope(ranges, self.lets, self.variables | {id(loop.var)}, self.simplifier)

    def with_let(self, var: n.Var, value: n.PrimExpr) -> _Scope:
        return _Scope(self.ranges, {**self.lets, id(var): value}, self.variables | {id(var)}, self.simplifier)


class _Plan:
    """The regions of one buffer: per axis either an origin and an extent, or None for the whole axis."""

    def __init__(self, buffer: t.Buffer, scope: _Scope) -> None:
        self.buffer = buffer
        self.outside = scope.variables
        self.axes: list[tuple[Linear, Interval] | None] = [None] * len(buffer.shape)
        self.failed = [bool(buffer.strides)] * len(buffer.shape)
        self.origins: dict[int, tuple[n.PrimExpr, int]] = {}

    def touch(self, indices: tuple[n.PrimExpr, ...], scope: _Scope) -> None:
        for axis, index in enumerate(indices):
            if self.failed[axis]:
                continue
            joined = None if index.dtype.is_vector else self._joined(axis, index, scope)
            if joined is None and not index.dtype.is_vector:
                joined = self._joined(axis, scope.simplifier.simplify(index), scope)
            self.axes[axis] = joined
            self.failed[axis] = joined is None

    def _joined(self, axis: int, index: n.PrimExpr, scope: _Scope) -> tuple[Linear, Interval] | None:
        """The region of an axis with one more index; None if that is not of the same origin."""
        found, known = region(index, scope, self.outside), self.axes[axis]
        if known is None or found is None:
            return found
        if not _same_terms(known[0], found[0]):
            return None
        (low, high), (first, last) = known[1], found[1]
        return known[0], (min(low, first), max(high, last))

    def fail(self) -> None:
        self.failed = [True] * len(self.failed)

    def finish(self) -> None:
        """Keep the axes that become smaller."""
        for axis, (failed, found) in enumerate(zip(self.failed, self.axes, strict=True)):
            if failed or found is None:
                continue
            terms, (low, high) = found
            whole = self.buffer.shape[axis]
            if isinstance(whole, n.IntImm) and high - low + 1 >= whole.value:
                continue
            origin = Linear(low, dict(terms.terms)).expression()
            self.origins[axis] = (origin, high - low + 1)

    def new_buffer(self) -> t.Buffer:
        shape = tuple(
            const(self.origins[axis][1]) if axis in self.origins else extent
            for axis, extent in enumerate(self.buffer.shape)
        )
        return self.buffer.replace(shape=shape)

    def moved(self, indices: tuple[n.PrimExpr, ...]) -> tuple[n.PrimExpr, ...]:
        return tuple(
            difference(index, self.origins[axis][0]) if axis in self.origins else index
            for axis, index in enumerate(indices)
        )


def _same_terms(a: Linear, b: Linear) -> bool:
    return a.terms.keys() == b.terms.keys() and all(a.terms[key][1] == b.terms[key][1] for key in a.terms)


# --- collecting accesses ------------------------------------------------------------------------------------------


def _collect(stmt: t.Stmt, scope: _Scope, plans: dict[int, _Plan]) -> Task:
    if isinstance(stmt, t.AllocBuffer):
        plans[id(stmt.buffer)] = _Plan(stmt.buffer, scope)
        yield _collect(stmt.body, scope, plans)
        return
    if isinstance(stmt, t.BufferStore):
        _touch(stmt.buffer, stmt.indices, scope, plans)
    inner: list[t.Stmt] = []
    for child in children(stmt):
        if isinstance(child, t.Stmt):
            inner.append(child)
        elif isinstance(child, n.PrimExpr):
            _collect_loads(child, scope, plans)
    if isinstance(stmt, t.For):
        scope = scope.with_loop(stmt)
    elif isinstance(stmt, t.LetStmt):
        scope = scope.with_let(stmt.var, stmt.value)
    for child in inner:
        yield _collect(child, scope, plans)


def _touch(buffer: t.Buffer, indices: tuple[n.PrimExpr, ...], scope: _Scope, plans: dict[int, _Plan]) -> None:
    plan = plans.get(id(buffer))
    if plan is not None:
        plan.touch(indices, scope)


def _collect_loads(expr: n.PrimExpr, scope: _Scope, plans: dict[int, _Plan]) -> None:
    seen: set[int] = set()
    stack: list[Node] = [expr]
    while stack:
        current = stack.pop()
        if id(current) in seen or isinstance(current, t.Buffer):
            continue
        seen.add(id(current))
        if isinstance(current, t.BufferLoad):
            _touch(current.buffer, current.indices, scope, plans)
        elif isinstance(current, n.Let):
            scope = scope.with_let(current.var, current.value)
        elif isinstance(current, n.Call) and current.op in ADDRESSES:
            for argument in current.args:
                if isinstance(argument, t.BufferLoad) and id(argument.buffer) in plans:
                    plans[id(argument.buffer)].fail()
        stack.extend(children(current))


# --- regions ------------------------------------------------------------------------------------------------------


def region(index: n.PrimExpr, scope: _Scope, outside: frozenset[int]) -> tuple[Linear, Interval] | None:
    """`index` as fixed terms (of variables in `outside`) plus an interval over everything inside; None if unknown."""
    fixed = Linear()
    form = linear(index)
    pending = list(_terms(form))
    low = high = form.constant
    for _ in range(256):
        if not pending:
            return fixed, (low, high)
        key, atom, scale = pending.pop()
        if _is_fixed(atom, scope, outside):
            fixed.add(key, atom, scale)
            continue
        if isinstance(atom, n.Var) and id(atom) in scope.lets:
            inner = linear(scope.lets[id(atom)], scale)
            low, high = low + inner.constant, high + inner.constant
            pending += _terms(inner)
            continue
        if isinstance(atom, n.Var) and id(atom) in scope.ranges:
            begin, extent = scope.ranges[id(atom)]
            if not isinstance(extent, n.IntImm):
                return None
            inner = linear(begin, scale)
            pending += _terms(inner)
            span = (max(extent.value, 1) - 1) * scale
            low, high = low + inner.constant + min(span, 0), high + inner.constant + max(span, 0)
            continue
        bounds = _bounds(atom, scope, outside)
        if bounds is None:
            return None
        ends = (bounds[0] * scale, bounds[1] * scale)
        low, high = low + min(ends), high + max(ends)
    return None


def _terms(form: Linear) -> list[tuple[Any, n.PrimExpr, int]]:
    return [(key, atom, scale) for key, (atom, scale) in form.terms.items()]


def _is_fixed(atom: n.PrimExpr, scope: _Scope, outside: frozenset[int]) -> bool:
    """Whether `atom` has one value as long as the buffer lives: no loads, no variables bound inside."""
    for current in pre_order(atom):
        if isinstance(current, n.Var):
            if id(current) in scope.variables and id(current) not in outside:
                return False
        elif isinstance(current, (t.BufferLoad, n.Call)):
            return False
    return True


def _bounds(atom: n.PrimExpr, scope: _Scope, outside: frozenset[int]) -> Interval | None:
    """Bounds of a term that is not linear, where they are constants: remainders, quotients, minima of such."""
    if isinstance(atom, n.FloorMod) and isinstance(atom.b, n.IntImm) and atom.b.value > 0:
        inner = _constant_region(atom.a, scope, outside)
        if inner is not None and 0 <= inner[0] and inner[1] < atom.b.value:
            return inner
        return (0, atom.b.value - 1)
    if isinstance(atom, n.FloorDiv) and isinstance(atom.b, n.IntImm) and atom.b.value > 0:
        inner = _constant_region(atom.a, scope, outside)
        return None if inner is None else (inner[0] // atom.b.value, inner[1] // atom.b.value)
    if isinstance(atom, (n.Min, n.Max)):
        a, b = _constant_region(atom.a, scope, outside), _constant_region(atom.b, scope, outside)
        if a is None or b is None:
            return None
        chosen = min if isinstance(atom, n.Min) else max
        return (chosen(a[0], b[0]), chosen(a[1], b[1]))
    return None


def _constant_region(expr: n.PrimExpr, scope: _Scope, outside: frozenset[int]) -> Interval | None:
    found = region(expr, scope, outside)
    return found[1] if found is not None and not found[0].terms else None
