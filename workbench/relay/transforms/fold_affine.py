"""Chains of constant factors and summands, as batch norms in a row make them, become one factor and one summand.

    R.add(R.multiply(R.add(R.multiply(x, a), b), c), d)   ->   R.add(R.multiply(x, a c), b c + d)

Part of FoldScaleAxis, before factors move into weights: so one factor reaches a weight, and its summands are one bias.
Results may round differently.  A chain stays where a product of its constants has no finite, normal value in their
dtype, or where a constant would grow to more elements than either had.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.rewrite import Match, RuleTable
from .. import op as relay
from ..ir import expr as e
from ..ir.types import TensorType
from ..patterns import Pattern, any_, constant, op, operators, where

AFFINE = RuleTable("FoldAffine")


def _combined(m: Match, function: Any, first: str, second: str) -> np.ndarray | None:
    """What a function makes of two constants; None where that is no number of their dtype or has a shape of its own."""
    a, b = (m[name].data for name in (first, second))
    if not a.dtype.is_float or a.dtype != b.dtype or a.dtype.bits > 64:
        return None
    try:
        shape = np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return None
    if shape not in (a.shape, b.shape):
        return None
    exact = function(*(one.numpy().astype(np.float64) for one in (a, b)))
    with np.errstate(over="ignore", under="ignore"):
        found = exact.astype(a.dtype.to_numpy())
    tiny = np.finfo(found.dtype).tiny if found.dtype.kind == "f" else 0.0
    fits = np.isfinite(found) & ((np.abs(found) >= tiny) | (exact == 0))
    return found if fits.all() else None


def _factor(m: Match) -> np.ndarray | None:
    return _combined(m, np.multiply, "a", "b")


def _summand(m: Match) -> np.ndarray | None:
    return _combined(m, np.add, "a", "b")


def _constants(m: Match) -> str:
    return f"{m['a'].checked_type} and {m['b'].checked_type}"


_PRODUCT = where(
    "the product of the constants is as large as one of them, and finite and normal in their dtype",
    lambda m: _factor(m) is not None,
    _constants,
)
_SUM = where(
    "the sum of the constants is as large as one of them, and finite and normal in their dtype",
    lambda m: _summand(m) is not None,
    _constants,
)


def _scaled(x: Pattern) -> Pattern:
    return op("multiply", x, constant("a"), name="inner", commutative=True, once=True)


def _shifted(x: Pattern) -> Pattern:
    return op("add", x, constant("a"), name="inner", commutative=True, once=True)


@AFFINE.rule("scale-of-scale", op("multiply", _scaled(any_("x")), constant("b"), commutative=True), when=[_PRODUCT])
def scale_of_scale(m: Match) -> Any:
    """(x a) b is x (a b)."""
    factor = _factor(m)
    return None if factor is None else relay.call("multiply", m["x"], e.const(factor))


@AFFINE.rule("shift-of-shift", op("add", _shifted(any_("x")), constant("b"), commutative=True), when=[_SUM])
def shift_of_shift(m: Match) -> Any:
    """(x + a) + b is x + (a + b)."""
    summand = _summand(m)
    return None if summand is None else relay.call("add", m["x"], e.const(summand))


_LINEAR = operators("a convolution or product whose channels are axes", lambda heavy: heavy.channel_axes() is not None)
_WEIGHTED = op(_LINEAR, any_(), constant())


def _takes_factors(x: e.Expr, m: Match) -> bool:
    """Whether a factor would join another one, or a weight."""
    if m.uses(x) > 1 or not isinstance(x, e.Call):
        return False
    constants = [one for one in x.args if isinstance(one, e.Constant)]
    factors = getattr(x.op, "name", "") == "multiply" and bool(constants)
    return factors or _WEIGHTED.match(x, Match(x)) is None


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
    summand = _factor(m)
    return None if summand is None else relay.call("add", relay.call("multiply", m["x"], m["b"]), e.const(summand))
