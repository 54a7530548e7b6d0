"""Simplifying integer and boolean expressions by linear forms and bounds; exact for every value in the ranges.

    (i * 8 + j) // 8  ->  i                 for 0 <= j < 8
    (i * 8 + j) % 8   ->  j
    i < 16            ->  True              for 0 <= i < 16
    min(i, 20)        ->  i

Integer arithmetic here is index arithmetic, which never overflows (`arith.nodes`); narrower integers are left alone.

>>> i, j = n.Var("i"), n.Var("j")
>>> simplify((i * 8 + j) // 8, {i: (0, 3), j: (0, 7)}) is i
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..core.node import Node, post_order, rewrite
from . import build as b
from . import nodes as n
from .bounds import EVERYTHING, Interval, node_bounds
from .linear import Linear, linear


def simplify(expr: n.PrimExpr, ranges: Mapping[n.Var, tuple[int, int]] | None = None) -> n.PrimExpr:
    """`expr` in simpler words; `ranges` give (least, greatest) values of variables."""
    return Simplifier(ranges or {})(expr)


def can_prove(condition: n.PrimExpr, ranges: Mapping[n.Var, tuple[int, int]] | None = None) -> bool:
    """Whether `condition` is found to hold for all values in the ranges."""
    made = simplify(condition, ranges)
    return isinstance(made, n.IntImm) and bool(made.value)


class Simplifier:
    """Simplifies under ranges that may be added to; answers are kept for expressions seen before."""

    def __init__(self, ranges: Mapping[n.Var, tuple[int, int]]) -> None:
        self._ranges: dict[int, Interval] = {id(variable): interval for variable, interval in ranges.items()}
        self._alive: list[Any] = list(ranges)
        self._bounds: dict[int, Interval] = {}

    def bind(self, variable: n.Var, interval: tuple[float, float]) -> None:
        """Say between which values a variable lies."""
        self._ranges[id(variable)] = interval
        self._alive.append(variable)
        self._bounds.clear()

    def bounds(self, expr: n.PrimExpr) -> Interval:
        """(least, greatest) value of `expr` as far as it is known."""
        if id(expr) not in self._bounds:
            for node in post_order(expr):
                if isinstance(node, n.PrimExpr) and id(node) not in self._bounds:
                    self._bounds[id(node)] = node_bounds(node, self._bounds, self._ranges)
                    self._alive.append(node)
        return self._bounds[id(expr)]

    def __call__(self, expr: n.PrimExpr) -> n.PrimExpr:
        return rewrite(expr, self._simplified)

    def _simplified(self, node: Node) -> n.PrimExpr | None:
        rule = _RULES.get(type(node))
        if rule is None:
            return None
        made = rule(self, node)
        return None if made is None or made is node else made

    def form(self, expr: n.PrimExpr) -> Linear:
        """The linear form, with atoms whose value is known put in."""
        found = linear(expr)
        constant, kept = found.constant, []
        for term in found.terms:
            low, high = self.bounds(term.atom)
            if low == high:
                constant += term.coefficient * int(low)
            else:
                kept.append(term)
        return Linear(tuple(kept), constant) if len(kept) != len(found.terms) else found

    def form_bounds(self, form: Linear) -> Interval:
        """Bounds of a linear form, each atom on its own."""
        low: float = form.constant
        high: float = form.constant
        for term in form.terms:
            least, most = self.bounds(term.atom)
            corners = (term.coefficient * least, term.coefficient * most)
            low, high = low + min(corners), high + max(corners)
        return low, high


def _is_index(node: n.PrimExpr) -> bool:
    return node.dtype == b.INDEX


def _sum(self: Simplifier, node: n.BinaryExpr) -> n.PrimExpr | None:
    """Sums and products of indices in linear form, if that is not longer."""
    if not _is_index(node):
        return _float_identity(node)
    low, high = self.bounds(node)
    if low == high:
        return b.const(int(low))
    form = self.form(node)
    if sum(1 for _ in post_order(form.expression())) < sum(1 for _ in post_order(node)):
        return form.expression()
    return None


def _float_identity(node: n.BinaryExpr) -> n.PrimExpr | None:
    """x * 1.0 is x for every float; x + 0.0 is not (for -0.0), so it stays."""
    if isinstance(node, n.Mul) and isinstance(node.b, n.FloatImm) and node.b.value == 1.0:
        return node.a
    return None


def _divide(self: Simplifier, node: n.FloorDiv) -> n.PrimExpr | None:
    """(c * q + r) // c is q when 0 <= r < c; nested divisions join."""
    parts = _split_by(self, node.a, node.b)
    if parts is None:
        return None
    quotient, rest, divisor = parts
    low, high = self.form_bounds(rest)
    if low // divisor == high // divisor and abs(low) != float("inf"):
        return b.add(quotient.expression(), int(low // divisor))
    if isinstance(node.a, n.FloorDiv) and isinstance(node.a.b, n.IntImm) and node.a.b.value > 0:
        return b.floordiv(node.a.a, node.a.b.value * divisor)
    if quotient.terms or quotient.constant:
        return b.add(quotient.expression(), b.floordiv(rest.expression(), divisor))
    return None


def _remainder(self: Simplifier, node: n.FloorMod) -> n.PrimExpr | None:
    """(c * q + r) % c is r when 0 <= r < c; multiples of c drop out."""
    parts = _split_by(self, node.a, node.b)
    if parts is None:
        return None
    quotient, rest, divisor = parts
    low, high = self.form_bounds(rest)
    if abs(low) != float("inf") and low // divisor == high // divisor:
        return b.subtract(rest.expression(), int(low // divisor) * divisor)
    if quotient.terms or quotient.constant:
        return b.floormod(rest.expression(), divisor)
    return None


def _split_by(self: Simplifier, value: n.PrimExpr, by: n.PrimExpr) -> tuple[Linear, Linear, int] | None:
    """value = divisor * quotient + rest, with a constant divisor and a rest that takes what does not divide."""
    if not _is_index(value) or not isinstance(by, n.IntImm) or by.value <= 0:
        return None
    divisor = by.value
    form = self.form(value)
    whole = tuple(term for term in form.terms if term.coefficient % divisor == 0)
    rest = tuple(term for term in form.terms if term.coefficient % divisor)
    quotient = Linear(
        tuple(type(term)(term.atom, term.coefficient // divisor, term.key) for term in whole), form.constant // divisor
    )
    return quotient, Linear(rest, form.constant % divisor), divisor


def _minimum(self: Simplifier, node: n.Min) -> n.PrimExpr | None:
    gap = _gap(self, node)
    if gap is None:
        return None
    return node.a if gap[1] <= 0 else node.b if gap[0] >= 0 else None


def _maximum(self: Simplifier, node: n.Max) -> n.PrimExpr | None:
    gap = _gap(self, node)
    if gap is None:
        return None
    return node.a if gap[0] >= 0 else node.b if gap[1] <= 0 else None


def _gap(self: Simplifier, node: n.BinaryExpr) -> Interval | None:
    """Bounds of a - b for indices, terms of both cancelled."""
    if not _is_index(node.a):
        return None
    by_form = self.form_bounds(self.form(n.Sub(node.a, node.b)))
    low, high = self.bounds(node.a)
    other_low, other_high = self.bounds(node.b)
    return max(by_form[0], low - other_high), min(by_form[1], high - other_low)


def _comparison(test: Callable[[Interval], bool | None]) -> Callable[[Simplifier, Any], n.PrimExpr | None]:
    def decide(self: Simplifier, node: Any) -> n.PrimExpr | None:
        gap = _gap(self, node)
        answer = test(gap) if gap is not None and gap != EVERYTHING else None
        return None if answer is None else b.const(answer)

    return decide


def _less(gap: Interval) -> bool | None:
    return True if gap[1] < 0 else False if gap[0] >= 0 else None


def _less_equal(gap: Interval) -> bool | None:
    return True if gap[1] <= 0 else False if gap[0] > 0 else None


def _equal(gap: Interval) -> bool | None:
    return True if gap == (0, 0) else False if gap[0] > 0 or gap[1] < 0 else None


def _negated(test: Callable[[Interval], bool | None]) -> Callable[[Interval], bool | None]:
    def negated(gap: Interval) -> bool | None:
        answer = test(gap)
        return None if answer is None else not answer

    return negated


def _if_shorter(node: n.PrimExpr, made: n.PrimExpr) -> n.PrimExpr | None:
    """What a builder made of the operands, unless it is the same kind of node again."""
    return None if type(made) is type(node) else made


def _choice(self: Simplifier, node: n.Select) -> n.PrimExpr | None:
    if isinstance(node.condition, n.IntImm):
        return node.true_value if node.condition.value else node.false_value
    return None


def _call(self: Simplifier, node: n.Call) -> n.PrimExpr | None:
    if node.op == "if_then_else" and isinstance(node.args[0], n.IntImm):
        return node.args[1] if node.args[0].value else node.args[2]
    if node.op == "likely" and isinstance(node.args[0], n.IntImm):
        return node.args[0]
    return None


_RULES: dict[type, Callable[[Simplifier, Any], n.PrimExpr | None]] = {
    n.Add: _sum,
    n.Sub: _sum,
    n.Mul: _sum,
    n.FloorDiv: _divide,
    n.FloorMod: _remainder,
    n.Min: _minimum,
    n.Max: _maximum,
    n.LT: _comparison(_less),
    n.LE: _comparison(_less_equal),
    n.GT: _comparison(_negated(_less_equal)),
    n.GE: _comparison(_negated(_less)),
    n.EQ: _comparison(_equal),
    n.NE: _comparison(_negated(_equal)),
    n.And: lambda self, node: _if_shorter(node, b.logical_and(node.a, node.b)),
    n.Or: lambda self, node: _if_shorter(node, b.logical_or(node.a, node.b)),
    n.Not: lambda self, node: _if_shorter(node, b.logical_not(node.a)),
    n.Select: _choice,
    n.Call: _call,
}
