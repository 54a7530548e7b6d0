"""Least and greatest values of the integers of a function, from the extents of its loops.

A division of what is never negative needs no rounding downwards: two instructions instead of eight.

    for i in range(720): ... i // 24 ...      # i in (0, 719): udiv
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...arith import nodes as n
from ...core.node import children
from ...tir import nodes as t

Interval = tuple[int, int]
"""The least and the greatest value, both possible or not."""


class Intervals:
    """The values that expressions of one function may have, asked for by identity and kept."""

    def __init__(self, body: t.Stmt) -> None:
        self._body: t.Stmt | None = body
        self._known: dict[int, Interval | None] = {}
        self._alive: list[n.PrimExpr] = []

    def nonnegative(self, expr: n.PrimExpr) -> bool:
        """Whether all values (of all lanes) of an integer are known to be at least 0."""
        found = self.of(expr)
        return found is not None and found[0] >= 0

    def of(self, expr: n.PrimExpr) -> Interval | None:
        """The values of an integer or of the lanes of a vector of them; None if they are not known to be fewer than
        its dtype has."""
        if self._body is not None:
            body, self._body = self._body, None
            self._bind(body)
        known = self._known
        stack: list[tuple[n.PrimExpr, bool]] = [(expr, False)]
        while stack:
            current, expanded = stack.pop()
            if id(current) in known:
                continue
            rule = _RULES.get(type(current))
            if rule is None or not (current.dtype.is_int or current.dtype.is_uint):
                known[id(current)] = None
            elif not expanded:
                stack.append((current, True))
                stack.extend((child, False) for child in children(current) if isinstance(child, n.PrimExpr))
                continue
            else:
                known[id(current)] = _within(rule(self, current), current)
            self._alive.append(current)
        return known[id(expr)]

    def __getitem__(self, expr: n.PrimExpr) -> Interval | None:
        """The values of an expression that was looked at."""
        return self._known[id(expr)]

    def _bind(self, body: t.Stmt) -> None:
        """The values of the counters of all loops, outer ones first."""
        stack = [body]
        while stack:
            stmt = stack.pop()
            if isinstance(stmt, t.For):
                self._bind_counter(stmt)
            elif isinstance(stmt, t.LetStmt):
                self._join(stmt.var, self.of(stmt.value))
            stack.extend(child for child in reversed(children(stmt)) if isinstance(child, t.Stmt))

    def _bind_counter(self, loop: t.For) -> None:
        begin, extent = self.of(loop.min), self.of(loop.extent)
        values = (begin[0], max(begin[0], begin[1] + extent[1] - 1)) if begin and extent else None
        self._join(loop.var, values)

    def _join(self, var: n.Var, values: Interval | None) -> None:
        if id(var) in self._known:  # bound in several places
            values = _union(self._known[id(var)], values)
        self._known[id(var)] = values
        self._alive.append(var)


def _within(values: Interval | None, expr: n.PrimExpr) -> Interval | None:
    """`values` if the dtype holds them, so that nothing wraps."""
    if values is None:
        return None
    least, greatest = expr.dtype.limits()
    return values if least <= values[0] and values[1] <= greatest else None


def _union(a: Interval | None, b: Interval | None) -> Interval | None:
    return (min(a[0], b[0]), max(a[1], b[1])) if a is not None and b is not None else None


# --- one rule for each class of expression, given the values of its parts --------------------------------------------


def _binary(combine: Callable[[Interval, Interval], Interval]) -> Callable[[Intervals, Any], Interval | None]:
    def rule(known: Intervals, node: Any) -> Interval | None:
        a, b = known[node.a], known[node.b]
        return combine(a, b) if a is not None and b is not None else None

    return rule


def _product(a: Interval, b: Interval) -> Interval:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _quotient(known: Intervals, node: Any) -> Interval | None:
    a, b = known[node.a], known[node.b]
    if a is None or b is None or b[0] <= 0 or (isinstance(node, n.Div) and a[0] < 0):
        return None
    corners = [x // y for x in a for y in b]
    return min(corners), max(corners)


def _rest(known: Intervals, node: Any) -> Interval | None:
    a, b = known[node.a], known[node.b]
    if b is None or b[0] <= 0 or (isinstance(node, n.Mod) and (a is None or a[0] < 0)):
        return None
    most = b[1] - 1
    return 0, most if a is None or a[0] < 0 else min(a[1], most)


def _select(known: Intervals, node: n.Select) -> Interval | None:
    return _union(known[node.true_value], known[node.false_value])


def _ramp(known: Intervals, node: n.Ramp) -> Interval | None:
    base, stride = known[node.base], known[node.stride]
    if base is None or stride is None or node.dtype.scalable:
        return None
    last = node.lanes - 1
    return base[0] + min(0, stride[0] * last), base[1] + max(0, stride[1] * last)


_RULES: Final[dict[type, Callable[[Intervals, Any], Interval | None]]] = {
    n.IntImm: lambda known, node: (node.value, node.value),
    n.Var: lambda known, node: None,
    n.Add: _binary(lambda a, b: (a[0] + b[0], a[1] + b[1])),
    n.Sub: _binary(lambda a, b: (a[0] - b[1], a[1] - b[0])),
    n.Mul: _binary(_product),
    n.Min: _binary(lambda a, b: (min(a[0], b[0]), min(a[1], b[1]))),
    n.Max: _binary(lambda a, b: (max(a[0], b[0]), max(a[1], b[1]))),
    n.FloorDiv: _quotient,
    n.Div: _quotient,
    n.FloorMod: _rest,
    n.Mod: _rest,
    n.Select: _select,
    n.Cast: lambda known, node: known[node.value],
    n.Ramp: _ramp,
    n.Broadcast: lambda known, node: known[node.value],
}
