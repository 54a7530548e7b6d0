"""PackWeights: constant weights of convolutions and products move into the blocked layout that kernels read in order.

    R.nn.conv2d(x, w)   ->   R.nn.conv2d(x, R.layout_transform(w, ...), channels=64, kernel_layout="OIHW16o")
    groups of 34        ->   filled up to 48 channels each; the 14 added ones are cut away from the result
    R.nn.conv1d(x, w)   ->   the same over data of height 1: expand_dims, nn.conv2d as above, squeeze
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

EPILOGUES = ("nn.relu", "sigmoid", "tanh", "clip")
"""Elementwise operators that commonly follow a convolution."""

TILES: dict[str, Any] = {
    "data_layout": "NCHW",
    "kernel_layout": "IOHW",
    "out_layout": is_plain,
    "groups": 1,
    "padding": (0, 0, 0, 0),
    "output_padding": (0, 0),
    "dilation": (1, 1),
}
"""Attributes of transposed convolutions that nothing is cut from."""


def _widened(value: e.Expr) -> bool:
    """Whether an expression is a convolution, perhaps with bias and elementwise operators after it."""
    while isinstance(value, e.Call) and getattr(value.op, "name", "") in (*EPILOGUES, "nn.bias_add"):
        value = value.args[0]
    return isinstance(value, e.Call) and getattr(value.op, "name", "") == "nn.conv2d"


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
        "out_layout": is_plain,
    }

    broken_groups = where(
        f"there are groups of at least {lanes // 2} output channels, not multiples of {lanes}, of several inputs",
        lambda m: m["conv"].op.groups > 1
        and bool(_per_group(m) % lanes)
        and 2 * _per_group(m) >= lanes
        and m["weight"].data.shape[1] > 1,
        lambda m: f"{m['conv'].op.groups} groups of {_per_group(m)}",
    )
    tiles = where(
        "the strides are the kernel's extents",
        lambda m: m["conv"].op.strides == m["weight"].data.shape[2:],
        lambda m: f"strides {m['conv'].op.strides}, kernel {m['weight'].data.shape[2:]}",
    )
    flat = where(
        "the squeeze follows a convolution over data of height 1",
        lambda m: m["cut"].op.axis == (2,) and _widened(m["wide"]),
        lambda m: m["cut"],
    )
    bias_along_channels = where(
        "the bias is along the channels",
        lambda m: getattr(m["last"].op, "axis", 1) == 1,
        lambda m: getattr(m["last"].op, "axis", 1),
    )
    whole_groups = where(
        f"there is one group of channels, or each has a multiple of {lanes} output channels",
        lambda m: m["conv"].op.groups == 1 or not _per_group(m) % lanes,
        lambda m: f"{m['conv'].op.groups} groups of {_per_group(m)}",
    )

    @table.rule(
        "pack-conv2d",
        op("nn.conv2d", any_("data"), constant("weight"), name="conv", attrs=plain),
        when=[wide_enough, whole_groups, static],
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

    @table.rule(
        "fill-groups",
        op("nn.conv2d", any_("data"), constant("weight"), name="conv", attrs=plain),
        when=[broken_groups, static],
    )
    def fill_groups(m: Match) -> Any:
        """The output channels of each group are filled up to whole blocks; those added are cut away afterwards."""
        conv, (out, inner, *kernel) = m["conv"].op, m["weight"].data.shape
        groups, own = conv.groups, out // conv.groups
        full = -(-own // lanes) * lanes
        weight = relay.call("reshape", m["weight"], newshape=(groups, own, inner, *kernel))
        weight = relay.call("nn.pad", weight, pad_width=((0, 0), (0, full - own), (0, 0), (0, 0), (0, 0)))
        weight = relay.call("reshape", weight, newshape=(groups * full, inner, *kernel))
        layout = f"OIHW{lanes}o"
        packed = relay.call("layout_transform", weight, src_layout="OIHW", dst_layout=layout)
        filled = e.Call(conv.replace(kernel_layout=layout, channels=groups * full), (m["data"], packed))
        batch, _, height, width = _shape(m.root)
        apart = relay.call("reshape", filled, newshape=(batch, groups, full, height, width))
        cut = relay.call("strided_slice", apart, begin=(0,), end=(own,), axes=(2,))
        return relay.call("reshape", cut, newshape=(batch, out, height, width))

    @table.rule(
        "transposed-as-pointwise",
        op("nn.conv2d_transpose", any_("data"), constant("weight"), name="conv", attrs=TILES),
        when=[tiles, static],
    )
    def transposed_as_pointwise(m: Match) -> Any:
        """A transposed convolution whose windows lie side by side: each point makes a tile of its own."""
        (inner, out, high, wide), (batch, _, height, width) = m["weight"].data.shape, _shape(m["data"])
        weight = relay.call("transpose", m["weight"], axes=(1, 2, 3, 0))
        weight = relay.call("reshape", weight, newshape=(out * high * wide, inner, 1, 1))
        layout = f"OIHW{lanes}o"
        packed = relay.call("layout_transform", weight, src_layout="OIHW", dst_layout=layout)
        made: Any = OPERATORS["nn.conv2d"]
        pointwise = made(kernel_layout=layout, channels=out * high * wide, out_dtype=m["conv"].op.out_dtype)
        apart = relay.call(
            "reshape", e.Call(pointwise, (m["data"], packed)), newshape=(batch, out, high, wide, height, width)
        )
        turned = relay.call("transpose", apart, axes=(0, 1, 4, 2, 5, 3))
        return relay.call("reshape", turned, newshape=(batch, out, height * high, width * wide))

    @table.rule(
        "widen-conv1d",
        op("nn.conv1d", any_("data"), constant("weight"), name="conv"),
        when=[wide_enough, whole_groups, static],
    )
    def widen_conv1d(m: Match) -> Any:
        """A convolution of sequences is one of pictures of height 1, for which there are fast kernels."""
        data, weight = (relay.call("expand_dims", m[key], axis=2) for key in ("data", "weight"))
        layout = f"OIHW{lanes}o"
        packed = relay.call("layout_transform", weight, src_layout="OIHW", dst_layout=layout)
        wide = m["conv"].op.wide().replace(kernel_layout=layout, channels=m["weight"].data.shape[0])
        return relay.call("squeeze", e.Call(wide, (data, packed)), axis=(2,))

    @table.rule(
        "epilogue-before-squeeze",
        op(EPILOGUES, op("squeeze", any_("wide"), name="cut", once=True), name="last"),
        when=[flat, bias_along_channels],
    )
    def epilogue_before_squeeze(m: Match) -> Any:
        """What follows a widened convolution element by element comes before the squeeze, so that it is fused."""
        return relay.call("squeeze", e.Call(m["last"].op, (m["wide"],)), axis=m["cut"].op.axis)

    @table.rule(
        "bias-before-squeeze",
        op("nn.bias_add", op("squeeze", any_("wide"), name="cut", once=True), any_("bias"), name="last"),
        when=[flat, bias_along_channels],
    )
    def bias_before_squeeze(m: Match) -> Any:
        """As above, for the bias."""
        return relay.call("squeeze", e.Call(m["last"].op, (m["wide"], m["bias"])), axis=m["cut"].op.axis)

    return list(table)


def _per_group(m: Match) -> int:
    """Output channels of one group of the matched convolution."""
    return m["weight"].data.shape[0] // m["conv"].op.groups


def _shape(expr: Any) -> tuple[int, ...]:
    return expr.checked_type.concrete_shape


@function_pass(opt_level=3, name="PackWeights", required=["InferType"], applies_to=e.Function)
def PackWeights(func: e.Function, mod: IRModule, ctx: PassContext, *, lanes: int = 0) -> e.Function:
    """Block constant weights by `lanes` output channels (0: the lanes of the current target)."""
    if func.is_primitive:
        return func
    chosen = lanes or (Target.current(allow_none=True) or Target("llvm")).lanes
    return apply_rules(func, pack_rules(chosen), mod)
