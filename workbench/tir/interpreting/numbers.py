"""Scalar arithmetic as the loop IR means it, for the checking interpreter.

Integers and bools are Python's, wrapped to their width; floats are NumPy scalars of their own dtype, so that every
operation rounds.  Vectors are NumPy arrays of the dtype.

>>> wrap(130, DataType("int8"))
-126
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np

from ...arith.build import wrap
from ...core.dtype import DataType

Scalar = int | float | np.floating[Any]
Lanes = np.ndarray[Any, Any]


def wrapper(dtype: DataType) -> Callable[[int], int]:
    """`wrap` for one dtype, with the limits looked up once."""
    low, high = dtype.limits()
    span = high - low + 1

    def wrapped(value: int) -> int:
        return value if low <= value <= high else (value - low) % span + low

    return wrapped


def floor_divide(a: Any, b: Any) -> Any:
    _refuse_zero(b)
    return a // b


def floor_modulo(a: Any, b: Any) -> Any:
    _refuse_zero(b)
    return a % b


def truncated_divide(a: Scalar | Lanes, b: Any) -> Any:
    """Integer division towards zero, of scalars or vectors."""
    _refuse_zero(b)
    if isinstance(a, np.ndarray):
        quotient = a // b
        return quotient + ((quotient < 0) & (quotient * b != a)).astype(a.dtype)
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def truncated_modulo(a: Any, b: Any) -> Any:
    return a - truncated_divide(a, b) * b


def _refuse_zero(b: Scalar | Lanes) -> None:
    if isinstance(b, np.ndarray):
        if not b.all():
            raise ZeroDivisionError
    elif b == 0:
        raise ZeroDivisionError


def select(condition: int | Lanes, a: Scalar | Lanes, b: Scalar | Lanes) -> Any:
    """Either value; both are evaluated by now."""
    if isinstance(condition, np.ndarray):
        return np.where(condition, a, b)
    return a if condition else b


# --- conversion ---------------------------------------------------------------------------------------------------

_EXACT_IN_DOUBLE: Final = 1 << 53


def caster(source: DataType, target: DataType) -> Callable[[Any], Any]:
    """The conversion from one dtype to another, lane by lane for vectors."""
    if source.is_vector:
        one = caster(source.element_of, target.element_of)
        kind = target.to_numpy()
        return lambda values: np.array([one(_plain(value)) for value in values], kind)
    if target.is_bool:
        return lambda value: bool(value != 0)
    if target.is_float:
        kind = target.to_numpy().type
        return (lambda value: kind(_float_of_integer(int(value), target))) if not source.is_float else kind
    if source.is_float:
        low, high = target.limits()
        return lambda value: _saturated(float(value), low, high)
    fit = wrapper(target)
    return lambda value: fit(int(value))


def _plain(value: Scalar | np.generic[Any]) -> Any:
    """A lane of a vector as the scalar of the interpreter."""
    return value.item() if isinstance(value, (np.integer, np.bool_)) else value


def _float_of_integer(value: int, target: DataType) -> Any:
    """An integer as something that converts to `target` with one rounding."""
    if abs(value) <= _EXACT_IN_DOUBLE:
        return value
    if target.bits == 64:
        return float(value)
    return _rounded_to_odd(value)


def _rounded_to_odd(value: int) -> float:
    """A double next to `value` whose last bit says that something was cut off, so that rounding again is exact."""
    magnitude = abs(value)
    shift = max(magnitude.bit_length() - 53, 0)
    kept = magnitude >> shift
    if kept << shift != magnitude:
        kept |= 1
    return math.copysign(math.ldexp(kept, shift), value)


def _saturated(value: float, low: int, high: int) -> int:
    if value != value:
        return 0
    if value <= low:
        return low
    return high if value >= high else int(value)


# --- intrinsics ---------------------------------------------------------------------------------------------------


def fused_multiply_add(a: np.floating[Any] | Lanes, b: Any, c: Any) -> Any:
    """a * b + c with one rounding."""
    if isinstance(a, np.ndarray):
        return np.array([fused_multiply_add(*lanes) for lanes in zip(a, b, c, strict=True)], a.dtype)
    kind = type(a)
    x, y, z = float(a), float(b), float(c)
    if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
        return kind(x * y + z)
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        return kind(x * y + z)
    if kind is np.float64:
        return _double(exact)
    # Rounding to odd at double precision, then to the narrower type, is one correct rounding.
    nearest = float(exact)
    if Fraction(nearest) != exact:
        below = nearest if Fraction(nearest) < exact else math.nextafter(nearest, -math.inf)
        even = int(np.float64(below).view(np.int64)) & 1 == 0
        nearest = math.nextafter(below, math.inf) if even else below
    return kind(nearest)


def _double(exact: Fraction) -> np.float64:
    try:
        return np.float64(float(exact))
    except OverflowError:
        return np.float64(math.copysign(math.inf, exact))


def shift_left(value: Any, amount: Any, dtype: DataType) -> int:
    """What is shifted too far, or by a negative amount, is shifted out."""
    return wrap(value << amount, dtype) if 0 <= amount < dtype.bits else 0


def shift_right(value: Any, amount: Any, dtype: DataType) -> int:
    return value >> (amount if 0 <= amount < dtype.bits else dtype.bits)


def popcount(value: int, dtype: DataType) -> int:
    return (value & ((1 << dtype.bits) - 1)).bit_count()


def reinterpreted(value: Any, source: DataType, target: DataType) -> Any:
    """The same bits as another dtype."""
    made = np.atleast_1d(np.asarray(value, source.to_numpy())).view(target.to_numpy())
    return made if target.is_vector else plain(made[0], target)


def plain(value: Any, dtype: DataType) -> Any:
    """A NumPy result as the interpreter keeps scalars of `dtype`."""
    if dtype.is_vector:
        return np.asarray(value, dtype.to_numpy())
    if dtype.is_float:
        return dtype.to_numpy().type(value)
    return bool(value) if dtype.is_bool else wrap(int(value), dtype)


def reduced(values: Any, function: Callable[[Any, Any], Any], dtype: DataType) -> Any:
    """The lanes joined in order."""
    lanes = [_plain(value) for value in values]
    result = lanes[0]
    for lane in lanes[1:]:
        result = plain(function(result, lane), dtype)
    return result


INTEGER_INTRINSICS: Final[dict[str, Callable[[DataType, Any], Any] | Callable[[DataType, Any, Any], Any]]] = {
    "bitwise_and": lambda dtype, a, b: a & b,
    "bitwise_or": lambda dtype, a, b: a | b,
    "bitwise_xor": lambda dtype, a, b: a ^ b,
    "bitwise_not": lambda dtype, a: wrap(~a, dtype) if not dtype.is_bool else not a,
    "shift_left": lambda dtype, a, b: shift_left(a, b, dtype),
    "shift_right": lambda dtype, a, b: shift_right(a, b, dtype),
    "popcount": lambda dtype, a: popcount(a, dtype),
    "abs": lambda dtype, a: wrap(abs(a), dtype),
    "fmod": lambda dtype, a, b: truncated_modulo(a, b),
}
"""Intrinsics of Python integers; all others go through their NumPy meaning."""

REDUCTIONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "reduce_add": lambda a, b: a + b,
    "reduce_max": lambda a, b: a if a > b or a != a else b,
    "reduce_min": lambda a, b: a if a < b or a != a else b,
}
