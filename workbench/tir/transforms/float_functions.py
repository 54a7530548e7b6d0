"""exp, tanh, sigmoid and erf of float32 as arithmetic, so that they run in vector lanes and call no library.

Each stays within 4 units in the last place of the exact value, gives NaN for NaN, and the right limits at infinity.
Method: exp reduces its argument by multiples of log 2 (Cody and Waite), a polynomial does the rest, and the power of
two is put together in two steps so that results below the least normal number come out rounded as well.  tanh and erf
use an odd polynomial near zero and the exponential elsewhere.  The coefficients are our own minimax fits (weighted
least squares, iterated, in float64).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Final

from ...arith import nodes as n
from ...arith.build import call, const
from ...core.dtype import DataType

_EXP: Final = (0.5, 0.16666512191295624, 0.0416661873459816, 0.008369598537683487, 0.0013951717410236597)
"""exp(r) = 1 + r + r*r*P(r), |r| <= log(2)/2."""
_TANH: Final = (
    -0.3333328366279602, 0.13331490755081177, -0.05374351143836975, 0.020650625228881836, -0.005717082414776087,
)  # fmt: skip
"""tanh(x) = x + x*s*P(s), s = x*x, |x| <= 0.625."""
_ERF_SMALL: Final = (
    0.12837916612625122, -0.37612631916999817, 0.11283686012029648, -0.026858851313591003, 0.005199600011110306,
    -0.0008125806343741715, 8.296609303215519e-05,
)  # fmt: skip
"""erf(x) = x + x*P(x*x), |x| <= 0.9375."""
_ERF_LARGE: Final = (
    -1.1285643577575684, -0.6355670690536499, -0.10537531226873398, 0.022792479023337364, -0.003003070130944252,
    7.591152098029852e-05, 4.042595173814334e-05, -4.515881755651208e-06,
)  # fmt: skip
"""erf(x) = 1 - exp(x*P(x)), x from 0.9375 to 3.93, from where on it is 1."""
_LOG2_HIGH, _LOG2_LOW = 0.693359375, -2.12194440054690583e-04
"""log 2 in two parts; the product of the first with an integer below 2**15 is exact."""
_WHOLE, _WHOLE_BITS = 12582912.0, 0x4B400000
"""A float32 to which a number below 2**22 is added for it to become whole, ties to even; and its bits, from which those
of the sum count up.  A conversion to int32 would have to look for what has no room there."""


INFINITY: Final = math.inf


def polynomial(coefficients: tuple[float, ...], x: n.PrimExpr) -> n.PrimExpr:
    """Horner's scheme."""
    total = const(coefficients[-1], x.dtype)
    for coefficient in reversed(coefficients[:-1]):
        total = n.Add(n.Mul(total, x), const(coefficient, x.dtype))
    return total


def power_of_two(exponent: n.PrimExpr) -> n.PrimExpr:
    """2.0**exponent for -126 <= exponent <= 127, by placing the bits."""
    dtype = exponent.dtype
    bits = call("shift_left", n.Add(exponent, const(127, dtype)), const(23, dtype))
    return n.Call(_float(dtype), "reinterpret", (bits,))


def whole(x: n.PrimExpr, let: Lets) -> tuple[n.PrimExpr, n.PrimExpr]:
    """A number below 2**22 in size, rounded (ties to even): as float32 and as int32."""
    shifted = let("m", n.Add(x, const(_WHOLE, x.dtype)))
    kind = DataType("int32").with_lanes(x.dtype.lanes)
    count = n.Sub(n.Call(kind, "reinterpret", (shifted,)), const(_WHOLE_BITS, kind))
    return let("n", n.Sub(shifted, const(_WHOLE, x.dtype))), let("k", count)


def by_bits(value: n.PrimExpr, count: n.PrimExpr, let: Lets) -> n.PrimExpr:
    """value * 2**count in two steps, so that results below the least normal number come out rounded as well."""
    half = let("h", call("shift_right", count, const(1, count.dtype)))
    return n.Mul(n.Mul(value, power_of_two(half)), power_of_two(n.Sub(count, half)))


def by_instruction(value: n.PrimExpr, count: n.PrimExpr, let: Lets) -> n.PrimExpr:
    """The same where an instruction does so for vectors (AVX-512: vscalefps)."""
    lanes = value.dtype.lanes
    if lanes == 1:
        return by_bits(value, count, let)
    name = n.StringImm(f"llvm.ldexp.v{lanes}f32.v{lanes}i32")
    return n.Call(value.dtype, "call_llvm_pure_intrin", (name, value, count))


def _float(dtype: DataType) -> DataType:
    return DataType("float32").with_lanes(dtype.lanes)


Scale = Callable[[n.PrimExpr, n.PrimExpr, "Lets"], n.PrimExpr]
"""value * 2**count."""


class Lets:
    """Values used more than once, so that the printed program stays short."""

    def __init__(self) -> None:
        self.bindings: list[tuple[n.Var, n.PrimExpr]] = []

    def __call__(self, name: str, value: n.PrimExpr) -> n.PrimExpr:
        var = n.Var(name, value.dtype)
        self.bindings.append((var, value))
        return var

    def around(self, body: n.PrimExpr) -> n.PrimExpr:
        for var, value in reversed(self.bindings):
            body = n.Let(var, value, body)
        return body


def _exp(x: n.PrimExpr, let: Lets, scaled: Scale, least: float = -INFINITY, most: float = INFINITY) -> n.PrimExpr:
    """e to the x, for x from `least` to `most`."""
    dtype = x.dtype
    # Beyond these the result is 0 or infinity; Min and Max keep NaN.
    x = n.Min(x, const(89.0, dtype)) if most > 89 else x
    x = let("x", n.Max(x, const(-104.0, dtype)) if least < -104 else x)
    steps, count = whole(n.Mul(x, const(1 / math.log(2), dtype)), let)
    high = n.Sub(x, n.Mul(steps, const(_LOG2_HIGH, dtype)))
    r = let("r", n.Sub(high, n.Mul(steps, const(_LOG2_LOW, dtype))))
    tail = n.Mul(n.Mul(r, r), polynomial(_EXP, r))
    return scaled(n.Add(n.Add(tail, r), const(1.0, dtype)), count, let)


def exp(x: n.PrimExpr, scaled: Scale = by_bits) -> n.PrimExpr:
    """e to the x."""
    let = Lets()
    return let.around(_exp(x, let, scaled))


def sigmoid(x: n.PrimExpr, scaled: Scale = by_bits) -> n.PrimExpr:
    """1 / (1 + exp(-x)), as z / (1 + z) with z = exp(x) below zero, so that small results keep their digits."""
    let = Lets()
    x = let("v", x)
    z = let("z", _exp(n.Mul(n.Call(x.dtype, "abs", (x,)), const(-1.0, x.dtype)), let, scaled, most=0))
    one = const(1.0, x.dtype)
    above = n.Select(n.LT(x, const(0.0, x.dtype)), z, one)
    return let.around(n.Div(above, n.Add(one, z)))


def tanh(x: n.PrimExpr, scaled: Scale = by_bits) -> n.PrimExpr:
    """Hyperbolic tangent."""
    let = Lets()
    x = let("v", x)
    dtype = x.dtype
    size = let("a", n.Call(dtype, "abs", (x,)))
    s = let("s", n.Mul(x, x))
    near = n.Add(x, n.Mul(n.Mul(x, s), polynomial(_TANH, s)))
    power = _exp(n.Mul(n.Min(size, const(20.0, dtype)), const(2.0, dtype)), let, scaled, 0, 40)
    far = n.Sub(const(1.0, dtype), n.Div(const(2.0, dtype), n.Add(power, const(1.0, dtype))))
    chosen = n.Select(n.LT(size, const(0.625, dtype)), near, far)
    return let.around(n.Call(dtype, "copysign", (chosen, x)))  # also for -0.0


def erf(x: n.PrimExpr, scaled: Scale = by_bits) -> n.PrimExpr:
    """The error function."""
    let = Lets()
    x = let("v", x)
    dtype = x.dtype
    size = let("a", n.Min(n.Call(dtype, "abs", (x,)), const(4.0, dtype)))
    s = let("s", n.Mul(x, x))
    near = n.Add(x, n.Mul(x, polynomial(_ERF_SMALL, s)))
    power = _exp(n.Mul(size, polynomial(_ERF_LARGE, size)), let, scaled, -20, 0)
    beyond = n.GE(size, const(3.93, dtype))
    far = n.Select(beyond, const(1.0, dtype), n.Sub(const(1.0, dtype), power))
    chosen = n.Select(n.LT(size, const(0.9375, dtype)), near, far)
    return let.around(n.Call(dtype, "copysign", (chosen, x)))  # also for -0.0


FLOAT32: Final[dict[str, Callable[..., n.PrimExpr]]] = {
    "exp": exp,
    "sigmoid": sigmoid,
    "tanh": tanh,
    "erf": erf,
}
"""By intrinsic name."""
SCALING: Final = {name: partial(function, scaled=by_instruction) for name, function in FLOAT32.items()}
"""The same for targets with an instruction that multiplies by powers of two."""
