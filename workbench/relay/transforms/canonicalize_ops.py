"""CanonicalizeOps: operators that are a common case of another one are written as that other one.

    R.nn.bias_add(x, b, axis=1)   ->   R.add(x, R.expand_dims(b, axis=1, num_newaxis=2))      (x has 4 axes)

Passes that look for sums (FoldScaleAxis, CombineParallelConv2D, fusion) then see one form only.
"""

from __future__ import annotations

from typing import Any

from ...core.module import IRModule
from ...core.rewrite import Match, RuleTable
from ...core.transform import PassContext, function_pass
from .. import op as relay
from ..ir import expr as e
from ..ir.types import TensorType
from ..patterns import any_, op
from .rules import apply_rules

RULES = RuleTable("CanonicalizeOps")


@RULES.rule("bias-add", op("nn.bias_add", any_("data"), any_("bias"), name="sum"))
def bias_add(m: Match) -> Any:
    """bias_add is add, with the vector given an axis for each axis of data after its own."""
    found, bias = m["data"].checked_type, m["bias"]
    if not isinstance(found, TensorType):
        return None
    after = (len(found.shape) - 1 - m["sum"].op.axis) % len(found.shape)
    wide = relay.call("expand_dims", bias, axis=1, num_newaxis=after) if after else bias
    return relay.call("add", m["data"], wide)


@function_pass(opt_level=3, name="CanonicalizeOps", required=["InferType"], applies_to=e.Function)
def CanonicalizeOps(func: e.Function, mod: IRModule, ctx: PassContext) -> e.Function:
    """Write bias_add as add."""
    return apply_rules(func, RULES, mod)
