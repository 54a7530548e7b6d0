"""Expressions in lanes: what an expression becomes when a loop variable takes all its values at once.

Something that does not depend on the variable stays scalar; sums and multiples of the variable stay ramps, so that
accesses are seen to be contiguous.  What has no form in lanes raises `Scalarise`, and its statement stays a loop.
"""

from __future__ import annotations

import math
from typing import Any, Final

from ...arith import nodes as n
from ...arith.build import INDEX, add, const, floordiv, floormod, multiply, subtract
from ...arith.intrinsics import ADDRESSES, INTRINSICS, NAMED_CALLS
from ...arith.scope import multiple_of
from ...core.node import children, map_children
from .. import nodes as t

_NOT_IN_LANES: Final = ADDRESSES | NAMED_CALLS | {"prefetch", "shuffle", "reduce_add", "reduce_max", "reduce_min"}


class Scalarise(Exception):
    """There is no form in lanes; the reason is the message."""


class Lanes:
    """The variable of a loop as lanes: `var` stands for begin, begin + 1, ... in `lanes` lanes."""

    def __init__(self, var: n.Var, begin: n.PrimExpr, lanes: int) -> None:
        self.lanes = lanes
        self.variables: dict[int, n.PrimExpr] = {id(var): n.Ramp(begin, const(1, var.dtype), lanes)}
        """Variables that differ by lane, and their vectors."""
        self.named_serially: set[int] = set()
        """Variables, by identity, that statements without a form in lanes name."""
        self._alive: list[Any] = [var]

    def bind(self, var: n.Var, vector: n.PrimExpr) -> None:
        self._alive.append(var)
        self.variables[id(var)] = vector

    def vector(self, expr: n.PrimExpr) -> n.PrimExpr:
        """`expr` in lanes; the same object when it does not depend on the variable."""
        done: dict[int, n.PrimExpr] = {}
        stack: list[tuple[n.PrimExpr, bool]] = [(expr, False)]
        while stack:
            current, expanded = stack.pop()
            if id(current) in done:
                continue
            if isinstance(current, n.Var):
                found = self.variables.get(id(current))
                done[id(current)] = current if found is None else found
                continue
            if expanded:
                done[id(current)] = self._rebuilt(current, done)
                continue
            stack.append((current, True))
            if isinstance(current, n.Let):
                self._begin_let(current, done)
                stack += [(current.body, False), (current.var, False)]
            else:
                inner = [child for child in children(current) if isinstance(child, n.PrimExpr)]
                stack.extend((child, False) for child in reversed(inner))
        return done[id(expr)]

    def _begin_let(self, let: n.Let, done: dict[int, n.PrimExpr]) -> None:
        """The value's lanes must be known before the body is walked: it is vectorised apart."""
        value = self.vector(let.value)
        done[id(let.value)] = value
        if value is not let.value:
            self.bind(let.var, n.Var(let.var.name, value.dtype))

    def _rebuilt(self, node: n.PrimExpr, done: dict[int, n.PrimExpr]) -> n.PrimExpr:
        parts = [child for child in children(node) if isinstance(child, n.PrimExpr)]
        if all(done[id(child)] is child for child in parts):
            return node
        if node.dtype.is_vector:
            raise Scalarise("it holds vectors already")
        builder = _BUILDERS.get(type(node))
        if builder is not None:
            return builder(self, node, done)
        return self._each_in_lanes(node, done)

    def spread(self, expr: n.PrimExpr) -> n.PrimExpr:
        """A scalar in every lane; vectors stay."""
        return expr if expr.dtype.is_vector else n.Broadcast(expr, self.lanes)

    def _each_in_lanes(self, node: n.PrimExpr, done: dict[int, n.PrimExpr]) -> n.PrimExpr:
        """The same operation on vectors."""
        return map_children(
            node, lambda child: self.spread(done[id(child)]) if isinstance(child, n.PrimExpr) else child
        )


# --- classes that are more than lane by lane ----------------------------------------------------------------------


def scalar_of(expr: n.PrimExpr) -> n.PrimExpr:
    """A broadcast's scalar; other expressions as they are."""
    return expr.value if isinstance(expr, n.Broadcast) else expr


def _sum(self: Lanes, node: Any, done: dict[int, n.PrimExpr]) -> n.PrimExpr:
    a, b = done[id(node.a)], done[id(node.b)]
    make = add if isinstance(node, n.Add) else subtract
    if node.dtype.is_float:
        return type(node)(self.spread(a), self.spread(b))
    a, b = scalar_of(a), scalar_of(b)
    if not a.dtype.is_vector and not b.dtype.is_vector:
        return n.Broadcast(make(a, b), self.lanes)
    if isinstance(a, n.Ramp) and isinstance(b, n.Ramp):
        return _ramp(self, make(a.base, b.base), make(a.stride, b.stride))
    if isinstance(a, n.Ramp) and not b.dtype.is_vector:
        return n.Ramp(make(a.base, b), a.stride, self.lanes)
    if isinstance(b, n.Ramp) and not a.dtype.is_vector:
        stride = b.stride if isinstance(node, n.Add) else multiply(b.stride, const(-1, b.stride.dtype))
        return n.Ramp(make(a, b.base), stride, self.lanes)
    return type(node)(self.spread(a), self.spread(b))


def _ramp(self: Lanes, base: n.PrimExpr, stride: n.PrimExpr) -> n.PrimExpr:
    if isinstance(stride, n.IntImm) and stride.value == 0:
        return n.Broadcast(base, self.lanes)
    return n.Ramp(base, stride, self.lanes)


def _product(self: Lanes, node: n.Mul, done: dict[int, n.PrimExpr]) -> n.PrimExpr:
    a, b = done[id(node.a)], done[id(node.b)]
    if node.dtype.is_float:
        return n.Mul(self.spread(a), self.spread(b))
    a, b = scalar_of(a), scalar_of(b)
    if not a.dtype.is_vector and not b.dtype.is_vector:
        return n.Broadcast(multiply(a, b), self.lanes)
    for ramp, scale in ((a, b), (b, a)):
        if isinstance(ramp, n.Ramp) and not scale.dtype.is_vector:
            return _ramp(self, multiply(ramp.base, scale), multiply(ramp.stride, scale))
    return n.Mul(self.spread(a), self.spread(b))


def _quotient(self: Lanes, node: Any, done: dict[int, n.PrimExpr]) -> n.PrimExpr:
    """``ramp // c`` and ``ramp % c`` when the lanes stay within one multiple of c.

    They do when base and c are multiples of some g that is greater than the distance from first to last lane.
    """
    a, b = scalar_of(done[id(node.a)]), scalar_of(done[id(node.b)])
    if not a.dtype.is_vector and not b.dtype.is_vector:
        return n.Broadcast((floordiv if isinstance(node, n.FloorDiv) else floormod)(a, b), self.lanes)
    if not isinstance(a, n.Ramp) or not isinstance(b, n.IntImm) or not isinstance(a.stride, n.IntImm):
        return type(node)(self.spread(a), self.spread(b))
    step = math.gcd(multiple_of(a.base), b.value)
    if b.value <= 0 or not 0 <= a.stride.value * (self.lanes - 1) < step:
        return type(node)(self.spread(a), self.spread(b))
    if isinstance(node, n.FloorDiv):
        return n.Broadcast(floordiv(a.base, b), self.lanes)
    return n.Ramp(floormod(a.base, b), a.stride, self.lanes)


def _comparison(self: Lanes, node: Any, done: dict[int, n.PrimExpr]) -> n.PrimExpr:
    """``ramp < c`` and the like, asked once where all lanes lie on one side of c.

    They do when base and c are multiples of some g that is greater than the distance from first to last lane: the
    lanes are then within one multiple of g, where ``x < c`` has one answer (so has ``x >= c``; ``x <= c`` is
    ``x < c + 1``).  A ramp on the right changes the roles: ``c > x`` is ``x < c``.  Of a limit that is no number
    c + 1 is a multiple of nothing that is known.  Indices do not overflow; narrower numbers may, and stay multiples
    of powers of two.
    """
    a, b = scalar_of(done[id(node.a)]), scalar_of(done[id(node.b)])
    if not a.dtype.is_vector and not b.dtype.is_vector:
        return n.Broadcast(type(node)(a, b), self.lanes)
    ramp, limit, at_or_beyond = (a, b, (n.LT, n.GE)) if isinstance(a, n.Ramp) else (b, a, (n.GT, n.LE))
    if isinstance(ramp, n.Ramp) and isinstance(ramp.stride, n.IntImm) and not limit.dtype.is_vector:
        beyond = 0 if isinstance(node, at_or_beyond) else 1
        edge = limit.value + beyond if isinstance(limit, n.IntImm) else math.gcd(multiple_of(limit), beyond)
        step = math.gcd(multiple_of(ramp.base), edge)
        if limit.dtype.bits < INDEX.bits:
            step &= -step
        if 0 <= ramp.stride.value * (self.lanes - 1) < step:
            first = {id(ramp): ramp.base}
            return n.Broadcast(type(node)(first.get(id(a), a), first.get(id(b), b)), self.lanes)
    return type(node)(self.spread(a), self.spread(b))


def _logical(self: Lanes, node: Any, done: dict[int, n.PrimExpr]) -> n.PrimExpr:
    """A scalar operation, in every lane, where all operands are uniform."""
    parts = [scalar_of(done[id(part)]) for part in children(node)]
    if any(part.dtype.is_vector for part in parts):
        return type(node)(*map(self.spread, parts))
    return n.Broadcast(type(node)(*parts), self.lanes)


def _cast(self: Lanes, node: n.Cast, done: dict[int, n.PrimExpr]) -> n.PrimExpr:
    inner = done[id(node.value)]
    index_like = node.dtype.is_int and inner.dtype.is_int and node.dtype.bits > inner.dtype.bits
    if isinstance(inner, n.Ramp) and index_like:
        # Widening a ramp of loop variables: they do not overflow in the narrower type.
        return n.Ramp(n.Cast(node.dtype, inner.base), n.Cast(node.dtype, inner.stride), self.lanes)
    return n.Cast(node.dtype.with_lanes(self.lanes), inner)


def _call(self: Lanes, node: n.Call, done: dict[int, n.PrimExpr]) -> n.PrimExpr:
    if node.op in _NOT_IN_LANES or not INTRINSICS[node.op].pure:
        raise Scalarise(f"{node.op} has no form in lanes")
    arguments = [self.spread(done[id(argument)]) for argument in node.args]
    if node.op == "if_then_else":  # one choice for all lanes where they agree
        arguments[0] = scalar_of(arguments[0])
    return n.Call(node.dtype.with_lanes(self.lanes), node.op, tuple(arguments))


def _load(self: Lanes, node: t.BufferLoad, done: dict[int, n.PrimExpr]) -> n.PrimExpr:
    if len(node.indices) != 1:
        raise Scalarise("the access is not flat")
    return t.BufferLoad(node.buffer, (done[id(node.indices[0])],))


def _let(self: Lanes, node: n.Let, done: dict[int, n.PrimExpr]) -> n.PrimExpr:
    value, body = done[id(node.value)], done[id(node.body)]
    vector = self.variables.get(id(node.var))
    return n.Let(vector if isinstance(vector, n.Var) else node.var, value, body)


_BUILDERS: Final[dict[type, Any]] = {
    n.Add: _sum,
    n.Sub: _sum,
    n.Mul: _product,
    n.FloorDiv: _quotient,
    n.FloorMod: _quotient,
    **dict.fromkeys((n.LT, n.LE, n.GT, n.GE), _comparison),
    **dict.fromkeys((n.And, n.Or, n.Not), _logical),
    n.Cast: _cast,
    n.Call: _call,
    n.Let: _let,
    t.BufferLoad: _load,
}
