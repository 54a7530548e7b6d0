"""PackWeights: weights of convolutions and products move into the blocked layout that kernels read in order.

    R.nn.conv2d(x, w)   ->   R.nn.conv2d(x, R.layout_transform(w, ...), channels=64, kernel_layout="OIHW16o")

How an operator reads blocked weights is its own statement (`Operator.packed`), and so is when it is faster by
Winograd's minimal filtering (`Operator.tiled`); that changes roundings, and is done from level 3 on.  The block is the
number of lanes of a vector register of the target (`with target:`); activations stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.module import IRModule
from ...core.node import Node
from ...core.rewrite import Failure, Match, Rule, RuleTable
from ...core.transform import PassContext, function_pass
from ...target.target import Target
from .. import op as relay
from ..ir import expr as e
from ..ir.brief import brief
from ..ir.operator import Fusion, Operator
from ..patterns import OfCalls, any_, op, operators, where
from .rules import apply_rules

LANES = "the operator reads weights in blocks of output channels"
TILED = "the operator can be computed by Winograd's tiles"
ELEMENTWISE = operators("an elementwise operator", lambda operator: operator.fusion is Fusion.ELEMWISE)


@dataclass(frozen=True)
class Packable(OfCalls):
    """A call that its operator can make one over blocked weights; that is bound to "packed"."""

    lanes: int
    tiles: bool = False
    """By Winograd's tiles."""
    dot: tuple[str, str] | None = None
    """For an instruction that multiplies bytes of these dtypes."""

    def match(self, node: Node, match: Match) -> Failure | None:
        if not isinstance(node, e.Call) or not isinstance(node.op, Operator):
            return Failure("the expression is a call of an operator", lambda: brief(node))
        packed = self._packed(node.op, node.args)
        if packed is None:
            return Failure(TILED if self.tiles else LANES, node.op.name)
        if isinstance(packed, Failure):
            return packed
        match.bound["packed"] = packed
        match.matched.append(node)
        return None

    def _packed(self, op: Operator, operands: tuple[e.Expr, ...]) -> Any:
        if self.dot is not None:
            return op.packed_bytes(self.lanes, self.dot, *operands)
        return (op.tiled if self.tiles else op.packed)(self.lanes, *operands)


def _flat_convolution(m: Match) -> bool:
    """Whether what is squeezed is a convolution over data of height 1, perhaps with elementwise operators after it."""
    value = m["wide"]
    while isinstance(value, e.Call) and isinstance(value.op, Operator) and value.op.fusion <= Fusion.BROADCAST:
        if not value.args:
            return False
        value = value.args[0]
    heavy = isinstance(value, e.Call) and isinstance(value.op, Operator) and value.op.multiplies_and_adds
    return heavy and m["cut"].op.axis == (2,)


_FLAT = where("the squeeze follows a convolution over data of height 1", _flat_convolution, lambda m: m["cut"])
_ALONG_CHANNELS = where("the bias is along the channels", lambda m: m["last"].op.axis == 1, lambda m: m["last"].op.axis)


_WIDENED = RuleTable("PackWeights")
_CUT = op("squeeze", any_("wide"), name="cut", once=True)


@_WIDENED.rule("epilogue-before-squeeze", op(ELEMENTWISE, _CUT, name="last"), when=[_FLAT])
def epilogue_before_squeeze(m: Match) -> Any:
    """What follows a widened convolution element by element comes before the squeeze, so that it is fused."""
    return relay.call("squeeze", e.Call(m["last"].op, (m["wide"],)), axis=m["cut"].op.axis)


@_WIDENED.rule("bias-before-squeeze", op("nn.bias_add", _CUT, any_("bias"), name="last"), when=[_FLAT, _ALONG_CHANNELS])
def bias_before_squeeze(m: Match) -> Any:
    """As above, for the bias."""
    return relay.call("squeeze", e.Call(m["last"].op, (m["wide"], m["bias"])), axis=m["cut"].op.axis)


def pack_rules(lanes: int, winograd: bool = False, dot: tuple[str, str] | None = None) -> list[Rule]:
    """The rules for blocks of `lanes` channels; `winograd`: with the one that takes tiles where they are faster.

    `dot`: what an instruction for products of bytes multiplies, where the target has one.
    """
    table = RuleTable("PackWeights")

    @table.rule("winograd", Packable(lanes, tiles=True))
    def by_tiles(m: Match) -> Any:
        """A convolution of many channels takes fewer multiplications by Winograd's minimal filtering."""
        return m["packed"]

    @table.rule("pack-bytes", Packable(lanes, dot=dot))
    def pack_bytes(m: Match) -> Any:
        """A convolution or product of bytes reads its weights in fours of inputs, which one instruction multiplies."""
        return m["packed"]

    @table.rule("pack-weights", Packable(lanes))
    def pack_weights(m: Match) -> Any:
        """A convolution or product reads its weights in blocks of output channels."""
        return m["packed"]

    return [*([by_tiles] if winograd else []), *([pack_bytes] if dot else []), pack_weights, *_WIDENED]


@function_pass(opt_level=1, name="PackWeights", required=["InferType"], applies_to=e.Function)
def PackWeights(
    func: e.Function, mod: IRModule, ctx: PassContext, *, lanes: int = 0, winograd: bool = True
) -> e.Function:
    """Block weights by `lanes` output channels (0: the lanes of the current target).

    `winograd`: from level 3 on, convolutions go by Winograd's tiles where a model says that these take less time.
    """
    if func.is_primitive:
        return func
    target = Target.current(allow_none=True) or Target("llvm")
    chosen = lanes or target.lanes
    dot = target.dot_dtypes if chosen == target.lanes else None
    return apply_rules(func, pack_rules(chosen, winograd and ctx.opt_level >= 3, dot), mod)
