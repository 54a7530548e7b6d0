"""CompactBuffers: an intermediate buffer keeps only the region touched where it lives.

    before:  for i: alloc B (64, 64); for j in 16: B[i, j] = ...;  use B[i, 0..15]
    after:   for i: alloc B (1, 16);  for j in 16: B[0, j] = ...;  use B[0, 0..15]

Of each index the least value while the variables bound inside the allocation run is a form of those outside: the
region's origin.  An axis whose accesses have different origins, or whose extent is not seen to be smaller, stays whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...arith import nodes as n
from ...arith.build import const
from ...arith.forms import Form
from ...arith.intrinsics import ADDRESSES
from ...arith.scope import Scope
from ...core.equal import structural_equal
from ...core.node import Node, children, pre_order, rewrite, substitute
from ...core.transform import function_pass
from .. import nodes as t


@function_pass(name="CompactBuffers", applies_to=t.PrimFunc)
def CompactBuffers(func: t.PrimFunc, mod: Any, ctx: Any) -> t.PrimFunc:
    """Shrink intermediate buffers to the regions touched where they live."""
    return compact(func)


def compact(func: t.PrimFunc) -> t.PrimFunc:
    collected = _Collection(func.body)
    smaller = {key: plan for key, plan in collected.plans.items() if plan.origins()}
    if not smaller or not collected.is_clear:
        return func
    replaced = {key: plan.new_buffer() for key, plan in smaller.items()}

    def post(node: Any) -> Any:
        if isinstance(node, (t.BufferLoad, t.BufferStore)) and id(node.buffer) in replaced:
            moved = smaller[id(node.buffer)].moved(node.indices)
            return node.replace(buffer=replaced[id(node.buffer)], indices=moved)
        if isinstance(node, t.AllocBuffer) and id(node.buffer) in replaced:
            return node.replace(buffer=replaced[id(node.buffer)])
        return None

    return func.replace(body=rewrite(func.body, post, lambda node: node if isinstance(node, t.Buffer) else None))


class _Region(NamedTuple):
    """One axis: `size` places from `origin` on."""

    origin: Form
    size: int


class _Known(NamedTuple):
    """What is bound at a statement: atoms of variables, and values of lets."""

    bound: frozenset[int] = frozenset()
    lets: Mapping[n.Var, n.PrimExpr] = {}


class _Plan:
    """The regions of one buffer, by axis: None before the first access, and "whole" where it stays so."""

    def __init__(self, buffer: t.Buffer, scope: Scope, outside: frozenset[int]) -> None:
        self.buffer, self.scope, self.outside = buffer, scope, outside
        self.axes: list[_Region | str | None] = ["whole" if buffer.strides else None] * len(buffer.shape)

    def touch(self, indices: tuple[n.PrimExpr, ...], known: _Known) -> None:
        for axis, index in enumerate(indices):
            before = self.axes[axis]
            if isinstance(before, str):
                continue
            clear = isinstance(self.buffer.shape[axis], n.IntImm) or not _casts(index)
            found = self._region(index, known) if clear and not index.dtype.is_vector else None
            self.axes[axis] = "whole" if found is None else _joined(before, found) or "whole"

    def _region(self, index: n.PrimExpr, known: _Known) -> _Region | None:
        """The places of an index while what is bound inside the allocation runs."""
        scope, numbers = self.scope, self.scope.atoms.variable_number
        inside = {var: value for var, value in known.lets.items() if numbers(var) not in self.outside}
        form = scope.form(substitute(index, inside) if inside else index)
        if form is None:
            return None
        low, high = scope.ends(form, (known.bound - self.outside) | self._changing(form))
        size = None if low is None or high is None else high.plus(low, -1).shifted(1).constant
        return None if low is None or size is None else _Region(low, size)

    def _changing(self, form: Form) -> set[int]:
        """The atoms of what may have another value each time: loads and calls."""
        found: set[int] = set()
        for number in (part for atom in form.terms for part in self.scope.variables(atom)):
            expr = self.scope.atoms.table[number].expr
            if expr is not None and any(isinstance(node, (t.BufferLoad, n.Call)) for node in pre_order(expr)):
                found.add(number)
        return found

    def fail(self) -> None:
        self.axes = ["whole"] * len(self.axes)

    def origins(self) -> dict[int, _Region]:
        """The axes that become smaller."""
        found: dict[int, _Region] = {}
        for axis, (region, whole) in enumerate(zip(self.axes, self.buffer.shape, strict=True)):
            if isinstance(region, _Region) and not (isinstance(whole, n.IntImm) and region.size >= whole.value):
                found[axis] = region
        return found

    def new_buffer(self) -> t.Buffer:
        shape = list(self.buffer.shape)
        for axis, region in self.origins().items():
            shape[axis] = const(region.size)
        return self.buffer.replace(shape=tuple(shape))

    def moved(self, indices: tuple[n.PrimExpr, ...]) -> tuple[n.PrimExpr, ...]:
        origins = self.origins()
        return tuple(
            self._from(index, origins[axis].origin) if axis in origins else index for axis, index in enumerate(indices)
        )

    def _from(self, index: n.PrimExpr, origin: Form) -> n.PrimExpr:
        form = self.scope.form(index)
        assert form is not None
        return self.scope.written(form.plus(origin, -1), index.dtype)


def _casts(index: n.PrimExpr) -> bool:
    """Whether a narrower index is in it: of a symbolic extent its dtype is the only bound, billions of places."""
    return any(isinstance(node, n.Cast) for node in pre_order(index))


def _joined(before: _Region | None, found: _Region) -> _Region | None:
    """Two regions as one; None where their origins are not a number apart."""
    if before is None:
        return found
    apart = found.origin.plus(before.origin, -1).constant
    if apart is None:
        return None
    end = max(before.size, apart + found.size)
    return _Region(found.origin, end - apart) if apart < 0 else _Region(before.origin, end)


class _Collection:
    """The plans of all buffers that are allocated in a program, by identity."""

    def __init__(self, body: t.Stmt) -> None:
        self.plans: dict[int, _Plan] = {}
        self.scope = Scope()
        self.is_clear = True
        """Whether each variable has one range only: else forms say nothing of it."""
        self._ranges: dict[n.Var, t.For] = {}
        stack: list[tuple[t.Stmt, _Known]] = [(body, _Known())]
        while stack:
            stmt, known = stack.pop()
            if isinstance(stmt, t.AllocBuffer):
                self.plans[id(stmt.buffer)] = _Plan(stmt.buffer, self.scope, known.bound)
            elif isinstance(stmt, t.BufferStore):
                self._touch(stmt.buffer, stmt.indices, known)
            parts = list(children(stmt))
            for part in parts:
                if isinstance(part, n.PrimExpr):
                    self._loads(part, known)
            known = self._inside(stmt, known)
            stack.extend((part, known) for part in reversed(parts) if isinstance(part, t.Stmt))

    def _inside(self, stmt: t.Stmt, known: _Known) -> _Known:
        if isinstance(stmt, t.LetStmt):
            return self._with_let(known, stmt.var, stmt.value)
        if not isinstance(stmt, t.For):
            return known
        number, before = self.scope.atoms.variable_number(stmt.var), self._ranges.setdefault(stmt.var, stmt)
        if before is stmt:
            self.scope.enter(stmt.var, stmt.min, stmt.extent)
        else:
            same = structural_equal(before.min, stmt.min) and structural_equal(before.extent, stmt.extent)
            self.is_clear = self.is_clear and same
        return known._replace(bound=known.bound | {number})

    def _with_let(self, known: _Known, var: n.Var, value: n.PrimExpr) -> _Known:
        number = self.scope.atoms.variable_number(var)
        return _Known(known.bound | {number}, {**known.lets, var: substitute(value, known.lets)})

    def _touch(self, buffer: t.Buffer, indices: tuple[n.PrimExpr, ...], known: _Known) -> None:
        plan = self.plans.get(id(buffer))
        if plan is not None:
            plan.touch(indices, known)

    def _loads(self, expr: n.PrimExpr, known: _Known) -> None:
        seen: set[int] = set()
        stack: list[Node] = [expr]
        while stack:
            current = stack.pop()
            if id(current) in seen or isinstance(current, t.Buffer):
                continue
            seen.add(id(current))
            if isinstance(current, t.BufferLoad):
                self._touch(current.buffer, current.indices, known)
            elif isinstance(current, n.Let):
                known = self._with_let(known, current.var, current.value)
            elif isinstance(current, n.Call) and current.op in ADDRESSES:
                for argument in current.args:
                    if isinstance(argument, t.BufferLoad) and id(argument.buffer) in self.plans:
                        self.plans[id(argument.buffer)].fail()
            stack.extend(children(current))
