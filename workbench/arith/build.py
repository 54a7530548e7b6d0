"""Building expressions: operands are converted, dtypes checked, constants folded.

Python numbers take the dtype of the other operand; two dtypes of one kind meet in the wider; integers meet floats
in the float.  Identities with constants (x + 0, x * 1, x * 0 for integers) are applied at once, so that index
expressions stay readable, and leave out no call with effects; everything else is left to the simplifier.

>>> from workbench.arith.nodes import Var
>>> add(Var("i"), 0)
Var(name='i', dtype='int64')
"""

from __future__ import annotations

import math
import numbers
import typing  # its cast would hide the one that is defined here
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.dtype import DataType
from ..core.errors import DEFINE_FIRST, WorkbenchError, nearest
from . import nodes as n
from .effects import has_effects
from .intrinsics import INTRINSICS, Intrinsic, Result
from .nodes import PrimExpr

INDEX = DataType("int64")
BOOL = DataType("bool")


def const(value: Any, dtype: str | None = None) -> PrimExpr:
    """A constant.  Without `dtype`: int64, float32 or bool by the Python value.

    Raises `WorkbenchError` when an integer does not fit its dtype.
    """
    chosen = DataType(dtype) if dtype is not None else _dtype_of_python(value)
    if type(value) is int and chosen.is_integer and not chosen.is_vector:
        return _integer(value, chosen)
    scalar = chosen.element_of
    if scalar.is_handle and isinstance(value, str):
        return n.StringImm(value)
    try:
        made = n.FloatImm(_rounded(float(value), scalar), scalar) if scalar.is_float else _integer(value, scalar)
    except (TypeError, ValueError, OverflowError):
        raise _no_operand(value) from None
    return n.Broadcast(made, chosen.lanes) if chosen.is_vector else made


def _integer(value: Any, dtype: DataType) -> n.IntImm:
    whole = int(value)
    low, high = dtype.ends
    if not low <= whole <= high:
        raise WorkbenchError("E-EXPR-RANGE", f"{whole} does not fit {dtype}", expected=f"{low} to {high}")
    return n.IntImm(whole, dtype)


def _rounded(value: float, dtype: DataType) -> float:
    if dtype.bits == 64 or math.isnan(value) or math.isinf(value):
        return value
    with np.errstate(over="ignore"):
        return float(np.asarray(value, dtype.to_numpy()))


def _dtype_of_python(value: Any) -> DataType:
    if type(value) is int:
        return INDEX
    if isinstance(value, (bool, np.bool_)):
        return BOOL
    if isinstance(value, np.generic):
        return DataType(typing.cast("np.generic[Any]", value).dtype.name)
    if isinstance(value, numbers.Integral):
        return INDEX
    if isinstance(value, numbers.Real):
        return DataType("float32")
    if isinstance(value, str):
        return DataType("handle")
    raise _no_operand(value)


def _no_operand(value: Any) -> WorkbenchError:
    return WorkbenchError(
        "E-EXPR-OPERAND", f"a {type(value).__name__} cannot stand in an expression", found=repr(value)[:80]
    )


def convert(value: Any, dtype: str | None = None) -> PrimExpr:
    """`value` as an expression; Python numbers become constants of `dtype`."""
    if isinstance(value, PrimExpr):
        return value
    converter = getattr(value, "as_prim_expr", None)
    if converter is not None:
        return converter()
    return const(value, dtype)


def _match(a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    """Both operands as expressions of one dtype."""
    if not (isinstance(a, PrimExpr) and isinstance(b, PrimExpr)):
        a, b = _expressions(a, b)
    if a.dtype == b.dtype:
        return a, b
    common = _common(a.dtype, b.dtype)
    return cast(common, a), cast(common, b)


def _expressions(a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    """Both operands as expressions; a Python number takes the dtype of the other one."""
    if not isinstance(a, PrimExpr) and not hasattr(a, "as_prim_expr"):
        b = convert(b)
        return _literal(a, b.dtype), b
    a = convert(a)
    if not isinstance(b, PrimExpr) and not hasattr(b, "as_prim_expr"):
        return a, _literal(b, a.dtype)
    return a, convert(b)


def _literal(value: Any, partner: DataType) -> PrimExpr:
    """A Python number beside an expression of dtype `partner`."""
    fractional = isinstance(value, numbers.Real) and not isinstance(value, (numbers.Integral, np.bool_))
    if fractional and not partner.is_float:
        return const(value, DataType("float32").with_lanes(partner.lanes))
    if partner.is_bool and not isinstance(value, (bool, np.bool_)):
        return const(value, "int64")
    return const(value, partner)


def _common(a: DataType, b: DataType) -> DataType:
    lanes = max(a.lanes, b.lanes)
    if a.lanes != b.lanes and min(a.lanes, b.lanes) != 1:
        raise WorkbenchError("E-EXPR-LANES", "vectors of different lengths meet", found=f"{a} and {b}")
    x, y = a.element_of, b.element_of
    if x.is_handle or y.is_handle:
        raise WorkbenchError("E-EXPR-DTYPE", "a handle takes no part in arithmetic", found=f"{a} and {b}")
    if x.is_float != y.is_float:
        return (x if x.is_float else y).with_lanes(lanes)
    if x.is_bool or y.is_bool:
        return (y if x.is_bool else x).with_lanes(lanes)
    if x.bits != y.bits:
        return (x if x.bits > y.bits else y).with_lanes(lanes)
    return (x if x.is_uint or x.code == "float" else y).with_lanes(lanes)


def cast(dtype: str, value: Any) -> PrimExpr:
    """`value` converted to `dtype`; constants are converted at once."""
    target = DataType(dtype)
    value = convert(value, None)
    if value.dtype == target:
        return value
    if target.is_vector and not value.dtype.is_vector:
        return n.Broadcast(cast(target.element_of, value), target.lanes)
    if isinstance(value, n.IntImm) and target.is_integer:
        low, high = target.limits()
        if low <= value.value <= high:
            return n.IntImm(value.value, target)
    if isinstance(value, n.IntImm) and (target.is_float or target.is_bool):
        return const(bool(value.value) if target.is_bool else value.value, target)
    if isinstance(value, n.FloatImm) and target.is_float:
        return const(value.value, target)
    return n.Cast(target, value)


# --- arithmetic ---------------------------------------------------------------------------------------------------


def _immediate(value: PrimExpr) -> int | float | None:
    return value.value if isinstance(value, (n.IntImm, n.FloatImm)) else None


def _fold(a: PrimExpr, b: PrimExpr, function: Callable[[Any, Any], Any]) -> PrimExpr | None:
    """The constant `function(a, b)` of two constants, wrapped to the dtype; None if either is not constant."""
    x = _immediate(a)
    y = _immediate(b) if x is not None else None
    if x is None or y is None:
        return None
    dtype = a.dtype
    if dtype.is_float:
        with np.errstate(all="ignore"):
            kind = dtype.to_numpy().type
            return const(float(function(kind(x), kind(y))), dtype)
    return const(wrap(int(function(x, y)), dtype), dtype)


def _one_value(a: PrimExpr, b: PrimExpr) -> bool:
    """Whether two operands are one expression that has the same value both times."""
    return a is b and not has_effects(a)


def _once(a: PrimExpr, b: PrimExpr, made: Callable[[PrimExpr, PrimExpr], PrimExpr]) -> PrimExpr:
    """`made(a, b)`, which uses them more than once: those with effects are computed once, before it."""
    x, y = (n.Var("operand", item.dtype) if has_effects(item) else item for item in (a, b))
    result = made(x, y)
    for variable, item in ((y, b), (x, a)):
        if isinstance(variable, n.Var) and variable is not item:
            result = n.Let(variable, item, result)
    return result


def wrap(value: int, dtype: DataType) -> int:
    """`value` in two's complement of `dtype`."""
    if dtype.is_bool:
        return value & 1
    low, high = dtype.limits()
    return value if low <= value <= high else (value - low) % (high - low + 1) + low


def add(a: Any, b: Any) -> PrimExpr:
    a, b = _match(a, b)
    folded = _fold(a, b, lambda x, y: x + y)
    if folded is not None:
        return folded
    if a.dtype.is_integer and _immediate(b) == 0:
        return a
    if a.dtype.is_integer and _immediate(a) == 0:
        return b
    return n.Add(a, b)


def subtract(a: Any, b: Any) -> PrimExpr:
    a, b = _match(a, b)
    folded = _fold(a, b, lambda x, y: x - y)
    if folded is not None:
        return folded
    if a.dtype.is_integer and _immediate(b) == 0:
        return a
    if a.dtype.is_integer and _one_value(a, b):
        return const(0, a.dtype)
    return n.Sub(a, b)


def multiply(a: Any, b: Any) -> PrimExpr:
    a, b = _match(a, b)
    folded = _fold(a, b, lambda x, y: x * y)
    if folded is not None:
        return folded
    for one, other in ((a, b), (b, a)):
        if _immediate(one) == 1:
            return other
        if _immediate(one) == 0 and one.dtype.is_integer and not has_effects(other):
            return one
    return n.Mul(a, b)


def negative(a: Any) -> PrimExpr:
    a = convert(a)
    if a.dtype.is_float:
        return const(-a.value, a.dtype) if isinstance(a, n.FloatImm) else n.Mul(a, const(-1.0, a.dtype))
    return subtract(const(0, a.dtype), a)


def true_divide(a: Any, b: Any) -> PrimExpr:
    """`a / b` of floats; integers are refused, since the classic API leaves their rounding open."""
    a, b = _match(a, b)
    if a.dtype.is_integer:
        raise WorkbenchError(
            "E-EXPR-DIVIDE",
            "`/` of two integers is ambiguous",
            found=f"{a.dtype} / {b.dtype}",
            fix="write a // b (rounds down) or tir.truncdiv(a, b) (rounds towards zero)",
        )
    return truncdiv(a, b)


def _nonzero(b: PrimExpr) -> None:
    if b.dtype.is_integer and _immediate(b) == 0:
        raise WorkbenchError("E-EXPR-ZERO", "division by the constant zero", found=repr(b))


def truncated(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def truncdiv(a: Any, b: Any) -> PrimExpr:
    """`a / b`: of floats exact, of integers rounded towards zero."""
    a, b = _match(a, b)
    _nonzero(b)
    folded = _fold(a, b, (lambda x, y: x / y) if a.dtype.is_float else truncated)
    return folded if folded is not None else a if _immediate(b) == 1 else n.Div(a, b)


def truncmod(a: Any, b: Any) -> PrimExpr:
    """The remainder of `truncdiv`."""
    a, b = _match(a, b)
    _nonzero(b)
    function: Callable[[Any, Any], Any] = math.fmod if a.dtype.is_float else lambda x, y: x - truncated(x, y) * y
    folded = _fold(a, b, function) if _immediate(b) else None
    return folded if folded is not None else n.Mod(a, b)


def floordiv(a: Any, b: Any) -> PrimExpr:
    """`a // b`, rounded towards minus infinity."""
    a, b = _match(a, b)
    if a.dtype.is_float:
        return call("floor", truncdiv(a, b))
    _nonzero(b)
    folded = _fold(a, b, lambda x, y: x // y)
    return folded if folded is not None else a if _immediate(b) == 1 else n.FloorDiv(a, b)


def floormod(a: Any, b: Any) -> PrimExpr:
    """`a % b`, with the sign of `b`."""
    a, b = _match(a, b)
    if a.dtype.is_float:
        return _once(a, b, lambda x, y: subtract(x, multiply(floordiv(x, y), y)))
    _nonzero(b)
    folded = _fold(a, b, lambda x, y: x % y)
    if folded is not None:
        return folded
    return const(0, a.dtype) if _immediate(b) == 1 and not has_effects(a) else n.FloorMod(a, b)


indexdiv = floordiv
indexmod = floormod


def minimum(a: Any, b: Any) -> PrimExpr:
    a, b = _match(a, b)
    folded = _fold(a, b, lambda x, y: x if x != x else min(x, y) if y == y else y)
    return folded if folded is not None else a if _one_value(a, b) else n.Min(a, b)


def maximum(a: Any, b: Any) -> PrimExpr:
    a, b = _match(a, b)
    folded = _fold(a, b, lambda x, y: x if x != x else max(x, y) if y == y else y)
    return folded if folded is not None else a if _one_value(a, b) else n.Max(a, b)


# --- comparison and logic -----------------------------------------------------------------------------------------


def _compare(cls: Any, a: Any, b: Any, function: Callable[[Any, Any], bool]) -> PrimExpr:
    a, b = _match(a, b)
    x, y = _immediate(a), _immediate(b)
    return const(function(x, y), BOOL) if x is not None and y is not None else cls(a, b)


def less(a: Any, b: Any) -> PrimExpr:
    return _compare(n.LT, a, b, lambda x, y: x < y)


def less_equal(a: Any, b: Any) -> PrimExpr:
    return _compare(n.LE, a, b, lambda x, y: x <= y)


def greater(a: Any, b: Any) -> PrimExpr:
    return _compare(n.GT, a, b, lambda x, y: x > y)


def greater_equal(a: Any, b: Any) -> PrimExpr:
    return _compare(n.GE, a, b, lambda x, y: x >= y)


def equal(a: Any, b: Any) -> PrimExpr:
    return _compare(n.EQ, a, b, lambda x, y: x == y)


def not_equal(a: Any, b: Any) -> PrimExpr:
    return _compare(n.NE, a, b, lambda x, y: x != y)


def _boolean(value: Any) -> PrimExpr:
    made = convert(value)
    if not made.dtype.is_bool:
        raise WorkbenchError("E-EXPR-BOOL", "a condition must be a bool", found=str(made.dtype), fix="write x != 0")
    return made


def logical_and(a: Any, b: Any) -> PrimExpr:
    a, b = _boolean(a), _boolean(b)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, n.IntImm) and (one.value or not has_effects(other)):
            return other if one.value else one
    return n.And(a, b)


def logical_or(a: Any, b: Any) -> PrimExpr:
    a, b = _boolean(a), _boolean(b)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, n.IntImm) and not (one.value and has_effects(other)):
            return one if one.value else other
    return n.Or(a, b)


def logical_not(a: Any) -> PrimExpr:
    a = _boolean(a)
    return const(not a.value, BOOL) if isinstance(a, n.IntImm) else n.Not(a)


def all_of(*conditions: Any) -> PrimExpr:
    """True when every condition holds (of none: true)."""
    result: PrimExpr = const(True)
    for condition in conditions:
        result = logical_and(result, condition)
    return result


def conjuncts(condition: PrimExpr) -> list[PrimExpr]:
    """The conditions that `condition` joins by `and`, in order, but those that are constantly true: undoes `all_of`."""
    found: list[PrimExpr] = []
    pending = [condition]
    while pending:
        current = pending.pop()
        if isinstance(current, n.And):
            pending += [current.b, current.a]
        elif not (isinstance(current, n.IntImm) and current.value):
            found.append(current)
    return found


def any_of(*conditions: Any) -> PrimExpr:
    """True when some condition holds (of none: false)."""
    result: PrimExpr = const(False)
    for condition in conditions:
        result = logical_or(result, condition)
    return result


def select(condition: Any, true_value: Any, false_value: Any) -> PrimExpr:
    """Choose a value; both arms are evaluated, so both must be safe."""
    condition = _boolean(condition)
    true_value, false_value = _match(true_value, false_value)
    if isinstance(condition, n.IntImm):
        chosen, other = (true_value, false_value) if condition.value else (false_value, true_value)
        if not has_effects(other):
            return chosen
    return n.Select(condition, true_value, false_value)


def if_then_else(condition: Any, true_value: Any, false_value: Any) -> PrimExpr:
    """Choose a value; only the chosen arm is evaluated, so it may guard a load."""
    condition = _boolean(condition)
    true_value, false_value = _match(true_value, false_value)
    if isinstance(condition, n.IntImm):
        return true_value if condition.value else false_value
    return n.Call(true_value.dtype, "if_then_else", (condition, true_value, false_value))


# --- calls --------------------------------------------------------------------------------------------------------


def call(name: str, *args: Any, dtype: str | None = None) -> PrimExpr:
    """A call of an intrinsic by name.  Raises `WorkbenchError` for an unknown name, arity or dtype."""
    entry = INTRINSICS.get(name)
    if entry is None:
        hint = nearest(name, INTRINSICS) or DEFINE_FIRST
        raise WorkbenchError("E-INTRINSIC-UNKNOWN", f"there is no intrinsic {name!r}", fix=hint)
    if entry.arity is not None and len(args) != entry.arity:
        raise WorkbenchError(
            "E-INTRINSIC-ARITY", f"{name} takes {entry.arity} argument(s)", found=f"{len(args)} argument(s)"
        )
    values = tuple(convert(value) for value in args)
    if entry.floats_only:
        values = tuple(value if value.dtype.is_float else cast("float32", value) for value in values)
    return n.Call(_result(entry, values, dtype), name, values)


def _result(entry: Intrinsic, values: tuple[PrimExpr, ...], dtype: str | None) -> DataType:
    if entry.result is Result.FIRST:
        return values[0].dtype
    if entry.result is Result.SECOND:
        return values[1].dtype
    if entry.result is Result.BOOL:
        return BOOL.with_lanes(values[0].dtype.lanes)
    if entry.result is Result.HANDLE:
        return DataType("handle")
    if entry.result is Result.VOID:
        return DataType("void")
    if dtype is None:
        raise WorkbenchError("E-INTRINSIC-DTYPE", f"{entry.name} needs dtype= at the call")
    return DataType(dtype)


def _bitwise(name: str, a: Any, b: Any) -> PrimExpr:
    a, b = _match(a, b)
    if a.dtype.is_float:
        raise WorkbenchError("E-EXPR-BITS", f"{name} of floats", found=str(a.dtype), expected="integers or bools")
    return call(name, a, b)


def bitwise_and(a: Any, b: Any) -> PrimExpr:
    return _bitwise("bitwise_and", a, b)


def bitwise_or(a: Any, b: Any) -> PrimExpr:
    return _bitwise("bitwise_or", a, b)


def bitwise_xor(a: Any, b: Any) -> PrimExpr:
    return _bitwise("bitwise_xor", a, b)


def shift_left(a: Any, b: Any) -> PrimExpr:
    return _bitwise("shift_left", a, b)


def shift_right(a: Any, b: Any) -> PrimExpr:
    return _bitwise("shift_right", a, b)
