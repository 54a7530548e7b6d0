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
from ..core.node import FieldValue
from . import nodes as n
from .nodes import PrimExpr, Var


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_Meaning = Callable[[Any], Any] | Callable[[Any, Any], Any] | Callable[[Any, Any, Any], Any]
_MEANING: Final[dict[type, _Meaning]] = {
    n.Add: lambda a, b: a + b,
    n.Sub: lambda a, b: a - b,
    n.Mul: lambda a, b: a * b,
    n.FloorDiv: lambda a, b: a // b,
    n.FloorMod: lambda a, b: a % b,
    n.Div: _truncated,
    n.Mod: lambda a, b: a - _truncated(a, b) * b,
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
    stack: list[tuple[PrimExpr, bool]] = [(expr, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in known:
            continue
        parts = [part for name in node.field_names for part in _parts(getattr(node, name))]
        if ready:
            known[id(node)] = _value(node, [known[id(part)] for part in parts])
        else:
            stack.append((node, True))
            stack.extend((part, False) for part in parts)
    return known[id(expr)]


def _parts(value: FieldValue) -> list[PrimExpr]:
    if isinstance(value, PrimExpr):
        return [value]
    return [item for item in value if isinstance(item, PrimExpr)] if type(value) is tuple else []


def _value(node: PrimExpr, parts: list[Any]) -> Any:
    if isinstance(node, n.IntImm):
        return bool(node.value) if node.dtype == "bool" else node.value
    if isinstance(node, n.Cast):
        return _wrapped(int(parts[0]), node.dtype)
    if isinstance(node, n.Call) and node.op == "if_then_else":
        return parts[1] if parts[0] else parts[2]
    meaning = _MEANING.get(type(node))
    if meaning is None:
        what = f"variable {node.name}" if isinstance(node, Var) else type(node).__name__
        raise WorkbenchError("E-ARITH-VALUE", f"{what} has no value here", nodes=(node,))
    if isinstance(node, (n.FloorDiv, n.FloorMod, n.Div, n.Mod)) and parts[1] == 0:
        raise WorkbenchError("E-ARITH-VALUE", "division by zero", nodes=(node,))
    result = meaning(*parts)
    return result if node.dtype == "int64" or node.dtype.is_bool else _wrapped(result, node.dtype)


def _wrapped(value: int, dtype: Any) -> Any:
    if dtype.is_bool:
        return bool(value)
    low, high = dtype.limits()
    return (value - low) % (high - low + 1) + low
