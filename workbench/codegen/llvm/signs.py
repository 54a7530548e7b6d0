"""Which integers of a function are never negative, by the extents of its loops.

A division of what is never negative needs no rounding downwards: two instructions instead of eight.

    for i in range(720): ... i // 24 ...      # i in (0, 719): udiv
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ...arith import nodes as n
from ...arith.build import add, cast, multiply
from ...arith.forms import FINITE, Interval
from ...arith.simplify import Simplifier
from ...core.node import pre_order, rewrite
from ...tir import nodes as t


class Signs:
    """See the module's header."""

    def __init__(self, body: t.Stmt) -> None:
        self._body = body

    @cached_property
    def _known(self) -> Simplifier:
        """What knows the values of all counters and of what is bound by let."""
        known, found = Simplifier(), dict[n.Var, Interval]()
        for stmt in pre_order(self._body, t.Stmt):
            if isinstance(stmt, t.For):
                begin, extent = known.bound(stmt.min), known.bound(stmt.extent)
                self._bind(known, found, stmt.var, Interval(begin.low, max(begin.low, begin.high + extent.high - 1)))
            elif isinstance(stmt, t.LetStmt) and stmt.var.dtype.is_integer and not stmt.var.dtype.is_vector:
                self._bind(known, found, stmt.var, known.bound(stmt.value))
        return known

    def _bind(self, known: Simplifier, found: dict[n.Var, Interval], var: n.Var, values: Interval) -> None:
        """Of a variable that is bound in several places, all values count."""
        low, high = values.join(found[var]) if var in found else values
        found[var] = Interval(low, high)
        known.bind(var, low if low >= -FINITE else None, high if high <= FINITE else None)

    def nonnegative(self, expr: n.PrimExpr) -> bool:
        """Whether all values (of all lanes) of an integer are known to be at least 0."""
        lane = rewrite(expr, self._one_lane) if expr.dtype.is_vector else expr
        return not lane.dtype.is_vector and self._known.bound(lane).low >= 0

    def _one_lane(self, node: Any) -> Any:
        """A vector's value in any one of its lanes."""
        if isinstance(node, n.Broadcast):
            return node.value
        if isinstance(node, n.Cast):
            return cast(node.dtype.element_of, node.value)
        if isinstance(node, n.Ramp):
            lane = n.Var("lane", node.base.dtype)
            self._known.bind(lane, 0, None if node.dtype.scalable else node.lanes - 1)
            return add(node.base, multiply(node.stride, lane))
        return None
