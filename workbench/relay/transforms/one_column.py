"""Rule of SimplifyExpr for convolutions over pictures of one column: their rows lie side by side as columns would.

    R.nn.conv2d(x, w)   ->   R.expand_dims(R.nn.conv1d(R.squeeze(x), R.squeeze(w)), axis=3)

Text and sound often come so: what was one-dimensional got an axis of one element behind it.  Kernels fill their vectors
and register tiles along columns.
"""

from __future__ import annotations

from typing import Any

from ...core.rewrite import Match, RuleTable
from .. import op as relay
from ..patterns import any_, op, where
from .parallel import known_shape, static_shape

ONE_COLUMN = RuleTable("one column")


def _one_column(m: Match) -> bool:
    """Whether data NCHW have one column and several rows, and the weight one tap along it, without padding."""
    conv, data, weight = m["conv"].op, static_shape(m["data"]), static_shape(m["weight"])
    if data is None or weight is None or (conv.data_layout, conv.kernel_layout) != ("NCHW", "OIHW"):
        return False
    plain = conv.out_layout in ("", "NCHW") and conv.padding[1] == conv.padding[3] == 0
    return plain and data[3] == weight[3] == 1 and data[2] > 1


_FITS = where("the pictures have one column, which one tap reads as it is", _one_column,
              lambda m: f"{static_shape(m['data'])} and {static_shape(m['weight'])}")  # fmt: skip


@ONE_COLUMN.rule("conv2d-of-one-column", op("nn.conv2d", any_("data"), any_("weight"), name="conv"), when=[_FITS])
def conv2d_of_one_column(m: Match) -> Any:
    """A convolution over pictures of one column is a one-dimensional one."""
    conv = m["conv"].op
    made = relay.call(
        "nn.conv1d", _flat(m["data"]), _flat(m["weight"]), strides=conv.strides[:1], dilation=conv.dilation[:1],
        padding=(conv.padding[0], conv.padding[2]), groups=conv.groups, channels=conv.channels,
        out_dtype=conv.out_dtype,
    )  # fmt: skip
    return relay.call("expand_dims", made, axis=3)


def _flat(value: Any) -> Any:
    return relay.call("reshape", value, newshape=known_shape(value)[:3])
