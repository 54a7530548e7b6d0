"""DivToMul: division by constants becomes multiplication by their reciprocals.

    R.divide(x, R.const(8.0))   ->   R.multiply(x, R.const(0.125))

The reciprocal is rounded, so results may differ in the last place unless the constants are powers of two.  Divisors
whose reciprocal is zero, infinite or not a number stay.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.module import IRModule
from ...core.rewrite import Match, RuleTable
from ...core.transform import PassContext, function_pass
from .. import op as relay
from ..ir import expr as e
from ..patterns import any_, constant, is_float, op, where
from .rules import apply_rules

RULES = RuleTable("DivToMul")


def _reciprocal(m: Match) -> np.ndarray:
    data = m["divisor"].data.numpy()
    with np.errstate(all="ignore"):
        return np.asarray(1 / data.astype(np.float64)).astype(data.dtype)


def _is_sound(m: Match) -> bool:
    found = _reciprocal(m)
    return bool(np.all(np.isfinite(found)) and np.all(np.abs(found) >= np.finfo(found.dtype).tiny))


@RULES.rule(
    "divide-by-constant",
    op("divide", any_("x"), constant("divisor")),
    when=[
        is_float("divisor"),
        where(
            "the dtype is one of NumPy's floats",
            lambda m: m["divisor"].data.dtype.to_numpy().kind == "f",
            lambda m: m["divisor"].data.dtype,
        ),
        where("the reciprocal is a normal number", _is_sound, lambda m: m["divisor"].data),
    ],
)
def divide_by_constant(m: Match) -> Any:
    """x / c is x * (1 / c)."""
    return relay.call("multiply", m["x"], e.const(_reciprocal(m)))


@function_pass(opt_level=4, name="DivToMul", required=["InferType"], applies_to=e.Function)
def DivToMul(func: e.Function, mod: IRModule, ctx: PassContext) -> e.Function:
    """Multiply by reciprocals of constants instead of dividing."""
    return apply_rules(func, RULES, mod)
