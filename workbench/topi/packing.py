"""Weights in the blocked layouts that kernels read in order (`Operator.packed`).

    R.nn.conv2d(x, w)   ->   R.nn.conv2d(x, R.layout_transform(w, ...), channels=64, kernel_layout="OIHW16o")
    groups of 34        ->   filled up to 48 channels each; the 14 added ones are cut away from the result
    R.nn.conv1d(x, w)   ->   the same over data of height 1: expand_dims, nn.conv2d as above, squeeze
    R.nn.dense(x, w)    ->   R.nn.contrib_dense_pack(x, R.layout_transform(w, ...), weight_layout="NC16n", units=1000)
    R.nn.conv2d(x, w)   ->   by Winograd's tiles (`Operator.tiled`), where a model says that this takes less time

Activations stay as they are.  Each function answers the new calls, or a `Failure`: the first condition that does not
hold.
"""

from __future__ import annotations

from math import prod
from typing import Any

from ..core.rewrite import Failure
from ..relay.ir.expr import Call, Constant, Expr
from ..relay.ir.types import TensorType
from . import conv_times
from . import layout as layouts
from .calls import call
from .winograd import LARGEST, growth

OFTEN = 8
"""Positions of the data for which a weight that is no constant is worth packing in each run."""

TILES = (4, 2)
"""Outputs of a tile, each way, that are tried."""
GROWTH = 128.0
"""By how much roundings of an element may grow (`winograd.growth`): F(4, 3) may be, F(6, 3) may not."""
GAIN = 0.9
"""What must be left of the direct convolution's time."""

Conditions = list[tuple[bool, str, str]]
"""What must hold: the verdict, the condition, and what was found."""


def convolution(op: Any, lanes: int, data: Expr, weight: Expr) -> Expr | Failure:
    """nn.conv2d: the output channels of each group in blocks, filled up where they are no whole blocks."""
    kernel = layouts.parse(op.kernel_layout)
    block = layouts.parse(op.data_layout).factors.get("C")
    if kernel.factors == {"O": block, "I": block} and _type(weight).dtype.is_float:
        # In blocks of inputs as well (OIHW16i16o), which no kernel reads.
        apart = call("layout_transform", weight, src_layout=op.kernel_layout, dst_layout="OIHW")
        return convolution(op.replace(kernel_layout="OIHW"), lanes, data, apart)
    refusal = not_packable(op, lanes, data, weight)
    if refusal is not None:
        return refusal
    out, inner = (_shape(weight)[kernel.index_of(letter)] for letter in "OI")
    if layouts.parse(op.data_layout).factors:
        grouped = op.groups > 1 and (inner > 1 or op.groups != out)
        refusal = _first([(not grouped, "data in blocks are of one group, or of one for each channel",
                           f"{op.groups} groups")])  # fmt: skip
        return refusal or _blocked(op, lanes, data, weight)
    each = out // op.groups
    whole = op.groups == 1 or each % lanes == 0
    plain = op.data_layout == "NCHW" and op.kernel_layout == "OIHW"
    found = f"{op.groups} groups of {each}"
    refusal = _first([
        (whole or 2 * each >= lanes, f"there is one group, or each has at least {lanes // 2} output channels", found),
        (whole or inner > 1, f"there is one group, or each has several inputs, or blocks of {lanes} outputs", found),
        (whole or plain, f"groups that are no blocks of {lanes} lie as NCHW and OIHW", op.data_layout),
    ])  # fmt: skip
    if refusal is not None:
        return refusal
    return _blocked(op, lanes, data, weight) if whole else _filled(op, lanes, data, weight)


def not_packable(op: Any, lanes: int, data: Expr, weight: Expr) -> Failure | None:
    """Why a convolution's weight cannot lie in blocks, or need not: what all forms of them ask."""
    kernel = layouts.parse(op.kernel_layout)
    refusal = _first([
        (op.data_layout in ("NCHW", "NHWC", f"NCHW{lanes}c"), f"the data lie as NCHW, NHWC or NCHW{lanes}c",
         op.data_layout),
        (not kernel.factors, "the weight is not in blocks yet", op.kernel_layout),
        (op.out_layout in ("", op.data_layout), f"the result lies as {op.data_layout}", op.out_layout),
    ])  # fmt: skip
    return refusal or worth(lanes, data, weight, kernel.index_of("O"), op.data_layout.index("C"))


def by_tiles(op: Any, lanes: int, data: Expr, weight: Expr) -> Expr | Failure:
    """nn.conv2d by Winograd's minimal filtering, with the tile for which a model says the least time."""
    kernel = layouts.parse(op.kernel_layout)
    refusal = _first([
        (isinstance(weight, Constant), "the weight is a constant, transformed once", "a weight of each run"),
        (op.data_layout in ("NCHW", "NHWC") and not kernel.factors, "data lie as NCHW or NHWC, the weight in no blocks",
         f"{op.data_layout} and {op.kernel_layout}"),
        (op.out_layout in ("", op.data_layout), f"the result lies as {op.data_layout}", op.out_layout),
    ])  # fmt: skip
    refusal = refusal or worth(lanes, data, weight, kernel.index_of("O"), op.data_layout.index("C"))
    if refusal is not None:
        return refusal
    geometry = op.geometry(_shape(data), _shape(weight))
    (high, wide), inner = geometry.kernel, geometry.in_channels
    steps = f"strides {op.strides}, dilation {op.dilation}, {op.groups} groups"
    dtypes = {str(_type(one).dtype) for one in (data, weight)} | {op.out_dtype} - {""}
    possible = [m for m in TILES if high == wide > 1 and m + high - 1 <= LARGEST and growth(m, high) <= GROWTH]
    refusal = _first([
        ((*op.strides, *op.dilation, op.groups) == (1,) * 5, "strides, dilation and groups are 1", steps),
        (dtypes == {"float32"}, "the numbers are float32", " and ".join(sorted(dtypes))),
        (inner % lanes == 0, f"the input channels are whole vectors of {lanes}", str(inner)),
        (bool(possible), f"roundings grow by tiles to at most {GROWTH:g} times", f"{high} x {wide} taps"),
    ])  # fmt: skip
    if refusal is not None:
        return refusal
    usual = conv_times.direct(op, geometry, lanes, fits=True)
    least, tile = min((conv_times.tiled(op, geometry, lanes, m), m) for m in possible)
    refusal = _first([
        (least < GAIN * usual, f"tiles take less than {GAIN:.0%} of the direct convolution's time, by a model",
         f"{least / usual:.0%} for {tile} x {tile} outputs"),
    ])  # fmt: skip
    return refusal or _tiled(op, lanes, data, weight, tile)


def _tiled(op: Any, lanes: int, data: Expr, weight: Expr, tile: int) -> Expr:
    if op.kernel_layout != "OIHW":
        weight = call("layout_transform", weight, src_layout=op.kernel_layout, dst_layout="OIHW")
    channels, layout = _shape(weight)[0], f"HWOI{lanes}o"
    own = call("nn.contrib_conv2d_winograd_weight_transform", weight, tile_size=tile)
    blocks = call("layout_transform", own, src_layout="HWOI", dst_layout=layout)
    return call(
        "nn.contrib_conv2d_winograd_without_weight_transform", data, blocks, tile_size=tile, padding=op.padding,
        channels=channels, kernel_size=op.kernel_size, data_layout=op.data_layout, kernel_layout=layout,
    )  # fmt: skip


def sequence(op: Any, lanes: int, data: Expr, weight: Expr) -> Expr | Failure:
    """nn.conv1d: a convolution of pictures of height 1, for which there are fast kernels."""
    refusal = worth(lanes, data, weight, 0)
    if refusal is not None:
        return refusal
    each = _shape(weight)[0] // op.groups
    whole = op.groups == 1 or each % lanes == 0
    wanted = f"there is one group of channels, or each has a multiple of {lanes} output channels"
    refusal = _first([(whole, wanted, f"{op.groups} groups of {each}")])
    if refusal is not None:
        return refusal
    wide, taps = (call("expand_dims", operand, axis=2) for operand in (data, weight))
    return call("squeeze", _blocked(op.wide(), lanes, wide, taps), axis=(2,))


def tiles(op: Any, lanes: int, data: Expr, weight: Expr) -> Expr | Failure:
    """nn.conv2d_transpose whose windows lie side by side: each point makes a tile of its own, by a 1x1 convolution."""
    refusal = worth(lanes, data, weight, None)
    if refusal is not None:
        return refusal
    inner, out, high, wide = _shape(weight)
    cuts = any((*op.padding, *op.output_padding))
    refusal = _first([
        (op.data_layout == "NCHW" and op.kernel_layout == "IOHW" and op.out_layout in ("", "NCHW"),
         "data and weight lie as NCHW and IOHW", f"{op.data_layout} and {op.kernel_layout}"),
        (op.groups == 1, "there is one group of channels", f"{op.groups} groups"),
        (not cuts, "nothing is cut from the result", f"padding {op.padding}, output_padding {op.output_padding}"),
        (op.dilation == (1, 1), "the taps are next to each other", f"dilation {op.dilation}"),
        (op.strides == (high, wide), "the strides are the kernel's extents", f"{op.strides} and {(high, wide)}"),
    ])  # fmt: skip
    if refusal is not None:
        return refusal
    batch, _, height, width = _shape(data)
    taps = call("transpose", weight, axes=(1, 2, 3, 0))
    taps = call("reshape", taps, newshape=(out * high * wide, inner, 1, 1))
    blocks, layout = _in_blocks(taps, lanes)
    points = call("nn.conv2d", data, blocks, kernel_layout=layout, channels=out * high * wide, out_dtype=op.out_dtype)
    apart = call("reshape", points, newshape=(batch, out, high, wide, height, width))
    turned = call("transpose", apart, axes=(0, 1, 4, 2, 5, 3))
    return call("reshape", turned, newshape=(batch, out, height * high, width * wide))


def dense(op: Any, lanes: int, data: Expr, weight: Expr) -> Expr | Failure:
    """nn.dense: the rows of the weight in blocks; a transposed one that is read too rarely for that, as it was."""
    refusal = worth(lanes, data, weight, 0, -1)
    if refusal is not None:
        straight = _straight(weight)
        return refusal if straight is None else call("nn.matmul", data, straight, out_dtype=op.out_dtype)
    layout = f"NC{lanes}n"
    blocks = call("layout_transform", weight, src_layout="NC", dst_layout=layout)
    units = _shape(weight)[0]
    return call("nn.contrib_dense_pack", data, blocks, weight_layout=layout, units=units, out_dtype=op.out_dtype)


def _straight(weight: Expr) -> Expr | None:
    """What a weight is the transposed of, if that is made in each run: columns lie side by side there already."""
    if not isinstance(weight, Call) or getattr(weight.op, "name", "") != "transpose":
        return None
    turn: Any = weight.op
    made = not isinstance(weight.args[0], Constant) and _type(weight).is_static
    return weight.args[0] if made and turn.order(2) == (1, 0) else None


def _in_blocks(weight: Expr, lanes: int, source: str = "OIHW") -> tuple[Expr, str]:
    """A weight with its output channels in blocks, and that layout."""
    layout = f"OIHW{lanes}o"
    return call("layout_transform", weight, src_layout=source, dst_layout=layout), layout


def _blocked(op: Any, lanes: int, data: Expr, weight: Expr) -> Expr:
    """A two-dimensional convolution over a weight whose output channels are blocked."""
    channels = _shape(weight)[layouts.parse(op.kernel_layout).index_of("O")]
    blocks, layout = _in_blocks(weight, lanes, op.kernel_layout)
    return Call(op.replace(kernel_layout=layout, channels=channels), (data, blocks))


def _filled(op: Any, lanes: int, data: Expr, weight: Expr) -> Expr:
    """The output channels of each group filled up to whole blocks; those added are cut away afterwards."""
    (out, inner, *kernel), groups = _shape(weight), op.groups
    each = out // groups
    full = -(-each // lanes) * lanes
    taps = call("reshape", weight, newshape=(groups, each, inner, *kernel))
    taps = call("nn.pad", taps, pad_width=((0, 0), (0, full - each), (0, 0), (0, 0), (0, 0)))
    taps = call("reshape", taps, newshape=(groups * full, inner, *kernel))
    filled = _blocked(op, lanes, data, taps)
    batch, _, height, width = _shape(filled)
    apart = call("reshape", filled, newshape=(batch, groups, full, height, width))
    cut = call("strided_slice", apart, begin=(0,), end=(each,), axes=(2,))
    return call("reshape", cut, newshape=(batch, out, height, width))


def worth(lanes: int, data: Expr, weight: Expr, outputs: int | None, channel: int = 1) -> Failure | None:
    """What every packed form asks for: known shapes, enough channels along axis `outputs` of the weight, and a weight
    that is a constant, packed when the model is built, or read often enough in a run to be packed in each.

    `channel`: the axis of the data that is summed over.
    """
    kind, own = data.checked_type, weight.checked_type
    static = all(isinstance(one, TensorType) and one.is_static for one in (kind, own))
    if not static:
        return Failure("the shapes of data and weight are known", f"{kind!r} and {own!r}")
    channels = lanes if outputs is None else _shape(weight)[outputs]
    positions = prod(_shape(data)) // max(1, _shape(data)[channel])
    often = isinstance(weight, Constant) or positions >= OFTEN
    return _first([
        (2 * channels >= lanes, f"there are at least {lanes // 2} output channels", str(channels)),
        (often, f"the weight is a constant, or the data have at least {OFTEN} positions", f"{positions} positions"),
    ])  # fmt: skip


def _first(conditions: Conditions) -> Failure | None:
    """The first condition that does not hold."""
    return next((Failure(text, found) for holds, text, found in conditions if not holds), None)


def _shape(expr: Expr) -> tuple[int, ...]:
    return _type(expr).concrete_shape


def _type(expr: Expr) -> TensorType:
    kind = expr.checked_type
    assert isinstance(kind, TensorType)
    return kind
