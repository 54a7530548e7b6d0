"""Quantisation written out: real = (stored - zero point) * scale, per tensor, per axis or per block.

Quantised operators become their real-valued meaning between dequantising and quantising; a later pass may fuse them.
"""

from __future__ import annotations

from ...core.dtype import DataType
from ...relay.ir.expr import Expr
from .emit import call, dtype_of, like, rank_of, reshaped, shape_of
from .ops_convolution import conv
from .ops_elementwise import cast, converted
from .ops_products import matmul, matmul_integer
from .site import Site
from .table import onnx_op
from .tensors import dtype_of as dtype_of_number


def _spread(node: Site, part: Expr, x: Expr, axis: int, block: int) -> Expr:
    """A scale or zero point shaped to broadcast over `x`."""
    rank = rank_of(x)
    if rank_of(part) == 0 or shape_of(part) == (1,):
        return reshaped(part, ())
    axis = node.axis(axis, rank)
    if rank_of(part) == 1 and not block:
        return reshaped(part, (*shape_of(part), *(1,) * (rank - axis - 1)))
    if rank_of(part) != rank:
        raise node.refuse("the scale does not fit the operand", f"{shape_of(part)} for {shape_of(x)}", "equal ranks")
    extent = shape_of(x)[axis]
    repeats = block or -(-extent // shape_of(part)[axis])
    wide = call("repeat", part, repeats=repeats, axis=axis)
    if shape_of(wide)[axis] == extent:
        return wide
    end = tuple(extent if at == axis else size for at, size in enumerate(shape_of(wide)))
    return call("strided_slice", wide, begin=(0,) * rank, end=end, strides=(1,) * rank)


def quantized(
    node: Site, x: Expr, scale: Expr, zero: Expr | None, wanted: str, axis: int, block: int, saturate: int
) -> Expr:
    """x / scale, rounded to even, plus the zero point, within the range of `wanted`."""
    kind = DataType(wanted)
    wide = _spread(node, scale, x, axis, block)
    if dtype_of(x) != dtype_of(wide):
        x = cast(x, dtype_of(wide))
    ratio = call("divide", x, wide)
    if not kind.is_integer:
        shifted = (
            ratio if zero is None else call("add", ratio, cast(_spread(node, zero, x, axis, block), dtype_of(ratio)))
        )
        return converted(shifted, kind, saturate)
    rounded = call("round", ratio)
    if dtype_of(rounded) in ("float16", "bfloat16"):
        rounded = cast(rounded, "float32")
    if zero is not None:
        rounded = call("add", rounded, cast(_spread(node, zero, x, axis, block), dtype_of(rounded)))
    low, high = kind.limits()
    return cast(cast(call("clip", rounded, a_min=float(low), a_max=float(high)), "int32"), kind)


def dequantized(node: Site, x: Expr, scale: Expr, zero: Expr | None, axis: int, block: int) -> Expr:
    """(x - zero point) * scale, in the scale's type."""
    wanted = dtype_of(scale)
    exact = "int32" if dtype_of(x).is_integer else "float32"
    shifted = cast(x, exact)
    if zero is not None:
        shifted = call("subtract", shifted, cast(_spread(node, zero, x, axis, block), exact))
    factor = _spread(node, scale, x, axis, block)
    if dtype_of(x) == "int32" or wanted != "float32":
        return cast(call("multiply", cast(shifted, "float32"), cast(factor, "float32")), wanted)
    return call("multiply", cast(shifted, wanted), factor)


@onnx_op("QuantizeLinear", since=10)
def quantize_linear(
    node: Site,
    x: Expr,
    scale: Expr,
    zero: Expr | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
) -> Expr:
    wanted = dtype_of(zero) if zero is not None else dtype_of_number(output_dtype or 2, node.where)
    if precision:
        x, scale = (cast(item, dtype_of_number(precision, node.where)) for item in (x, scale))
    return quantized(node, x, scale, zero, wanted, axis, block_size, saturate)


@onnx_op("DequantizeLinear", since=10)
def dequantize_linear(
    node: Site,
    x: Expr,
    scale: Expr,
    zero: Expr | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Expr:
    made = dequantized(node, x, scale, zero, axis, block_size)
    return cast(made, dtype_of_number(output_dtype, node.where)) if output_dtype else made


@onnx_op("DynamicQuantizeLinear", since=11)
def dynamic_quantize_linear(node: Site, x: Expr) -> tuple[Expr, ...]:
    """uint8 over the range of the values, 0 always inside it; of zeros alone, the range is taken as 1.

    The standard's reference does so (its text would divide 0 by 0); onnxruntime answers a scale of 1 there.
    """
    axes, zero = tuple(range(rank_of(x))), like(0, x)
    low = call("minimum", call("min", x, axis=axes), zero)
    high = call("maximum", call("max", x, axis=axes), zero)
    extent = call("subtract", high, low)
    scale = call("divide", call("where", call("equal", extent, zero), like(1, x), extent), like(255, x))
    start = call("clip", call("divide", call("negative", low), scale), a_min=0.0, a_max=255.0)
    point = cast(call("round", start), "uint8")
    return quantized(node, x, scale, point, "uint8", 0, 0, 1), scale, point


@onnx_op("QLinearMatMul", since=10)
def qlinear_matmul(
    node: Site,
    a: Expr,
    a_scale: Expr,
    a_zero: Expr,
    b: Expr,
    b_scale: Expr,
    b_zero: Expr,
    y_scale: Expr,
    y_zero: Expr,
) -> Expr:
    """The integer product, scaled; scales of a by row, of b by column."""
    if all(dtype_of(item).is_integer for item in (a, b)):
        total = cast(matmul_integer(node, a, b, a_zero, b_zero), "float32")
    else:
        parts = [call("subtract", cast(x, "float32"), cast(z, "float32")) for x, z in ((a, a_zero), (b, b_zero))]
        total = matmul(node, *parts)
    rows = reshaped(a_scale, (*shape_of(a_scale), 1)) if rank_of(a_scale) == 1 and shape_of(a_scale)[0] > 1 else a_scale
    factor = call("multiply", cast(rows, "float32"), cast(b_scale, "float32"))
    real = call("multiply", total, factor)
    return quantized(node, real, cast(y_scale, "float32"), y_zero, dtype_of(y_zero), 1, 0, 1)


@onnx_op("QLinearConv", since=10)
def qlinear_conv(
    node: Site,
    x: Expr,
    x_scale: Expr,
    x_zero: Expr,
    w: Expr,
    w_scale: Expr,
    w_zero: Expr,
    y_scale: Expr,
    y_zero: Expr,
    bias: Expr | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: tuple[int, ...] | None = None,
    group: int = 1,
    kernel_shape: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Expr:
    """The convolution in int32, scaled; scales of the weights by output channel."""
    shifted = call("subtract", cast(x, "int32"), cast(reshaped(x_zero, ()), "int32"))
    weight = call("subtract", cast(w, "int32"), cast(_spread(node, w_zero, w, 0, 0), "int32"))
    total = conv(
        node,
        shifted,
        weight,
        bias,
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        pads=pads,
        strides=strides,
    )
    factor = call("multiply", w_scale, reshaped(x_scale, ()))
    real = call("multiply", cast(total, "float32"), _spread(node, factor, total, 1, 0))
    return quantized(node, real, reshaped(y_scale, ()), reshaped(y_zero, ()), dtype_of(y_zero), 1, 0, 1)
