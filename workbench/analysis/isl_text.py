"""Index expressions and conditions in the notation of isl.

Invariant: what is written means the same as the expression; what cannot be written raises `NotAffine`.

>>> from workbench.arith.nodes import Var
>>> i = Var("i")
>>> Writer({id(i): "x0"}).expr(i * 4 + 1)
'(4*(x0) + 1)'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..arith import nodes as a
from ..arith.nodes import PrimExpr, Var
from ..tir import nodes as t


class NotAffine(Exception):
    """The question cannot be put exactly; the message says what stands in the way."""


class Writer:
    """Writes expressions in isl's notation; names variables, collects parameters."""

    def __init__(self, names: Mapping[int, str] | None = None, values: Mapping[int, PrimExpr] | None = None) -> None:
        self.names: dict[int, str] = dict(names or {})
        """By the identity of the variable."""
        self.parameters: dict[int, str] = {}
        self.values: dict[int, PrimExpr] = dict(values or {})
        """What variables stand for, by identity."""

    def name(self, var: Var) -> str:
        known = self.names.get(id(var)) or self.parameters.get(id(var))
        if known is None:
            known = self.parameters[id(var)] = f"p{len(self.parameters)}"
        return known

    def expr(self, root: PrimExpr, depth: int = 0) -> str:
        if depth > 200:
            raise NotAffine("an index is nested too deeply")
        if isinstance(root, a.IntImm):
            return str(root.value)
        if isinstance(root, Var):
            bound = self.values.get(id(root))
            return self.expr(bound, depth + 1) if bound is not None else self.name(root)
        if isinstance(root, a.Cast) and root.value.dtype.lanes == 1 and root.dtype.holds(root.value.dtype):
            return self.expr(root.value, depth + 1)
        rule = _TEXTS.get(type(root))
        if rule is None or not isinstance(root, a.BinaryExpr):
            raise NotAffine(f"an index contains {_kind(root)}")
        if isinstance(root, (a.FloorDiv, a.FloorMod)) and not _positive(root.b):
            raise NotAffine("an index is divided by something that is not a positive constant")
        if isinstance(root, a.Mul) and not (isinstance(root.a, a.IntImm) or isinstance(root.b, a.IntImm)):
            raise NotAffine("an index is a product of variables")
        if isinstance(root, a.Mul):
            number, other = (root.a, root.b) if isinstance(root.a, a.IntImm) else (root.b, root.a)
            return f"{self.expr(number)}*({self.expr(other, depth + 1)})"
        return rule(self.expr(root.a, depth + 1), self.expr(root.b, depth + 1))

    def condition(self, root: PrimExpr) -> str | None:
        """A condition on integers, or None if it is not affine (a domain without it is larger, which is safe)."""
        if isinstance(root, (a.Or, a.And)):
            parts = self.condition(root.a), self.condition(root.b)
            word = " or " if isinstance(root, a.Or) else " and "
            return None if None in parts else f"({word.join(map(str, parts))})"
        sign = _COMPARISONS.get(type(root))
        if sign is None or not isinstance(root, a.CompareExpr) or not root.a.dtype.is_integer:
            return None
        try:
            return f"{self.expr(root.a)} {sign} {self.expr(root.b)}"
        except NotAffine:
            return None


def _positive(expr: PrimExpr) -> bool:
    return isinstance(expr, a.IntImm) and expr.value > 0


def _kind(expr: PrimExpr) -> str:
    if isinstance(expr, t.BufferLoad):
        return f"a value loaded from {expr.buffer.name}"
    return f"a call of {expr.op}" if isinstance(expr, a.Call) else type(expr).__name__


_TEXTS: dict[type, Callable[[str, str], str]] = {
    a.Add: lambda x, y: f"({x} + {y})",
    a.Sub: lambda x, y: f"({x} - {y})",
    a.Mul: lambda x, y: f"{x}*({y})",
    a.FloorDiv: lambda x, y: f"floor(({x})/{y})",
    a.FloorMod: lambda x, y: f"(({x}) mod {y})",
    a.Min: lambda x, y: f"min({x}, {y})",
    a.Max: lambda x, y: f"max({x}, {y})",
}
_COMPARISONS: dict[type, str] = {a.LT: "<", a.LE: "<=", a.GT: ">", a.GE: ">=", a.EQ: "=", a.NE: "!="}


def tuple_of(letter: str, count: int) -> str:
    """x0, x1, ..."""
    return ", ".join(f"{letter}{number}" for number in range(count))


def bounds(writer: Writer, letter: str, ranges: Iterable[t.For | t.Range]) -> list[str]:
    """``low <= x0 < low + extent`` for each of some loops or domains, numbered behind `letter`."""
    found: list[str] = []
    for number, one in enumerate(ranges):
        low, extent = writer.expr(one.min), writer.expr(one.extent)
        found.append(f"{low} <= {letter}{number} < {low} + {extent}")
    return found


def relation(writer: Writer, body: str, conditions: Sequence[str]) -> str:
    """A set or map in full: ``[parameters] -> { body : conditions }``, of what `writer` has written.

    Parameters are named by identity, so that one variable has one name in all relations of a question.
    """
    text = f"[{', '.join(writer.parameters.values())}] -> {{ {body} : {' and '.join(conditions) or 'true'} }}"
    unique = {short: f"q{identity}" for identity, short in writer.parameters.items()}
    return re.sub(r"\bp\d+\b", lambda found: unique[found.group()], text)
