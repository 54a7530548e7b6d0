"""Values of scalar expressions for given values of variables: the plain meaning, for tests and witnesses.

>>> from workbench.arith.nodes import Var
>>> i = Var("i")
>>> evaluate((i * 8 + 3) // 4, {i: 2})
4
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..core.errors import WorkbenchError
from ..core.node import children
from ..core.walks import folded
from . import nodes as n
from .build import truncated, wrap
from .nodes import PrimExpr, Var

_Meaning = Callable[[Any], Any] | Callable[[Any, Any], Any] | Callable[[Any, Any, Any], Any]
_MEANING: Final[dict[type, _Meaning]] = {
    n.Add: lambda a, b: a + b,
    n.Sub: lambda a, b: a - b,
    n.Mul: lambda a, b: a * b,
    n.FloorDiv: lambda a, b: a // b,
    n.FloorMod: lambda a, b: a % b,
    n.Div: truncated,
    n.Mod: lambda a, b: a - truncated(a, b) * b,
    n.Min: min,
    n.Max: max,
    n.EQ: lambda a, b: a == b,
    n.NE: lambda a, b: a != b,
    n.LT: lambda a, b: a < b,
    n.LE: lambda a, b: a <= b,
    n.GT: lambda a, b: a > b,
    n.GE: lambda a, b: a >= b,
    n.And: lambda a, b: a and b,
    n.Or: lambda a, b: a or b,
    n.Not: lambda a: not a,
    n.Select: lambda c, a, b: a if c else b,
}


def evaluate(expr: PrimExpr, values: Mapping[Var, Any]) -> Any:
    """The value of an integer or bool expression without loads; integers wrap to their dtype unless int64.

    Raises `WorkbenchError` for a variable without a value, a division by zero, or a node without a plain meaning.
    """
    known: dict[int, Any] = {id(variable): value for variable, value in values.items()}
    return folded(expr, _parts, _value, known)


def _parts(node: PrimExpr) -> list[PrimExpr]:
    return [part for part in children(node) if isinstance(part, PrimExpr)]


def _value(node: PrimExpr, parts: list[Any]) -> Any:
    if isinstance(node, n.IntImm):
        return bool(node.value) if node.dtype == "bool" else node.value
    if isinstance(node, n.Cast):
        return bool(parts[0]) if node.dtype.is_bool else wrap(int(parts[0]), node.dtype)
    if isinstance(node, n.Call) and node.op == "if_then_else":
        return parts[1] if parts[0] else parts[2]
    meaning = _MEANING.get(type(node))
    if meaning is None:
        what = f"variable {node.name}" if isinstance(node, Var) else type(node).__name__
        raise WorkbenchError("E-ARITH-VALUE", f"{what} has no value here", nodes=(node,))
    if isinstance(node, (n.FloorDiv, n.FloorMod, n.Div, n.Mod)) and parts[1] == 0:
        raise WorkbenchError("E-ARITH-VALUE", "division by zero", nodes=(node,))
    result = meaning(*parts)
    return result if node.dtype == "int64" or node.dtype.is_bool else wrap(result, node.dtype)
