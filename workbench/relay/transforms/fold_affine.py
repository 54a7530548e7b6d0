"""Chains of constant factors and summands, as batch norms in a row make them, become one factor and one summand.

    R.add(R.multiply(R.add(R.multiply(x, a), b), c), d)   ->   R.add(R.multiply(x, a c), b c + d)

Part of FoldScaleAxis, before factors move into weights: so one factor reaches a weight, and its summands are one bias.
Results may round differently.  A chain stays where a constant is so large or small that what comes between could
overflow or vanish (which may be meant, as is the rounding where a large number is added and taken away again: summands
that cancel stay); for the same reason half precision stays.  So do constants that would have more elements together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.rewrite import Match, RuleTable
from ...core.tensor import Tensor
from .. import op as relay
from ..ir import expr as e
from ..ir.types import TensorType
from ..patterns import Pattern, any_, constant, op, operators, where

AFFINE = RuleTable("FoldAffine")

LINEAR = operators("a convolution or product whose channels are axes", lambda heavy: heavy.channel_axes() is not None)
WEIGHTED = op(LINEAR, any_(), constant())
"""A convolution or product with constant weights."""
_FACTOR = op("multiply", any_(), constant(), commutative=True)

_CANCELLED = 8
"""Of two summands less than so many roundings are left: they cancel."""
_RANGE = {"float32": 2.0**32, "float64": 2.0**256}
"""By dtype, how many times 1 a constant may be, or the other way round: a quarter of the exponents each."""

Bound = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Whether each element of a result of two operands may stand for them."""


def _combined(m: Match, function: Callable[..., Any], sound: Bound) -> Tensor | None:
    """What a function makes of the constants a and b; None where that is unsound or has a shape of its own."""
    a, b = m["a"].data, m["b"].data
    most = _RANGE.get(str(a.dtype))
    if a.dtype != b.dtype or most is None:
        return None
    try:
        shape = np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return None
    if shape not in (a.shape, b.shape):
        return None
    one, other = (data.numpy() if data.fill_value is None else data.fill_value for data in (a, b))
    with np.errstate(all="ignore"):
        result = np.asarray(function(one.astype(np.float64), other.astype(np.float64))).astype(one.dtype)
        if not np.all(sound(one, other, result) & _is_within(one, most) & _is_within(other, most)):
            return None
    if result.shape == ():
        return Tensor.full(shape, result, str(a.dtype))
    return Tensor.of(result) if result.shape == shape else None  # a lazy fill is not made an array


def _is_within(values: np.ndarray, most: float) -> np.ndarray:
    sizes = np.abs(values)
    return (sizes == 0) | ((sizes >= 1 / most) & (sizes <= most))


def _is_finite(one: np.ndarray, other: np.ndarray, product: np.ndarray) -> np.ndarray:
    return np.isfinite(product)


def _is_kept(one: np.ndarray, other: np.ndarray, total: np.ndarray) -> np.ndarray:
    return np.abs(total) >= np.maximum(np.abs(one), np.abs(other)) * (_CANCELLED * np.finfo(total.dtype).eps)


def _product(m: Match) -> Tensor | None:
    return _combined(m, np.multiply, _is_finite)


def _sum(m: Match) -> Tensor | None:
    return _combined(m, np.add, _is_kept)


def _constants(m: Match) -> str:
    return f"{m['a'].checked_type} and {m['b'].checked_type}"


_PRODUCT = where(
    "the constants are moderate numbers, and their product has the shape of one of them",
    lambda m: _product(m) is not None,
    _constants,
)
_SUM = where(
    "the constants are moderate numbers that do not cancel, and their sum has the shape of one of them",
    lambda m: _sum(m) is not None,
    _constants,
)


def _scaled(x: Pattern) -> Pattern:
    return op("multiply", x, constant("a"), name="inner", commutative=True, once=True)


def _shifted(x: Pattern) -> Pattern:
    return op("add", x, constant("a"), name="inner", commutative=True, once=True)


@AFFINE.rule("scale-of-scale", op("multiply", _scaled(any_("x")), constant("b"), commutative=True), when=[_PRODUCT])
def scale_of_scale(m: Match) -> Any:
    """(x a) b is x (a b)."""
    factor = _product(m)
    return None if factor is None else relay.call("multiply", m["x"], e.const(factor))


@AFFINE.rule("shift-of-shift", op("add", _shifted(any_("x")), constant("b"), commutative=True), when=[_SUM])
def shift_of_shift(m: Match) -> Any:
    """(x + a) + b is x + (a + b)."""
    summand = _sum(m)
    return None if summand is None else relay.call("add", m["x"], e.const(summand))


def _takes_factors(x: e.Expr, m: Match) -> bool:
    """Whether a factor would join another one, or a weight."""
    return m.uses(x) == 1 and any(pattern.match(x, Match(x)) is None for pattern in (_FACTOR, WEIGHTED))


@AFFINE.rule(
    "scale-of-shift",
    op("multiply", _shifted(any_("x")), constant("b"), commutative=True),
    when=[
        where(
            "a factor or a constant weight stands before the sum",
            lambda m: _takes_factors(m["x"], m),
            lambda m: m["x"],
        ),
        where(
            "the sum has the shape of what is added to",
            lambda m: isinstance(m["x"].checked_type, TensorType) and m["x"].checked_type == m["inner"].checked_type,
            lambda m: m["inner"].checked_type,
        ),
        _PRODUCT,
    ],
)
def scale_of_shift(m: Match) -> Any:
    """(x + a) b is x b + a b."""
    summand = _product(m)
    return None if summand is None else relay.call("add", relay.call("multiply", m["x"], m["b"]), e.const(summand))
