"""FastMath: exp, tanh, erf and softmax become their fast variants.

    R.tanh(x)   ->   R.fast_tanh(x)

Each variant states its greatest relative error (`topi.fast_math`); float64 stays exact.
"""

from __future__ import annotations

from typing import Any

from ...core.module import IRModule
from ...core.rewrite import Match, RuleTable
from ...core.transform import PassContext, function_pass
from .. import op as relay
from ..ir import expr as e
from ..ir.types import TensorType
from ..patterns import any_, op, operators, where
from .rules import apply_rules

RULES = RuleTable("FastMath")


def _dtype(m: Match) -> Any:
    found = m["x"].type_or_none
    return found.dtype if isinstance(found, TensorType) else None


_SMALL = where("the dtype has at most 32 bits", lambda m: _dtype(m) is not None and _dtype(m).bits <= 32, _dtype)


@RULES.rule(
    "fast-variant",
    op(operators("an operator with a fast variant", lambda exact: exact.fast_variant != ""), any_("x"), name="exact"),
    when=[_SMALL],
)
def fast_variant(m: Match) -> Any:
    """A function with a fast variant is that variant (`Operator.fast_variant`)."""
    exact = m["exact"].op
    return relay.call(exact.fast_variant, m["x"], **exact.attributes)


@function_pass(opt_level=4, name="FastMath", required=["InferType"], applies_to=e.Function)
def FastMath(func: e.Function, mod: IRModule, ctx: PassContext) -> e.Function:
    """Use the fast variants of exp, tanh, erf and softmax."""
    return apply_rules(func, RULES, mod)
