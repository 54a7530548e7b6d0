"""DynamicToStatic: operators with shapes from values become static ones where the values are constants.

    R.dyn.reshape(x, R.multiply(R.const([1, 3]), 2))   ->   R.reshape(x, newshape=(2, 6))

Constants are folded on the way, and types are inferred anew, since a shape that becomes known makes others known:
`reshape(y, shape_of(x))` is static as soon as x is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.module import IRModule
from ...core.node import Node
from ...core.rewrite import Failure, Match, RuleTable
from ...core.transform import PassContext, function_pass
from ...topi.dynamic import DynamicForm
from ..ir import expr as e
from ..ir.brief import brief
from ..patterns import OfCalls
from .fold_constant import RULES as FOLDING
from .rules import apply_rules

RULES = RuleTable("DynamicToStatic")


@dataclass(frozen=True)
class KnownValues(OfCalls):
    """A call of a dynamic form with constants for the values that its shape depends on."""

    def match(self, node: Node, match: Match) -> Failure | None:
        if not isinstance(node, e.Call) or not isinstance(node.op, DynamicForm):
            return Failure("the expression is a call of a dynamic operator", lambda: brief(node))
        for name, place in zip(node.op.values, type(node.op).value_places(), strict=True):
            if not isinstance(node.args[place], e.Constant):
                return Failure(f"{name} is a constant", _shown(node.args[place]))
        match.matched.append(node)
        return None


def _shown(expr: e.Expr) -> Any:
    return lambda: brief(expr)


@RULES.rule("dynamic-to-static", KnownValues())
def dynamic_to_static(m: Match) -> Any:
    """An operator whose shape is given by constants is its static form."""
    call = m.root
    assert isinstance(call, e.Call) and isinstance(call.op, DynamicForm)
    places = type(call.op).value_places()
    constants = [call.args[place] for place in places]
    arrays = {name: constant.data.numpy() for name, constant in zip(call.op.values, constants, strict=True)
              if isinstance(constant, e.Constant)}  # fmt: skip
    operands = tuple(argument for place, argument in enumerate(call.args) if place not in places)
    return e.Call(call.op.static(arrays), operands)


TABLE = [*RULES, *FOLDING]
"""What the pass applies."""


@function_pass(opt_level=2, name="DynamicToStatic", required=["InferType"], applies_to=e.Function)
def DynamicToStatic(func: e.Function, mod: IRModule, ctx: PassContext) -> e.Function:
    """Make dynamic operators static where the values that they depend on are known."""
    return func if func.is_primitive else apply_rules(func, TABLE, mod, refine=True)
