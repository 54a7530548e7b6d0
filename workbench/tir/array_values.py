"""Values of index expressions for many iterations at once, as NumPy arrays.

Invariant: `values(expr, known)` equals `arith.evaluate.evaluate` at every position.  Iterative.

>>> from workbench.arith.nodes import Var
>>> i = Var("i")
>>> values(i * 8 + 3, {id(i): np.arange(3)})
array([ 3, 11, 19])
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np

from ..arith import nodes as n
from ..arith.nodes import PrimExpr
from ..core.errors import WorkbenchError
from ..core.walks import folded
from . import nodes as t

Values = Any
"""An int64 or bool array with one value an iteration, or a plain number for all of them."""
Loader = Callable[[t.BufferLoad, tuple[Values, ...]], Values]


def _truncated(a: Values, b: Values) -> Values:
    quotient: Any = np.abs(a) // np.abs(b)
    return cast(Any, np.where((np.asarray(a) < 0) == (np.asarray(b) < 0), quotient, -quotient))


def _quotient(a: Values, b: Values) -> Values:
    return a // b


def _remainder(a: Values, b: Values) -> Values:
    return a % b


def _rest(a: Values, b: Values) -> Values:
    return a - _truncated(a, b) * b


MEANING: Final[dict[type, Callable[..., Any]]] = {
    n.Add: operator.add,
    n.Sub: operator.sub,
    n.Mul: operator.mul,
    n.FloorDiv: _quotient,
    n.FloorMod: _remainder,
    n.Div: _truncated,
    n.Mod: _rest,
    n.Min: np.minimum,
    n.Max: np.maximum,
    n.EQ: np.equal,
    n.NE: np.not_equal,
    n.LT: np.less,
    n.LE: np.less_equal,
    n.GT: np.greater,
    n.GE: np.greater_equal,
    n.And: np.logical_and,
    n.Or: np.logical_or,
    n.Not: np.logical_not,
    n.Select: np.where,
}
"""What the classes of expressions mean, given the values of their parts."""


def refuse_load(load: t.BufferLoad, indices: tuple[Values, ...]) -> Values:
    """Raises `WorkbenchError` E-ANALYSIS-DATA: a load whose value is not known."""
    raise WorkbenchError(
        "E-ANALYSIS-DATA",
        f"what is accessed depends on the values in {load.buffer.name}",
        found=f"an index or condition that loads from {load.buffer.name}",
        expected="indices made of loop variables",
        fix=f"pass inputs={{{load.buffer.name!r}: array}} if it is an input; else this fact cannot be had",
        nodes=(load,),
    )


def values(expr: PrimExpr, known: dict[int, Values], load: Loader = refuse_load) -> Values:
    """The values of an integer or bool expression; `known` holds those of variables by identity.

    A vector expression has two axes, iterations (or one) and lanes.  Raises `WorkbenchError` E-ANALYSIS-DATA where the
    value is not made of the variables alone and `load` does not know it.
    """
    return folded(expr, operands, lambda node, parts: _value(node, parts, load), dict(known))


def operands(node: PrimExpr) -> tuple[PrimExpr, ...]:
    """The scalar expressions directly inside an expression."""
    if isinstance(node, (n.Var, n.IntImm)):
        return ()
    if isinstance(node, n.BinaryExpr):
        return (node.a, node.b)
    if isinstance(node, t.BufferLoad):
        return node.indices
    found: list[PrimExpr] = []
    for name in node.field_names:
        value: Any = getattr(node, name)
        parts = cast("tuple[Any, ...]", value if isinstance(value, tuple) else (value,))
        found += [part for part in parts if isinstance(part, PrimExpr)]
    return tuple(found)


def _converted(value: Values, node: n.Cast) -> Values:
    """Of an integer its last bits, as native code keeps them; what 64 bits do not hold is not known here."""
    if node.dtype.is_bool:
        return value != 0
    if not node.dtype.is_integer:
        return _unknown(node)
    whole: Any = np.asarray(value).astype(np.int64) if isinstance(value, (bool, np.ndarray)) else value
    low, high = node.dtype.limits()
    if np.all((whole >= low) & (whole <= high)):
        return whole
    return (whole - low) % (high - low + 1) + low if node.dtype.bits < 64 else _unknown(node)


def _value(node: PrimExpr, parts: list[Values], load: Loader) -> Values:
    if isinstance(node, n.IntImm):
        return bool(node.value) if node.dtype.is_bool else node.value
    if isinstance(node, n.Var):
        raise WorkbenchError("E-ANALYSIS-DATA", f"{node.name} has no value here", nodes=(node,),
                             fix="pass sizes={...} for symbolic extents")  # fmt: skip
    if isinstance(node, t.BufferLoad):
        return load(node, tuple(parts))
    if isinstance(node, n.Cast):
        return _converted(parts[0], node)
    if isinstance(node, n.Call) and node.op == "if_then_else":
        return cast(Any, np.where(parts[0], parts[1], parts[2]))
    if isinstance(node, n.Ramp):
        return np.reshape(parts[0], (-1, 1)) + np.reshape(parts[1], (-1, 1)) * np.arange(node.lanes)
    if isinstance(node, n.Broadcast):
        return np.reshape(parts[0], (-1, 1))
    meaning = MEANING.get(type(node))
    made: Values = meaning(*parts) if meaning is not None else _unknown(node)
    return made


def _unknown(node: PrimExpr) -> Values:
    what = f"a call of {node.op}" if isinstance(node, n.Call) else type(node).__name__
    raise WorkbenchError(
        "E-ANALYSIS-DATA", f"an index or condition contains {what}", nodes=(node,),
        expected="indices made of loop variables", fix="this fact cannot be had for such a program",
    )  # fmt: skip


__all__ = ["Loader", "Values", "operands", "refuse_load", "values"]
