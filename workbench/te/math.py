"""Scalar functions on expressions: each is a call of the intrinsic of its name."""

from __future__ import annotations

from typing import Any

from ..arith import build as b
from ..arith.nodes import PrimExpr


def acos(x: Any) -> PrimExpr:
    """acos(x), element by element."""
    return b.call("acos", x)


def acosh(x: Any) -> PrimExpr:
    """acosh(x), element by element."""
    return b.call("acosh", x)


def asin(x: Any) -> PrimExpr:
    """asin(x), element by element."""
    return b.call("asin", x)


def asinh(x: Any) -> PrimExpr:
    """asinh(x), element by element."""
    return b.call("asinh", x)


def atan(x: Any) -> PrimExpr:
    """atan(x), element by element."""
    return b.call("atan", x)


def atanh(x: Any) -> PrimExpr:
    """atanh(x), element by element."""
    return b.call("atanh", x)


def ceil(x: Any) -> PrimExpr:
    """Rounded up."""
    return b.call("ceil", x)


def cos(x: Any) -> PrimExpr:
    """cos(x), element by element."""
    return b.call("cos", x)


def cosh(x: Any) -> PrimExpr:
    """cosh(x), element by element."""
    return b.call("cosh", x)


def erf(x: Any) -> PrimExpr:
    """The error function."""
    return b.call("erf", x)


def exp(x: Any) -> PrimExpr:
    """exp(x), element by element."""
    return b.call("exp", x)


def exp2(x: Any) -> PrimExpr:
    """exp2(x), element by element."""
    return b.call("exp2", x)


def floor(x: Any) -> PrimExpr:
    """Rounded down."""
    return b.call("floor", x)


def log(x: Any) -> PrimExpr:
    """log(x), element by element."""
    return b.call("log", x)


def log2(x: Any) -> PrimExpr:
    """log2(x), element by element."""
    return b.call("log2", x)


def log10(x: Any) -> PrimExpr:
    """log10(x), element by element."""
    return b.call("log10", x)


def log1p(x: Any) -> PrimExpr:
    """log(1 + x)."""
    return b.call("log1p", x)


def round(x: Any) -> PrimExpr:
    """The nearest integer, ties to even."""
    return b.call("round", x)


def rsqrt(x: Any) -> PrimExpr:
    """1 / sqrt(x)."""
    return b.call("rsqrt", x)


def sigmoid(x: Any) -> PrimExpr:
    """1 / (1 + exp(-x))."""
    return b.call("sigmoid", x)


def sin(x: Any) -> PrimExpr:
    """sin(x), element by element."""
    return b.call("sin", x)


def sinh(x: Any) -> PrimExpr:
    """sinh(x), element by element."""
    return b.call("sinh", x)


def sqrt(x: Any) -> PrimExpr:
    """sqrt(x), element by element."""
    return b.call("sqrt", x)


def tan(x: Any) -> PrimExpr:
    """tan(x), element by element."""
    return b.call("tan", x)


def tanh(x: Any) -> PrimExpr:
    """tanh(x), element by element."""
    return b.call("tanh", x)


def trunc(x: Any) -> PrimExpr:
    """Rounded towards zero."""
    return b.call("trunc", x)


nearbyint = round


def abs(x: Any) -> PrimExpr:
    """Absolute value, of integers too."""
    return b.call("abs", x)


def popcount(x: Any) -> PrimExpr:
    """The number of bits set."""
    return b.call("popcount", x)


def isnan(x: Any) -> PrimExpr:
    """True for NaN."""
    return b.call("isnan", x)


def isinf(x: Any) -> PrimExpr:
    """True for plus or minus infinity."""
    return b.call("isinf", x)


def isfinite(x: Any) -> PrimExpr:
    """True for finite values."""
    return b.call("isfinite", x)


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
