"""FlattenAtrousConv: a convolution between space_to_batch_nd and batch_to_space_nd is a dilated convolution.

    batch_to_space_nd(conv2d(space_to_batch_nd(x, b, pads), w), b, crops)   ->   conv2d(x, w, dilation=b, padding=...)

TensorFlow exports dilated convolutions in the long form.
"""

from __future__ import annotations

from typing import Any

from ...core.module import IRModule
from ...core.rewrite import Match, RuleTable
from ...core.transform import PassContext, function_pass
from ..ir import expr as e
from ..patterns import any_, op, where
from .rules import apply_rules

RULES = RuleTable("FlattenAtrousConv")

_PLACES = {"NCHW": (2, 3), "NHWC": (1, 2)}


def _known(layout: str) -> bool:
    return layout in _PLACES


def _known_or_same(layout: str) -> bool:
    return layout in ("", *_PLACES)


_PLAIN: dict[str, Any] = {
    "strides": (1, 1),
    "padding": (0, 0, 0, 0),
    "dilation": (1, 1),
    "data_layout": _known,
    "out_layout": _known_or_same,
}


def _widths(m: Match) -> dict[int, tuple[int, int, int]]:
    """By axis: block, padding before and after, of the dilated convolution."""
    outer, inner = m["outer"].op, m["inner"].op
    rows = zip(inner.block_shape, inner.paddings, outer.crops, strict=True)
    return {axis + 1: (block, pads[0] - crops[0], pads[1] - crops[1]) for axis, (block, pads, crops) in enumerate(rows)}


def _only_plane(m: Match) -> bool:
    plane = _PLACES[m["conv"].op.data_layout]
    return all(axis in plane or width == (1, 0, 0) for axis, width in _widths(m).items())


def _pads(m: Match) -> list[int]:
    return [pad for _, before, after in _widths(m).values() for pad in (before, after)]


@RULES.rule(
    "dilated-conv2d",
    op(
        "nn.batch_to_space_nd",
        op(
            "nn.conv2d",
            op("nn.space_to_batch_nd", any_("x"), name="inner", once=True, attrs={"pad_value": 0.0}),
            any_("weight"),
            name="conv",
            once=True,
            attrs=_PLAIN,
        ),
        name="outer",
    ),
    when=[
        where(
            "both have the same blocks",
            lambda m: m["outer"].op.block_shape == m["inner"].op.block_shape,
            lambda m: f"{m['inner'].op.block_shape} and {m['outer'].op.block_shape}",
        ),
        where(
            "the convolution keeps the layout",
            lambda m: m["conv"].op.out_layout in ("", m["conv"].op.data_layout),
            lambda m: m["conv"].op.out_layout,
        ),
        where("only height and width are in blocks", _only_plane, _widths),
        where("no more is cropped than was padded", lambda m: min(_pads(m)) >= 0, _pads),
    ],
)
def dilated_conv2d(m: Match) -> Any:
    """A convolution over every b-th element is one with dilation b."""
    conv, widths = m["conv"], _widths(m)
    (high, top, bottom), (wide, left, right) = (widths.get(axis, (1, 0, 0)) for axis in _PLACES[conv.op.data_layout])
    changed = conv.op.replace(dilation=(high, wide), padding=(top, left, bottom, right))
    return e.Call(changed, (m["x"], m["weight"]))


@function_pass(opt_level=3, name="FlattenAtrousConv", required=["InferType"], applies_to=e.Function)
def FlattenAtrousConv(func: e.Function, mod: IRModule, ctx: PassContext) -> e.Function:
    """Write convolutions over blocks as dilated convolutions."""
    return func if func.is_primitive else apply_rules(func, RULES, mod)
