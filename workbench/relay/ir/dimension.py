"""Symbolic dimensions in text and under substitution.

The text of a dimension is Python: ``n``, ``n * 2 + 1``, ``n // 2``, ``min(n, 4)``; a dimension that is known only at
run time is ``?`` here and ``R.Any()`` in scripts.

>>> from ...arith.nodes import Var
>>> dimension_text(Var("n") * 2 + 1)
'n * 2 + 1'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any as AnyValue

from ...arith import build
from ...arith import nodes as n
from ...core.node import Node, rewrite
from ...core.trampoline import Task, run
from .types import Any, Dimension

BINARY: dict[type[n.PrimExpr], tuple[str, int]] = {
    n.Add: ("+", 1),
    n.Sub: ("-", 1),
    n.Mul: ("*", 2),
    n.FloorDiv: ("//", 2),
    n.FloorMod: ("%", 2),
}
"""Operators that print infix: sign and how tightly they bind."""

FUNCTIONS: dict[type[n.PrimExpr], str] = {n.Min: "min", n.Max: "max", n.Div: "truncdiv", n.Mod: "truncmod"}
"""Operators of two operands that print as functions."""

_ATOM = 9


def dimension_text(extent: AnyValue, name: Callable[[n.Var], str] | None = None, unknown: str = "?") -> str:
    """A dimension as text; `name` spells variables, `unknown` an `Any()`."""
    if isinstance(extent, int):
        return str(extent)
    if isinstance(extent, Any):
        return unknown
    text, _ = run(_expression(extent, name or (lambda variable: variable.name)))
    return text


def _expression(value: n.PrimExpr, name: Callable[[n.Var], str]) -> Task:
    """(text, how tightly its outermost operator binds)."""
    kind = type(value)
    if isinstance(value, n.Var):
        return name(value), _ATOM
    if isinstance(value, n.IntImm):
        plain = value.dtype == "int64" and value.value >= 0
        return (str(value.value) if plain else f'R.int({value.value}, "{value.dtype}")'), _ATOM
    if isinstance(value, n.Cast):
        inner, _ = yield _expression(value.value, name)
        return f'R.cast({inner}, "{value.dtype}")', _ATOM
    if kind in BINARY and isinstance(value, n.BinaryExpr):
        sign, strength = BINARY[kind]
        left, tight_left = yield _expression(value.a, name)
        right, tight_right = yield _expression(value.b, name)
        left = left if tight_left >= strength else f"({left})"
        right = right if tight_right > strength else f"({right})"
        return f"{left} {sign} {right}", strength
    if kind in FUNCTIONS and isinstance(value, n.BinaryExpr):
        left, _ = yield _expression(value.a, name)
        right, _ = yield _expression(value.b, name)
        return f"R.{FUNCTIONS[kind]}({left}, {right})", _ATOM
    return f"R.unprintable({kind.__name__!r})", _ATOM


def substitute_dimensions(extent: Dimension, values: Mapping[int, AnyValue]) -> Dimension:
    """A dimension with variables (by identity) replaced; folded where it becomes a number.

    A variable replaced by `Any()` makes the whole dimension `Any()`.
    """
    if not isinstance(extent, n.PrimExpr):
        return extent
    if isinstance(extent, n.Var):
        return values.get(id(extent), extent)
    unknown = False

    def post(part: Node) -> Node | None:
        nonlocal unknown
        if isinstance(part, n.Var) and id(part) in values:
            value = values[id(part)]
            unknown = unknown or isinstance(value, Any)
            return part if isinstance(value, Any) else build.convert(value, part.dtype)
        if not isinstance(part, n.BinaryExpr):
            return None
        builder = _BUILDERS.get(type(part))
        return builder(part.a, part.b) if builder is not None else None

    made = rewrite(extent, post)
    if unknown:
        return Any()
    return made.value if isinstance(made, n.IntImm) else made


_BUILDERS: dict[type[n.PrimExpr], Callable[[AnyValue, AnyValue], n.PrimExpr]] = {
    n.Add: build.add,
    n.Sub: build.subtract,
    n.Mul: build.multiply,
    n.FloorDiv: build.floordiv,
    n.FloorMod: build.floormod,
    n.Min: build.minimum,
    n.Max: build.maximum,
}
