"""Elementwise ONNX operators whose operands or attributes differ from relay's; the equal ones need no converter."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from ...core.dtype import DataType
from ...relay.ir.expr import Expr
from .emit import call, dtype_of, like, scalar
from .site import Site
from .table import onnx_op
from .tensors import dtype_of as dtype_of_number


def cast(value: Expr, dtype: str) -> Expr:
    """`value` as `dtype`; itself when it is that already."""
    return value if dtype_of(value) == dtype else call("cast", value, dtype=dtype)


def in_float32(x: Expr, computed: Callable[[Expr], Expr]) -> Expr:
    """What is computed of `x`: of 16 bits in float32, since squares of such numbers are soon beyond their range."""
    kind = dtype_of(x)
    return cast(computed(cast(x, "float32")), kind) if kind in ("float16", "bfloat16") else computed(x)


@onnx_op("Identity")
def identity(node: Site, x: Expr) -> Expr:
    return x


@onnx_op("Sum")
def sum_(node: Site, *operands: Expr) -> Expr:
    return reduce(lambda a, b: call("add", a, b), operands)


@onnx_op("Mean")
def mean(node: Site, *operands: Expr) -> Expr:
    kind = dtype_of(operands[0])
    if kind in ("float16", "bfloat16"):  # the sum may be beyond their range
        return cast(mean(node, *(cast(operand, "float32") for operand in operands)), kind)
    total = sum_(node, *operands)
    return call("divide", total, like(len(operands), total))


@onnx_op("Max")
def maximum(node: Site, *operands: Expr) -> Expr:
    return reduce(lambda a, b: call("maximum", a, b), operands)


@onnx_op("Min")
def minimum(node: Site, *operands: Expr) -> Expr:
    return reduce(lambda a, b: call("minimum", a, b), operands)


@onnx_op("Reciprocal")
def reciprocal(node: Site, x: Expr) -> Expr:
    return call("divide", like(1, x), x)


@onnx_op("Pow")
def power(node: Site, base: Expr, exponent: Expr) -> Expr:
    """The result has the base's type, computed in the wider of both."""
    wanted = dtype_of(base)
    known = node.known(exponent)
    if known is not None and known.size == 1 and float(known.reshape(-1)[0]) == 2.0 and known.ndim == 0:
        return call("multiply", base, base)
    if wanted == dtype_of(exponent):
        return call("power", base, exponent)
    powers = dtype_of(exponent)
    if wanted.is_float:
        wide = str(wanted)
    elif powers.is_float and powers.bits < 32:
        wide = "float64"  # NumPy knows no common type of integers and bfloat16
    else:
        wide = np.promote_types(wanted.to_numpy(), powers.to_numpy()).name
    return cast(call("power", cast(base, wide), cast(exponent, wide)), wanted)


@onnx_op("Mod")
def mod(node: Site, a: Expr, b: Expr, *, fmod: int = 0) -> Expr:
    """`fmod` takes the dividend's sign (as C), else the divisor's (as Python)."""
    if fmod or not dtype_of(a).is_float:
        return call("trunc_mod" if fmod else "floor_mod", a, b)
    # Not a - floor(a / b) * b, which loses what an infinite divisor leaves.
    left, zero = call("trunc_mod", a, b), like(0, a)
    below = call("less", b, zero)
    differs = call("not_equal", call("less", left, zero), below)
    none = call("where", below, like(-0.0, a), zero)
    moved = call("where", differs, call("add", left, b), left)
    return call("where", call("equal", left, zero), none, moved)


@onnx_op("BitShift", since=11)
def bit_shift(node: Site, a: Expr, b: Expr, *, direction: str) -> Expr:
    names = {"LEFT": "left_shift", "RIGHT": "right_shift"}
    if direction not in names:
        raise node.refuse("unknown direction", direction, "LEFT or RIGHT")
    return call(names[direction], a, b)


@onnx_op("Clip", since=6, until=10)
def clip_by_attributes(node: Site, x: Expr, *, min: float = -3.402823e38, max: float = 3.402823e38) -> Expr:
    return call("clip", x, a_min=min, a_max=max)


@onnx_op("Clip", since=11)
def clip(node: Site, x: Expr, low: Expr | None = None, high: Expr | None = None) -> Expr:
    """Known bounds become attributes; others are applied by minimum and maximum."""
    bounds = [node.known(low), node.known(high)]
    if low is not None and high is not None and all(item is not None and item.size == 1 for item in bounds):
        least, most = (item.reshape(-1)[0].item() for item in bounds if item is not None)
        if least == least and most == most and least <= most:
            return call("clip", x, a_min=least, a_max=most)
    if low is not None:
        x = call("maximum", x, low)
    return x if high is None else call("minimum", x, high)


def converted(x: Expr, wanted: str, saturate: int) -> Expr:
    """As the standard casts: to float8 within its finite range if `saturate`; to 2 and 4 bits by their low bits."""
    kind, old = DataType(wanted), dtype_of(x)
    if old == kind:
        return x
    if kind.code.startswith("float8") and saturate and old.is_float:
        import ml_dtypes

        most = float(ml_dtypes.finfo(kind.to_numpy()).max)
        return cast(call("clip", x, a_min=-most, a_max=most), kind)
    if kind.is_integer and kind.bits < 8 and old.is_float:
        return cast(cast(x, "int32"), kind)
    return cast(x, kind)


@onnx_op("Cast")
def cast_(node: Site, x: Expr, *, to: int, saturate: int = 1, round_mode: str = "up") -> Expr:
    return converted(x, dtype_of_number(to, node.where), saturate)


@onnx_op("CastLike", since=15)
def cast_like(node: Site, x: Expr, other: Expr, *, saturate: int = 1, round_mode: str = "up") -> Expr:
    return converted(x, dtype_of(other), saturate)


@onnx_op("BitCast", since=26)
def bit_cast(node: Site, x: Expr, *, to: int) -> Expr:
    return call("reinterpret", x, dtype=dtype_of_number(to, node.where))


@onnx_op("Where", since=9)
def where(node: Site, condition: Expr, a: Expr, b: Expr) -> Expr:
    return call("where", condition, a, b)


@onnx_op("IsInf", since=10)
def is_inf(node: Site, x: Expr, *, detect_negative: int = 1, detect_positive: int = 1) -> Expr:
    found = call("isinf", x)
    if detect_negative and detect_positive:
        return found
    zero = like(0, x)
    if not detect_negative and not detect_positive:
        return call("logical_and", found, scalar(False, "bool"))
    return call("logical_and", found, call("greater" if detect_positive else "less", x, zero))


@onnx_op("And", since=7)
def logical_and(node: Site, a: Expr, b: Expr) -> Expr:
    return call("logical_and", a, b)


@onnx_op("Div", since=7)
def divide(node: Site, a: Expr, b: Expr) -> Expr:
    """Integers divide towards zero.  A divisor known to be zero is refused: its result is not defined."""
    if DataType(dtype_of(a)).is_integer:
        known = node.known(b)
        if known is not None and known.size and not known.all():
            raise node.refuse("an integer is divided by zero", "a divisor of 0", "divisors other than 0")
    return call("divide", a, b)
