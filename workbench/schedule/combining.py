"""Is a combiner associative, commutative, and its start neutral?  Evaluated on all triples of a small grid of values.

Expressions are evaluated by NumPy over all combinations at once.  The grid holds negative, zero, equal and unequal
values, so a polynomial whose degree in each variable is below the number of values, and a choice by comparisons, are
decided; anything else (exponentials) is compared up to rounding.

Invariant: a `Flaws` with empty texts means that no counterexample is in the grid; a text is a counterexample.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arith import nodes as a
from ..arith.nodes import PrimExpr, Var
from ..core.dtype import DataType
from ..core.node import children
from ..core.walks import folded
from ..tir.array_values import MEANING

Arrays = list[Any]


@dataclass(frozen=True)
class Flaws:
    """What speaks against each property of a combiner: a counterexample, or nothing."""

    neutral: str = ""
    associative: str = ""
    commutative: str = ""
    absent: str = ""
    """Against the start changing nothing where it is added."""


_GRID: dict[int, int] = {1: 7, 2: 4, 3: 3, 4: 2}
"""Values a component, by the number of components."""
_FLOATS = (-1.0, 2.0, 0.0, 0.5, -3.0, 1.0, 4.0)
_SIGNED = (-1, 2, 0, 1, -3, 5, 4)
_UNSIGNED = (0, 1, 2, 3, 5, 8, 4)


def flaws_of(
    lhs: Sequence[Var], rhs: Sequence[Var], result: Sequence[PrimExpr], identity: Sequence[PrimExpr]
) -> Flaws | None:
    """The flaws of ``result(lhs, rhs)`` with the start `identity`; None if it cannot be evaluated."""
    count = _GRID.get(len(lhs))
    if count is None:
        return None
    tuples = [np.array(part) for part in zip(*itertools.product(*(_values(v.dtype, count) for v in lhs)), strict=True)]
    size = len(tuples[0])

    def combine(held: Arrays, added: Arrays) -> Arrays:
        known = {id(var): value for var, value in zip((*lhs, *rhs), (*held, *added), strict=True)}
        return [_evaluated(expr, known) for expr in result]

    try:
        with np.errstate(all="ignore"):
            start = [np.full((size,), _evaluated(expr, {})) for expr in identity]
            kept = _counterexample(combine(start, tuples), tuples, (start, tuples))
            added = _counterexample(combine(tuples, start), tuples, (tuples, start))
            x, y = ([part[index] for part in tuples] for index in np.indices((size, size)).reshape(2, -1))
            swapped = _counterexample(combine(x, y), combine(y, x), (x, y))
            x, y, z = ([part[index] for part in tuples] for index in np.indices((size,) * 3).reshape(3, -1))
            grouped = _counterexample(combine(combine(x, y), z), combine(x, combine(y, z)), (x, y, z))
    except _CannotEvaluateError:
        return None
    return Flaws(
        "{} combined with {} gives {}".format(*kept) if kept else "",
        "{}, {} and {} give {} combined from the left, {} from the right".format(*grouped) if grouped else "",
        "{} combined with {} gives {}, the other way round {}".format(*swapped) if swapped else "",
        "{} combined with {} gives {}".format(*added) if added else "",
    )


def _values(dtype: DataType, count: int) -> tuple[Any, ...]:
    if dtype.is_bool:
        return (False, True)
    return (_FLOATS if dtype.is_float else _UNSIGNED if dtype.is_uint else _SIGNED)[:count]


def _counterexample(one: Arrays, other: Arrays, inputs: Sequence[Arrays]) -> list[str]:
    """The first place where two lists of arrays differ: the inputs there, and both values, as text."""
    wrong = np.zeros(np.shape(inputs[0][0]), bool)
    for left, right in zip(one, other, strict=True):
        close = np.isclose(left, right, rtol=1e-9, atol=1e-12, equal_nan=True)
        wrong |= ~close
    if not wrong.any():
        return []
    at = int(np.argmax(wrong))
    return [_tuple_text(arrays, at) for arrays in (*inputs, one, other)]


def _tuple_text(arrays: Arrays, at: int) -> str:
    parts = [f"{np.atleast_1d(array)[at if np.ndim(array) else 0]:g}" for array in arrays]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


class _CannotEvaluateError(Exception):
    """An expression of a kind that is not in the tables below."""


_CALLS: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "abs": np.abs, "if_then_else": np.where, "tanh": np.tanh,
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
}  # fmt: skip


def _evaluated(root: PrimExpr, known: dict[int, Any]) -> Any:
    """The value of an expression over arrays.  Raises `_CannotEvaluateError`."""
    return folded(root, children, _applied, dict(known))


def _applied(expr: Any, values: list[Any]) -> Any:
    if isinstance(expr, (a.IntImm, a.FloatImm)):
        return bool(expr.value) if expr.dtype.is_bool else expr.value
    if isinstance(expr, a.Div) and expr.dtype.is_float:
        return np.divide(*values)
    if type(expr) in MEANING:
        return MEANING[type(expr)](*values)
    if isinstance(expr, a.Cast):
        return np.asarray(values[0]).astype(np.float64 if expr.dtype.is_float else np.int64)
    if isinstance(expr, a.Call) and expr.op in _CALLS:
        return _CALLS[expr.op](*values)
    raise _CannotEvaluateError
