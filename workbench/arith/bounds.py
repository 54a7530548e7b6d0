"""Constant bounds of integer expressions under ranges of their variables.

>>> i = n.Var("i")
>>> bounds(i * 4 + 3, {id(i): (0, 7)})
(3, 31)
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..core.node import post_order
from . import nodes as n

Interval = tuple[float, float]
"""(least, greatest) value; ints, or plus or minus infinity."""

EVERYTHING: Interval = (-math.inf, math.inf)


def bounds(expr: n.PrimExpr, ranges: Mapping[int, Interval]) -> Interval:
    """The least interval found for `expr`; `ranges` are intervals by identity of variable (or of any other atom)."""
    known: dict[int, Interval] = {}
    for node in post_order(expr):
        if isinstance(node, n.PrimExpr):
            known[id(node)] = node_bounds(node, known, ranges)
    return known[id(expr)]


def node_bounds(node: n.PrimExpr, known: Mapping[int, Interval], ranges: Mapping[int, Interval]) -> Interval:
    """The interval of one node from those of its operands."""
    if id(node) in ranges:
        return ranges[id(node)]
    if isinstance(node, n.IntImm):
        return (node.value, node.value)
    if isinstance(node, n.BinaryExpr):
        rule = _RULES.get(type(node))
        if rule is not None and not node.dtype.is_float:
            return rule(known[id(node.a)], known[id(node.b)])
    if isinstance(node, n.Select):
        return _join(known[id(node.true_value)], known[id(node.false_value)])
    if isinstance(node, n.Broadcast):
        return known[id(node.value)]
    if isinstance(node, n.Cast) and node.dtype.is_integer and node.value.dtype.is_integer:
        low, high = known[id(node.value)]
        least, most = node.dtype.element_of.limits()
        return (low, high) if least <= low and high <= most else EVERYTHING
    return EVERYTHING


def _join(a: Interval, b: Interval) -> Interval:
    return (min(a[0], b[0]), max(a[1], b[1]))


def _times(x: float, y: float) -> float:
    return 0 if x == 0 or y == 0 else x * y


def _product(a: Interval, b: Interval) -> Interval:
    corners = [_times(x, y) for x in a for y in b]
    return (min(corners), max(corners))


def _divided(x: float, by: int) -> float:
    return x if math.isinf(x) else int(x) // by


def _floordiv(a: Interval, b: Interval) -> Interval:
    if b[0] != b[1] or b[0] <= 0 or math.isinf(b[0]):
        return (0, a[1]) if a[0] >= 0 and b[0] > 0 else EVERYTHING
    return (_divided(a[0], int(b[0])), _divided(a[1], int(b[0])))


def _floormod(a: Interval, b: Interval) -> Interval:
    if b[0] <= 0 or math.isinf(b[1]):
        return EVERYTHING
    if a[0] >= 0 and a[1] < b[0]:
        return a
    return (0, min(b[1] - 1, a[1]) if a[0] >= 0 else b[1] - 1)


_RULES = {
    n.Add: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    n.Sub: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    n.Mul: _product,
    n.FloorDiv: _floordiv,
    n.FloorMod: _floormod,
    n.Min: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    n.Max: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
}
