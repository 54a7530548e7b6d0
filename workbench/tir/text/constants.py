"""Spellings that the printer and the parser share: operators, words, numbers.

>>> float_literal(0.10000000149011612, DataType("float32"))
'0.1'
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np

from ...arith import nodes as n
from ...arith.intrinsics import Intrinsic, Result
from ...core.dtype import DataType
from ...core.errors import WorkbenchError
from ..nodes import ForKind, IterKind

# Precedences follow Python's grammar; a greater number binds tighter.
LOWEST, OR, AND, NOT, COMPARE, SUM, PRODUCT, UNARY, ATOM = 0, 1, 2, 3, 4, 9, 10, 11, 20
EXPLICIT: Final = 30
"""A place where a bare number would take another dtype: constants print with theirs."""

INFIX: Final[dict[type[n.PrimExpr], tuple[str, int]]] = {
    n.Add: ("+", SUM),
    n.Sub: ("-", SUM),
    n.Mul: ("*", PRODUCT),
    n.Div: ("/", PRODUCT),
    n.FloorDiv: ("//", PRODUCT),
    n.FloorMod: ("%", PRODUCT),
    n.LT: ("<", COMPARE),
    n.LE: ("<=", COMPARE),
    n.GT: (">", COMPARE),
    n.GE: (">=", COMPARE),
    n.EQ: ("==", COMPARE),
    n.NE: ("!=", COMPARE),
    n.And: ("and", AND),
    n.Or: ("or", OR),
}
"""Classes written with an operator (`Div` of floats only, `//` and `%` of integers only)."""

FUNCTIONS: Final[dict[type[n.PrimExpr], str]] = {
    n.Div: "truncdiv",
    n.Mod: "truncmod",
    n.FloorDiv: "FloorDiv",
    n.FloorMod: "FloorMod",
    n.Min: "min",
    n.Max: "max",
}
"""Two-operand classes written as functions."""

LOOPS: Final[dict[ForKind, str]] = {
    ForKind.SERIAL: "serial",
    ForKind.PARALLEL: "parallel",
    ForKind.VECTORIZED: "vectorized",
    ForKind.UNROLLED: "unroll",
    ForKind.THREAD_BINDING: "thread_binding",
}

AXES: Final[dict[IterKind, str]] = {
    IterKind.SPATIAL: "spatial",
    IterKind.REDUCE: "reduce",
    IterKind.SCAN: "scan",
    IterKind.OPAQUE: "opaque",
}

HELPERS: Final = frozenset(
    (
        *("Buffer", "Broadcast", "Call", "Cast", "FloatImm", "IntImm", "Let", "LetStmt", "Ramp", "Range", "Select"),
        *("StringImm", "alloc_buffer", "allocate", "axis", "block", "block_attr", "broadcast", "buffer", "dtype"),
        *("evaluate", "expr", "func_attr", "grid", "init", "let", "map", "match_buffer", "names", "opaque"),
        *("parallel", "prim_func", "ramp", "range", "reads", "seq", "serial", "target", "thread_binding"),
        *("unroll", "vectorized", "where", "writes", "bool", "handle", "truncdiv", "truncmod", "min", "max"),
    )
)
"""Words after ``T.`` that are not intrinsics."""


@lru_cache(maxsize=4096)
def is_dtype_word(word: str) -> bool:
    """True for ``float32`` and the like, which build constants and declare scalars."""
    try:
        return str(DataType(word)) == word
    except WorkbenchError:
        return False


def natural_dtype(entry: Intrinsic, arguments: tuple[n.PrimExpr, ...]) -> DataType | None:
    """The dtype that an intrinsic's rule gives for these arguments; None when the call must say it."""
    fixed = {Result.VOID: "void", Result.HANDLE: "handle"}.get(entry.result)
    if fixed is not None:
        return DataType(fixed)
    if entry.result is Result.BOOL and arguments:
        return DataType("bool").with_lanes(arguments[0].dtype.lanes)
    position = {Result.FIRST: 0, Result.SECOND: 1}.get(entry.result)
    return arguments[position].dtype if position is not None and position < len(arguments) else None


def takes_literals(entry: Intrinsic) -> bool:
    """Whether a bare number among the arguments takes the dtype of the others."""
    return entry.pure and entry.result in (Result.FIRST, Result.SECOND) and (entry.arity or 0) > 1


def float_literal(value: float, dtype: DataType) -> str:
    """The shortest spelling that rounds to `value` in `dtype`; a quoted word for infinities and NaN."""
    if math.isnan(value):
        return '"nan"'
    if math.isinf(value):
        return '"inf"' if value > 0 else '"-inf"'
    if dtype.bits == 32 and value != 0:
        shorter = np.format_float_positional if 1e-4 <= abs(value) < 1e16 else np.format_float_scientific
        with np.errstate(over="ignore"):
            text = shorter(np.float32(value), unique=True, trim="0")
            if float(np.float32(text)) == value and math.copysign(1, float(text)) == math.copysign(1, value):
                return text
    return repr(value)


def quoted(text: str) -> str:
    """Text between double quotes where that needs no escape; anything odd in it escaped, as `repr` does."""
    shown = repr(text)
    return f'"{shown[1:-1]}"' if shown[0] == "'" and '"' not in text else shown
