"""CombineParallelConv2D: convolutions of the same data become one with all their output channels.

    conv2d(x, w0), conv2d(x, w1), conv2d(x, w2)   ->   y = conv2d(x, concatenate((w0, w1, w2)));  y[:, 0:a], ...

Bias and activations that all branches have alike are combined too (see `parallel`).  One large convolution uses
registers and threads better than several small ones: this pays in inception-like networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.module import IRModule
from ...core.transform import PassContext, function_pass
from ...topi.layout import parse
from .. import op as relay
from ..ir import expr as e
from ..ir.types import TensorType
from .parallel import combine, concatenated, joined_along, known_shape, slices, static_shape


class Conv2DKind:
    """Convolutions without groups that differ in their weights only, in layouts without blocks."""

    def fits(self, call: e.Call) -> Any:
        op: Any = call.op
        if op.name != "nn.conv2d" or op.groups != 1:
            return None
        kernel, result = parse(op.kernel_layout), parse(op.out_layout or op.data_layout)
        shape = static_shape(call.args[1])
        if kernel.factors or result.factors or shape is None:
            return None
        found = call.args[1].checked_type
        assert isinstance(found, TensorType)
        size = tuple(extent for letter, extent in zip(kernel.letters, shape, strict=True) if letter != "O")
        same = (op.strides, op.padding, op.dilation, op.data_layout, op.kernel_layout, op.out_layout, op.out_dtype)
        return (*same, size, str(found.dtype))

    def combined(self, data: e.Expr, calls: Sequence[e.Call]) -> e.Expr:
        op: Any = calls[0].op
        weight = concatenated([call.args[1] for call in calls], parse(op.kernel_layout).index_of("O"))
        attributes = {**op.attributes, "channels": sum(_channels(calls))}
        return relay.call("nn.conv2d", data, weight, **attributes)

    def joined(self, reader: e.Call, others: Sequence[e.Expr], calls: Sequence[e.Call]) -> e.Expr | None:
        return joined_along(reader, others, _channels(calls), _axis(calls[0]), 4)

    def parts(self, whole: e.Expr, calls: Sequence[e.Call]) -> list[e.Expr]:
        return slices(whole, _channels(calls), _axis(calls[0]))


def _axis(call: e.Call) -> int:
    """The place of channels in the result."""
    op: Any = call.op
    return parse(op.out_layout or op.data_layout).index_of("C")


def _channels(calls: Sequence[e.Call]) -> list[int]:
    op: Any = calls[0].op
    place = parse(op.kernel_layout).index_of("O")
    return [known_shape(call.args[1])[place] for call in calls]


@function_pass(opt_level=4, name="CombineParallelConv2D", required=["InferType"], applies_to=e.Function)
def CombineParallelConv2D(
    func: e.Function, mod: IRModule, ctx: PassContext, *, min_num_branches: int = 3
) -> e.Function:
    """Combine at least `min_num_branches` convolutions of the same data into one."""
    return combine(func, Conv2DKind(), min_num_branches)
