"""Rule of AlterOpLayout for padded data that are moved to another layout: they are moved first, then padded.

    R.layout_transform(R.nn.pad(x, ...), "NCHW", "NHWC")   ->   R.nn.pad(R.layout_transform(x, "NCHW", "NHWC"), ...)

A move alone goes by tiles that are shuffled in registers; one that asks of each element whether it is of the border
goes element by element.
"""

from __future__ import annotations

from typing import Any

from ...core.rewrite import Match, RuleTable
from .. import op as relay
from ..ir import expr as e
from ..ir.operator import Placed
from ..patterns import op, where

MOVED_PADDING = RuleTable("AlterOpLayout")


def _arranged(m: Match) -> Any:
    """How the padding computes over data that lie as the move has them; None where it cannot."""
    pad, move = m["pad"], m["move"].op
    operands = (Placed(move.src_layout, move.dst_layout), *(None for _ in pad.args[1:]))
    return pad.op.arrange(operands, tuple(argument.checked_type for argument in pad.args))


@MOVED_PADDING.rule(
    "move-before-pad",
    op("layout_transform", op("nn.pad", name="pad", once=True, any_operands=True), name="move"),
    when=[
        where("data lie in no blocks before", lambda m: m["move"].op.src_layout.isalpha(), lambda m: m["move"].op),
        where("only axes that are not split are padded", lambda m: _arranged(m) is not None, lambda m: m["pad"].op),
    ],
)
def move_before_pad(m: Match) -> Any:
    """Data are moved to another layout before they are padded, not after."""
    pad, move = m["pad"], m["move"].op
    moved = relay.call("layout_transform", pad.args[0], src_layout=move.src_layout, dst_layout=move.dst_layout)
    return e.Call(_arranged(m).op, (moved, *pad.args[1:]))
