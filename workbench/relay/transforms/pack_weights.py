"""PackWeights: constant weights of convolutions and products move into the blocked layout that kernels read in order.

    R.nn.conv2d(x, w)   ->   R.nn.conv2d(x, R.layout_transform(w, ...), channels=64, kernel_layout="OIHW16o")
    R.nn.dense(x, w)    ->   R.nn.contrib_dense_pack(x, R.layout_transform(w, ...), weight_layout="NC16n", units=1000)

The block is the number of lanes of a vector register of the target (`with target:`); activations stay as they are.
"""

from __future__ import annotations

from typing import Any

from ...core.module import IRModule
from ...core.rewrite import Match, Rule, RuleTable
from ...core.transform import PassContext, function_pass
from ...target import Target
from .. import op as relay
from ..ir import expr as e
from ..ir.operator import OPERATORS
from ..patterns import any_, constant, op, where
from .fold_scale_axis import is_plain
from .rules import apply_rules


def pack_rules(lanes: int) -> list[Rule]:
    """The rules for blocks of `lanes` channels."""
    table = RuleTable("PackWeights")
    wide_enough = where(
        f"there are at least {lanes // 2} output channels",
        lambda m: 2 * m["weight"].data.shape[0] >= lanes,
        lambda m: m["weight"].data.shape[0],
    )
    static = where(
        "the data's shape is known", lambda m: m["data"].checked_type.is_static, lambda m: m["data"].checked_type
    )
    plain: dict[str, Any] = {
        "kernel_layout": "OIHW",
        "data_layout": "NCHW",
        "groups": 1,
        "out_layout": is_plain,
    }

    @table.rule(
        "pack-conv2d",
        op("nn.conv2d", any_("data"), constant("weight"), name="conv", attrs=plain),
        when=[wide_enough, static],
    )
    def pack_conv2d(m: Match) -> Any:
        """A convolution reads its constant weights in blocks of output channels."""
        layout, weight = f"OIHW{lanes}o", m["weight"]
        packed = relay.call("layout_transform", weight, src_layout="OIHW", dst_layout=layout)
        changed = m["conv"].op.replace(kernel_layout=layout, channels=weight.data.shape[0])
        return e.Call(changed, (m["data"], packed))

    @table.rule(
        "pack-dense", op("nn.dense", any_("data"), constant("weight"), name="dense"), when=[wide_enough, static]
    )
    def pack_dense(m: Match) -> Any:
        """A product reads its constant weights in blocks of rows."""
        layout, weight = f"NC{lanes}n", m["weight"]
        packed = relay.call("layout_transform", weight, src_layout="NC", dst_layout=layout)
        made: Any = OPERATORS["nn.contrib_dense_pack"]
        changed = made(weight_layout=layout, units=weight.data.shape[0], out_dtype=m["dense"].op.out_dtype)
        return e.Call(changed, (m["data"], packed))

    return list(table)


@function_pass(opt_level=3, name="PackWeights", required=["InferType"], applies_to=e.Function)
def PackWeights(func: e.Function, mod: IRModule, ctx: PassContext, *, lanes: int = 0) -> e.Function:
    """Block constant weights by `lanes` output channels (0: the lanes of the current target)."""
    if func.is_primitive:
        return func
    chosen = lanes or (Target.current(allow_none=True) or Target("llvm")).lanes
    return apply_rules(func, pack_rules(chosen), mod)
