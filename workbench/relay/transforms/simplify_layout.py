"""SimplifyExprPostAlterOp: what a change of layouts leaves behind.

layout_transform(layout_transform(x, "NCHW", "NHWC"), "NHWC", "NCHW")   ->   x
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

RULES = RuleTable("SimplifyExprPostAlterOp")


@RULES.rule(
    "same-layout",
    op("layout_transform", any_("x"), name="move"),
    when=[
        where(
            "both layouts are the same",
            lambda m: m["move"].op.src_layout == m["move"].op.dst_layout,
            lambda m: f"{m['move'].op.src_layout} to {m['move'].op.dst_layout}",
        )
    ],
)
def same_layout(m: Match) -> Any:
    """A move to the layout that is there already does nothing."""
    return m["x"]


def _joined(m: Match) -> e.Call:
    return relay.call(
        "layout_transform", m["x"], src_layout=m["inner"].op.src_layout, dst_layout=m["outer"].op.dst_layout
    )


def _nothing_filled(m: Match) -> bool:
    """Whether one move gives what the two give: the same extents, so that only zeros were filled up."""
    if m["inner"].op.dst_layout != m["outer"].op.src_layout:
        return False
    found = m["x"].type_or_none
    return isinstance(found, TensorType) and _joined(m).type_or_none == m["outer"].type_or_none


@RULES.rule(
    "move-of-move",
    op("layout_transform", op("layout_transform", any_("x"), name="inner"), name="outer"),
    when=[
        where(
            "the layouts join, and nothing filled up on the way stays",
            _nothing_filled,
            lambda m: f"{m['inner'].op.dst_layout} and {m['outer'].op.src_layout}, giving {m['outer'].type_or_none}",
        )
    ],
)
def move_of_move(m: Match) -> Any:
    """Two moves are one."""
    return _joined(m)


@function_pass(opt_level=0, name="SimplifyExprPostAlterOp", required=["InferType"], applies_to=e.Function)
def SimplifyExprPostAlterOp(func: e.Function, mod: IRModule, ctx: PassContext) -> e.Function:
    """Cancel moves between layouts."""
    return func if func.is_primitive else apply_rules(func, RULES, mod)
