"""SimplifyInference: operators that only training needs become arithmetic.

R.nn.batch_norm(x, gamma, beta, mean, var)[0]   ->   x * factor + offset
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.module import IRModule
from ...core.node import Node
from ...core.rewrite import Failure, Match, RuleTable
from ...core.transform import PassContext, function_pass
from ..ir import expr as e
from ..ir.brief import brief
from ..ir.operator import Operator
from ..patterns import OfCalls, item
from .rules import apply_rules

RULES = RuleTable("SimplifyInference")


@dataclass(frozen=True)
class Decomposable(OfCalls):
    """A call of an operator that is defined by simpler ones, on operands with types."""

    def match(self, node: Node, match: Match) -> Failure | None:
        if not isinstance(node, e.Call) or not isinstance(node.op, Operator):
            return Failure("the expression is a call of an operator", lambda: brief(node))
        if type(node.op).decompose is Operator.decompose:
            return Failure("the operator is defined by simpler ones", node.op.name)
        if any(argument.type_or_none is None for argument in node.args):
            return Failure("the operands have types", lambda: brief(node))
        match.matched.append(node)
        return None


@RULES.rule("decompose", Decomposable())
def decompose(m: Match) -> Any:
    """An operator becomes the simpler ones that define it."""
    call = m.root
    assert isinstance(call, e.Call) and isinstance(call.op, Operator)
    return call.op.decompose(*call.args)


@dataclass(frozen=True)
class TupleLiteral:
    """A tuple that is written out."""

    def match(self, node: Node, match: Match) -> Failure | None:
        if not isinstance(node, e.Tuple):
            return Failure("the tuple is written out", lambda: brief(node))
        match.bound["tuple"] = node
        return None


@RULES.rule("tuple-item", item(TupleLiteral()))
def tuple_item(m: Match) -> Any:
    """(a, b)[0] is a."""
    root = m.root
    assert isinstance(root, e.TupleGetItem)
    return m["tuple"].fields[root.index]


@function_pass(opt_level=0, name="SimplifyInference", required=["InferType"], applies_to=e.Function)
def SimplifyInference(func: e.Function, mod: IRModule, ctx: PassContext) -> e.Function:
    """Replace batch_norm, layer_norm, dropout and the like by the arithmetic they stand for at inference."""
    return apply_rules(func, RULES, mod)
