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
from ..patterns import any_, op, where
from .rules import apply_rules

RULES = RuleTable("FastMath")

VARIANTS = {"exp": "fast_exp", "tanh": "fast_tanh", "erf": "fast_erf", "nn.softmax": "nn.fast_softmax"}
"""Exact operator and fast one; their attributes are the same."""


def _dtype(m: Match) -> Any:
    found = m["x"].type_or_none
    return found.dtype if isinstance(found, TensorType) else None


_SMALL = where("the dtype has at most 32 bits", lambda m: _dtype(m) is not None and _dtype(m).bits <= 32, _dtype)


def _define(exact: str, fast: str) -> None:
    @RULES.rule(fast.removeprefix("nn."), op(exact, any_("x"), name="exact"), when=[_SMALL])
    def replaced(m: Match) -> Any:
        """A function with a fast variant is that variant."""
        return relay.call(fast, m["x"], **m["exact"].op.attributes)

    assert replaced.pattern is not None


for _exact, _fast in VARIANTS.items():
    _define(_exact, _fast)


@function_pass(opt_level=4, name="FastMath", required=["InferType"], applies_to=e.Function)
def FastMath(func: e.Function, mod: IRModule, ctx: PassContext) -> e.Function:
    """Use the fast variants of exp, tanh, erf and softmax."""
    return apply_rules(func, RULES, mod)
