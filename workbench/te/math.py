"""Scalar functions on expressions: each is a call of the intrinsic of its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..arith import build as b
from ..arith.nodes import PrimExpr


def _elementwise(name: str, said: str = "") -> Callable[[Any], PrimExpr]:
    def apply(x: Any) -> PrimExpr:
        return b.call(name, x)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = said or f"{name}(x), element by element."
    return apply


acos = _elementwise("acos")
acosh = _elementwise("acosh")
asin = _elementwise("asin")
asinh = _elementwise("asinh")
atan = _elementwise("atan")
atanh = _elementwise("atanh")
ceil = _elementwise("ceil", "Rounded up.")
cos = _elementwise("cos")
cosh = _elementwise("cosh")
erf = _elementwise("erf", "The error function.")
exp = _elementwise("exp")
exp2 = _elementwise("exp2")
floor = _elementwise("floor", "Rounded down.")
log = _elementwise("log")
log2 = _elementwise("log2")
log10 = _elementwise("log10")
log1p = _elementwise("log1p", "log(1 + x).")
round = _elementwise("round", "The nearest integer, ties to even.")
rsqrt = _elementwise("rsqrt", "1 / sqrt(x).")
sigmoid = _elementwise("sigmoid", "1 / (1 + exp(-x)).")
sin = _elementwise("sin")
sinh = _elementwise("sinh")
sqrt = _elementwise("sqrt")
tan = _elementwise("tan")
tanh = _elementwise("tanh")
trunc = _elementwise("trunc", "Rounded towards zero.")
nearbyint = round
abs = _elementwise("abs", "Absolute value, of integers too.")
popcount = _elementwise("popcount", "The number of bits set.")
isnan = _elementwise("isnan", "True for NaN.")
isinf = _elementwise("isinf", "True for plus or minus infinity.")
isfinite = _elementwise("isfinite", "True for finite values.")


def power(x: Any, y: Any) -> PrimExpr:
    """x to the power y."""
    x = b.convert(x)
    return b.call("pow", x, b.cast(x.dtype, b.convert(y, x.dtype)))


def fmod(x: Any, y: Any) -> PrimExpr:
    """The remainder of x / y with the sign of x."""
    x = b.convert(x)
    return b.call("fmod", x, b.cast(x.dtype, b.convert(y, x.dtype)))


def atan2(y: Any, x: Any) -> PrimExpr:
    """The angle of the point (x, y)."""
    return b.call("atan2", y, x)
