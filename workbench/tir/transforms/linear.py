"""Index expressions as sums: integer multiples of atoms, and a constant.

An atom is a variable or a subexpression that is not linear; equal atoms are recognised by structure, so that
differences cancel: ``(i * 16 + j) - i * 16`` is ``j``.

>>> i, j = n.Var("i"), n.Var("j")
>>> difference(i * 16 + j, i * 16) is j
True
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from ...arith import nodes as n
from ...arith.build import INDEX, add, const, multiply
from ...core.node import FieldValue, Node, post_order


@dataclass
class Linear:
    """constant + sum of coefficient * atom."""

    constant: int = 0
    terms: dict[Any, tuple[n.PrimExpr, int]] = field(default_factory=lambda: {})
    """By structural key: the atom and its coefficient (never 0)."""

    def add(self, key: Any, atom: n.PrimExpr, coefficient: int) -> None:
        total = self.terms.get(key, (atom, 0))[1] + coefficient
        if total:
            self.terms[key] = (atom, total)
        else:
            self.terms.pop(key, None)

    def expression(self) -> n.PrimExpr:
        """The sum as an expression, in the order in which atoms were met."""
        total: n.PrimExpr | None = None
        for atom, coefficient in self.terms.values():
            term = multiply(atom, const(coefficient, atom.dtype))
            total = term if total is None else add(total, term)
        if total is None:
            return const(self.constant, INDEX)
        return add(total, const(self.constant, total.dtype))


def linear(expr: n.PrimExpr, factor: int = 1, into: Linear | None = None) -> Linear:
    """`factor` times `expr`, added to `into`."""
    result = into if into is not None else Linear()
    pending: list[tuple[n.PrimExpr, int]] = [(expr, factor)]
    while pending:
        current, scale = pending.pop()
        if isinstance(current, n.IntImm):
            result.constant += current.value * scale
        elif isinstance(current, n.Add):
            pending += [(current.b, scale), (current.a, scale)]
        elif isinstance(current, n.Sub):
            pending += [(current.b, -scale), (current.a, scale)]
        elif isinstance(current, n.Mul) and isinstance(current.b, n.IntImm):
            pending.append((current.a, scale * current.b.value))
        elif isinstance(current, n.Mul) and isinstance(current.a, n.IntImm):
            pending.append((current.b, scale * current.a.value))
        else:
            result.add(structure(current), current, scale)
    return result


def difference(a: n.PrimExpr, b: n.PrimExpr) -> n.PrimExpr:
    """a - b with equal terms cancelled."""
    return linear(b, -1, linear(a)).expression()


def structure(expr: n.PrimExpr) -> Any:
    """A key equal for expressions of the same structure over the same variables and buffers."""
    if expr.is_variable:
        return id(expr)
    numbers: dict[int, int] = {}
    rows: dict[Any, int] = {}
    for node in post_order(expr):
        row: Any = id(node) if node.is_variable else (type(node).__name__, *_fields(node, numbers))
        numbers[id(node)] = rows.setdefault(row, len(rows))
    return tuple(rows)


def _fields(node: Node, numbers: dict[int, int]) -> Iterable[Any]:
    for name in node.field_names:
        value: FieldValue = getattr(node, name)
        if isinstance(value, Node):
            yield ("#", numbers[id(value)])
        elif type(value) is tuple:
            yield tuple(("#", numbers[id(item)]) if isinstance(item, Node) else item for item in value)
        else:
            yield value


_MULTIPLE_LIMIT: Final = 64


def multiple_of(index: n.PrimExpr) -> int:
    """A number that divides `index`, whatever its variables are (0 for the constant 0); 1 if none is seen."""
    result = 0
    pending: list[tuple[n.PrimExpr, int]] = [(index, 1)]
    for _ in range(_MULTIPLE_LIMIT):
        if not pending:
            return result
        expr, factor = pending.pop()
        if isinstance(expr, n.IntImm):
            result = math.gcd(result, expr.value * factor)
        elif isinstance(expr, (n.Add, n.Sub)):
            pending += [(expr.a, factor), (expr.b, factor)]
        elif isinstance(expr, n.Mul) and isinstance(expr.b, n.IntImm):
            pending.append((expr.a, factor * expr.b.value))
        elif isinstance(expr, n.Mul) and isinstance(expr.a, n.IntImm):
            pending.append((expr.b, factor * expr.a.value))
        else:
            result = math.gcd(result, factor)
    return 1
