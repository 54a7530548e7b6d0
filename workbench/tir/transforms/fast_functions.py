"""fast_exp, fast_tanh and fast_erf of float32: about half the arithmetic of the exact ones, with a stated error.

`arith.intrinsics.ERROR_BOUND` has their greatest relative errors where the result is a normal number.  exp answers
about 2**-126 and 2**127 beyond the range of normal results (no zero, no infinity); tanh and erf answer at most 1 in
size.  NaN gives NaN.  Method: exp splits off a power of two, a polynomial of degree 4 does the rest; tanh and erf are
odd rational functions up to where they are 1.  The coefficients are our own minimax fits (weighted least squares,
iterated, in float64).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from ...arith import nodes as n
from ...arith.build import const
from .float_functions import Lets, polynomial, power_of_two, whole

EXACT: Final[dict[str, str]] = {"fast_exp": "exp", "fast_tanh": "tanh", "fast_erf": "erf"}
"""What each approximates; used for float64, and by targets that have instructions of their own."""

_EXP2: Final = (
    0.9999992612417764, 0.6931218149999536, 0.24024745841922857, 0.05591786261715961, 0.009570051279054503,
)  # fmt: skip
"""2**f, |f| <= 1/2."""
_TANH: Final = (
    (0.999998968064312, 0.12322068447657863, 0.0022931000616650235, 3.99591619428658e-06),
    (1.0, 0.45654628594138175, 0.021151669109812074, 0.0001439855923145601),
)  # fmt: skip
"""tanh(x) = x*P(x*x)/Q(x*x), |x| <= 7."""
_ERF: Final = (
    (1.1283705412129055, 0.15909070254253627, 0.0422451729564569, 0.0006933217407584432),
    (1.0, 0.47423742148353376, 0.09565718188201575, 0.008842734451783768),
)  # fmt: skip
"""erf(x) = x*P(x*x)/Q(x*x), |x| <= 3.6."""


def fast_exp(x: n.PrimExpr) -> n.PrimExpr:
    """e to the x."""
    let, dtype = Lets(), x.dtype
    scaled = n.Mul(x, const(1 / math.log(2), dtype))
    scaled = let("t", n.Max(n.Min(scaled, const(127.0, dtype)), const(-126.0, dtype)))
    steps, count = whole(scaled, let)
    value = polynomial(_EXP2, let("f", n.Sub(scaled, steps)))
    return let.around(n.Mul(value, power_of_two(count)))


def _odd_rational(x: n.PrimExpr, table: tuple[tuple[float, ...], tuple[float, ...]], end: float) -> n.PrimExpr:
    """x*P(x*x)/Q(x*x), from -1 to 1, with x cut to where the fit holds."""
    let, dtype = Lets(), x.dtype
    x = let("x", n.Max(n.Min(x, const(end, dtype)), const(-end, dtype)))
    s = let("s", n.Mul(x, x))
    found = n.Div(n.Mul(x, polynomial(table[0], s)), polynomial(table[1], s))
    return let.around(n.Max(n.Min(found, const(1.0, dtype)), const(-1.0, dtype)))


def fast_tanh(x: n.PrimExpr) -> n.PrimExpr:
    """Hyperbolic tangent."""
    return _odd_rational(x, _TANH, 7.0)


def fast_erf(x: n.PrimExpr) -> n.PrimExpr:
    """The error function."""
    return _odd_rational(x, _ERF, 3.6)


FAST: Final[dict[str, Callable[[n.PrimExpr], n.PrimExpr]]] = {
    "fast_exp": fast_exp,
    "fast_tanh": fast_tanh,
    "fast_erf": fast_erf,
}
"""By intrinsic name."""
