"""Operators about shapes: reshaping, joining, splitting, padding; and those that make tensors from shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...core.dtype import DataType
from ...core.limits import limits
from ...core.tensor import Tensor
from ...relay.ir.expr import Constant, Expr
from .emit import call, constant, dtype_of, pack, rank_of, reshaped, scalar, shape_of, type_of, unpack
from .site import Site
from .table import onnx_op
from .tensors import dtype_of as dtype_of_number


@onnx_op("Constant")
def constant_(
    node: Site,
    *,
    value: Tensor | None = None,
    value_float: float | None = None,
    value_floats: tuple[float, ...] | None = None,
    value_int: int | None = None,
    value_ints: tuple[int, ...] | None = None,
) -> Expr:
    if value is not None:
        return Constant(value)
    for number, dtype in (
        (value_float, "float32"),
        (value_floats, "float32"),
        (value_int, "int64"),
        (value_ints, "int64"),
    ):
        if number is not None:
            return constant(np.asarray(number, dtype))
    raise node.refuse("a constant without a value", "no value attribute", "value, value_float(s) or value_int(s)")


def checked_shape(node: Site, shape: Sequence[int], dtype: str, what: str) -> tuple[int, ...]:
    """A shape computed from values: not negative, its bytes within the limit, before anything is made of it."""
    if any(extent < 0 for extent in shape):
        raise node.refuse(f"{what} has a negative dimension", str(tuple(shape)), "dimensions of at least 0")
    if len(shape) > limits.rank:
        raise node.refuse(f"{what} has too many dimensions", str(len(shape)), f"at most {limits.rank} (wb.limits.rank)")
    # An extent counts by itself too: another one may be 0, and the tensor empty.
    most = max(math.prod(shape), *shape, 0)
    limits.check("tensor_bytes", most * DataType(dtype).bytes, f"{node.record.label}: {what}", node.where)
    return tuple(shape)


@onnx_op("ConstantOfShape", since=9)
def constant_of_shape(node: Site, shape: Expr, *, value: Tensor | None = None) -> Expr:
    """Stays lazy: many models make their weights so."""
    if value is not None and value.size > 1:
        raise node.refuse("the value is one number", f"{value.size} numbers", "a tensor of one element")
    filled = value.numpy().reshape(-1)[0] if value is not None and value.size else np.float32(0)
    dtype = str(value.dtype) if value is not None else "float32"
    extents = checked_shape(node, node.ints(shape, "the shape") if shape_of(shape) != (0,) else (), dtype, "the result")
    return Constant(Tensor.full(extents, filled, dtype))


@onnx_op("Shape")
def shape(node: Site, x: Expr, *, start: int = 0, end: int | None = None) -> Expr:
    return constant(np.asarray(shape_of(x)[slice(start, end)], np.int64))


@onnx_op("Size")
def size(node: Site, x: Expr) -> Expr:
    return scalar(type_of(x).size, "int64")


@onnx_op("Reshape", since=5)
def reshape(node: Site, x: Expr, shape: Expr, *, allowzero: int = 0) -> Expr:
    old = shape_of(x)
    wanted = list(node.ints(shape, "the new shape")) if shape_of(shape) != (0,) else []
    if allowzero and 0 in wanted and -1 in wanted:
        raise node.refuse(
            "with allowzero, a 0 and a -1 exclude each other", str(wanted), "an empty axis, or one that is worked out"
        )
    for axis, extent in enumerate(wanted):
        if extent == 0 and not allowzero:
            if axis >= len(old):
                raise node.refuse(
                    "a 0 copies a dimension that is not there", str(wanted), f"at most {len(old)} dimensions"
                )
            wanted[axis] = old[axis]
    return reshaped(x, _with_inferred(node, old, wanted))


def _with_inferred(node: Site, old: tuple[int, ...], wanted: list[int]) -> tuple[int, ...]:
    """`wanted` with a -1 filled in; the number of elements has to stay."""
    if any(extent < -1 for extent in wanted) or wanted.count(-1) > 1:
        raise node.refuse("the new shape is not one", str(wanted), "dimensions of at least 0 and at most one -1")
    total, known = math.prod(old), math.prod(extent for extent in wanted if extent != -1)
    fits = total == known if -1 not in wanted else known > 0 and total % known == 0
    if not fits and not (-1 in wanted and total == known == 0):
        raise node.refuse("the new shape has another number of elements", f"{old} to {wanted}", f"{total} elements")
    return tuple((total // known if known else 0) if extent == -1 else extent for extent in wanted)


@onnx_op("Flatten")
def flatten(node: Site, x: Expr, *, axis: int = 1) -> Expr:
    old = shape_of(x)
    if not -len(old) <= axis <= len(old):
        raise node.refuse(f"axis {axis} is outside of the tensor", str(axis), f"{-len(old)} to {len(old)}")
    split = axis % len(old) if axis < 0 else axis
    return reshaped(x, (math.prod(old[:split]), math.prod(old[split:])))


@onnx_op("Transpose")
def transpose(node: Site, x: Expr, *, perm: tuple[int, ...] | None = None) -> Expr:
    rank = rank_of(x)
    order = tuple(range(rank))[::-1] if perm is None else node.axes(perm, rank)
    if len(order) != rank:
        raise node.refuse("perm does not name every axis", str(order), f"{rank} axes")
    return call("transpose", x, axes=order)


def _squeezed(node: Site, x: Expr, axes: Sequence[int] | None) -> Expr:
    old = shape_of(x)
    gone = node.axes(axes, len(old)) if axes is not None else [axis for axis, extent in enumerate(old) if extent == 1]
    wrong = [axis for axis in gone if old[axis] != 1]
    if wrong:
        raise node.refuse(f"axis {wrong[0]} cannot be squeezed", f"extent {old[wrong[0]]}", "extent 1")
    return call("squeeze", x, axis=tuple(gone)) if gone else x


@onnx_op("Squeeze", since=1, until=12)
def squeeze_by_attribute(node: Site, x: Expr, *, axes: tuple[int, ...] | None = None) -> Expr:
    return _squeezed(node, x, axes)


@onnx_op("Squeeze", since=13)
def squeeze(node: Site, x: Expr, axes: Expr | None = None) -> Expr:
    return _squeezed(node, x, None if axes is None else node.ints(axes, "axes"))


def _unsqueezed(node: Site, x: Expr, axes: Sequence[int]) -> Expr:
    old = list(shape_of(x))
    for axis in sorted(node.axes(axes, len(old) + len(axes))):
        old.insert(axis, 1)
    return reshaped(x, tuple(old))


@onnx_op("Unsqueeze", since=1, until=12)
def unsqueeze_by_attribute(node: Site, x: Expr, *, axes: tuple[int, ...]) -> Expr:
    return _unsqueezed(node, x, axes)


@onnx_op("Unsqueeze", since=13)
def unsqueeze(node: Site, x: Expr, axes: Expr) -> Expr:
    return _unsqueezed(node, x, node.ints(axes, "axes"))


@onnx_op("Expand", since=8)
def expand(node: Site, x: Expr, shape: Expr) -> Expr:
    old, wanted = shape_of(x), node.ints(shape, "the shape") if shape_of(shape) != (0,) else ()
    if any(extent < 0 for extent in wanted):
        raise node.refuse("the shape has a negative dimension", str(wanted), "dimensions of at least 0")
    rank = max(len(old), len(wanted))
    pairs = zip((1,) * (rank - len(old)) + old, (1,) * (rank - len(wanted)) + wanted, strict=True)
    full: list[int] = []
    for mine, other in pairs:
        if mine != other and 1 not in (mine, other):
            raise node.refuse("the shapes do not broadcast", f"{old} and {wanted}", "equal dimensions, or 1")
        full.append(other if mine == 1 else mine)
    checked_shape(node, full, dtype_of(x), "the result")
    if isinstance(x, Constant) and x.data.size == 1:
        return Constant(Tensor.full(tuple(full), x.data.numpy().reshape(-1)[0], x.data.dtype))
    return x if tuple(full) == old else call("broadcast_to", x, shape=tuple(full))


@onnx_op("Concat", since=4)
def concat(node: Site, *parts: Expr, axis: int) -> Expr:
    axis = node.axis(axis, rank_of(parts[0]))
    return parts[0] if len(parts) == 1 else call("concatenate", pack(parts), axis=axis)


def _split(node: Site, x: Expr, axis: int, sizes: Sequence[int] | None, count: int | None) -> tuple[Expr, ...]:
    axis = node.axis(axis, rank_of(x))
    extent = shape_of(x)[axis]
    if sizes is None:
        parts = node.output_count if count is None else count
        if parts != node.output_count:
            raise node.refuse("num_outputs is not the number of outputs", str(parts), str(node.output_count))
        chunk = -(-extent // parts)
        sizes = [max(0, min(chunk, extent - chunk * index)) for index in range(parts)]
    if sum(sizes) != extent or any(item < 0 for item in sizes):
        raise node.refuse("the parts do not add up", f"{list(sizes)} of {extent}", f"a sum of {extent}")
    if len(sizes) == 1:
        return (x,)
    borders = tuple(int(item) for item in np.cumsum(sizes)[:-1])
    return unpack(call("split", x, indices_or_sections=borders, axis=axis))


@onnx_op("Split", since=2, until=12)
def split_by_attribute(node: Site, x: Expr, *, axis: int = 0, split: tuple[int, ...] | None = None) -> tuple[Expr, ...]:
    return _split(node, x, axis, split, None)


@onnx_op("Split", since=13)
def split(
    node: Site, x: Expr, split: Expr | None = None, *, axis: int = 0, num_outputs: int | None = None
) -> tuple[Expr, ...]:
    return _split(node, x, axis, None if split is None else node.ints(split, "the sizes"), num_outputs)


def _padded(node: Site, x: Expr, mode: str, pads: Sequence[int], value: Expr | None, axes: Sequence[int]) -> Expr:
    rank = rank_of(x)
    if len(pads) != 2 * len(axes):
        raise node.refuse(
            "the wrong number of pads", str(len(pads)), f"{2 * len(axes)}: one before and after each axis"
        )
    widths = [(0, 0)] * rank
    for position, axis in enumerate(axes):
        widths[axis] = (pads[position], pads[position + len(axes)])
    old = shape_of(x)
    grown = [extent + before + after for extent, (before, after) in zip(old, widths, strict=True)]
    checked_shape(node, grown, dtype_of(x), "the padded tensor")
    if any(-pad > extent for extent, width in zip(old, widths, strict=True) for pad in width):
        raise node.refuse("more is cut away than there is", str(widths), f"at most the extents {old}")
    if any(item < 0 for width in widths for item in width):
        begin = tuple(max(0, -before) for before, _ in widths)
        end = tuple(extent - max(0, -after) for extent, (_, after) in zip(old, widths, strict=True))
        x = call("strided_slice", x, begin=begin, end=end, strides=(1,) * rank)
        widths = [(max(0, before), max(0, after)) for before, after in widths]
    if not any(item for width in widths for item in width):
        return x
    return _pad_by_mode(node, x, mode, tuple(widths), value)


def _pad_by_mode(node: Site, x: Expr, mode: str, widths: tuple[tuple[int, int], ...], value: Expr | None) -> Expr:
    if mode == "constant":
        known = np.zeros(1) if value is None else node.known(value)
        if known is not None and not known.any():
            return call("nn.pad", x, pad_width=widths)
        assert value is not None
        fill = reshaped(value, ()) if known is None else scalar(known.reshape(-1)[0], dtype_of(x))
        return call("nn.pad", x, fill, pad_width=widths)
    if mode not in ("reflect", "edge", "wrap"):
        raise node.refuse("unknown padding mode", mode, "constant, reflect, edge or wrap")
    pairs = list(zip(widths, shape_of(x), strict=True))
    if mode == "wrap" or any(any(width) and max(width) >= extent for width, extent in pairs):
        return _gathered_pad(node, x, mode, widths)
    return call("nn.pad", x, pad_width=widths, pad_mode=mode)


def _gathered_pad(node: Site, x: Expr, mode: str, widths: tuple[tuple[int, int], ...]) -> Expr:
    """Padding by taking elements along each axis, for modes that `nn.pad` has not."""
    for axis, (before, after) in enumerate(widths):
        extent = shape_of(x)[axis]
        if before or after:
            if extent == 0:
                raise node.refuse(f"axis {axis} is empty and cannot be padded by {mode}", "extent 0", "at least 1")
            picked = np.pad(np.arange(extent), (before, after), mode=mode)  # type: ignore[call-overload]
            x = call("take", x, constant(picked.astype(np.int64)), axis=axis)
    return x


@onnx_op("Pad", since=2, until=10)
def pad_by_attributes(
    node: Site, x: Expr, *, pads: tuple[int, ...], mode: str = "constant", value: float = 0.0
) -> Expr:
    return _padded(node, x, mode, pads, scalar(value, dtype_of(x)), range(rank_of(x)))


@onnx_op("Pad", since=11)
def pad(
    node: Site, x: Expr, pads: Expr, value: Expr | None = None, axes: Expr | None = None, *, mode: str = "constant"
) -> Expr:
    rank = rank_of(x)
    chosen = range(rank) if axes is None else node.axes(node.ints(axes, "axes"), rank)
    return _padded(node, x, mode, node.ints(pads, "pads"), value, chosen)


@onnx_op("Tile", since=6)
def tile(node: Site, x: Expr, repeats: Expr) -> Expr:
    times, old = node.ints(repeats, "repeats"), shape_of(x)
    if len(times) != len(old):
        raise node.refuse("one repeat for each axis is needed", str(len(times)), str(len(old)))
    grown = [extent * count for extent, count in zip(old, times, strict=True)]
    checked_shape(node, grown, dtype_of(x), "the result")
    return call("tile", x, reps=times)


@onnx_op("Range", since=11)
def range_(node: Site, start: Expr, limit: Expr, delta: Expr) -> Expr:
    first, last, step = (node.constant(item, "the range").reshape(-1)[0].item() for item in (start, limit, delta))
    if step == 0 or not all(math.isfinite(item) for item in (first, last, step)):
        raise node.refuse("a range without end", f"{first} to {last} by {step}", "a finite step other than 0")
    count = max(0, math.ceil((last - first) / step)) if isinstance(step, float) else max(0, -((first - last) // step))
    checked_shape(node, (count,), dtype_of(start), "the range")
    dtype = dtype_of(start).to_numpy()
    return constant((np.arange(count) * step + first).astype(dtype))


@onnx_op("EyeLike", since=9)
def eye_like(node: Site, x: Expr, *, dtype: int | None = None, k: int = 0) -> Expr:
    rows, columns = shape_of(x)
    kind = dtype_of(x) if dtype is None else dtype_of_number(dtype, node.where)
    checked_shape(node, (rows, columns), kind, "the result")
    return constant(np.eye(rows, columns, k, kind.to_numpy()))


@onnx_op("Dropout", since=1, until=11)
def dropout_by_attribute(node: Site, x: Expr, *, ratio: float = 0.5) -> tuple[Expr, Expr]:
    return x, Constant(Tensor.full(shape_of(x), True, "bool" if node.opset >= 10 else dtype_of(x)))


@onnx_op("Dropout", since=12)
def dropout(
    node: Site, x: Expr, ratio: Expr | None = None, training_mode: Expr | None = None, *, seed: int = 0
) -> tuple[Expr, Expr]:
    """Inference: the input as it is, and a mask of ones.  Training mode is refused: its result is random."""
    training = training_mode is not None and bool(node.constant(training_mode, "the mode").reshape(-1)[0])
    if training and (ratio is None or float(node.constant(ratio, "the ratio").reshape(-1)[0]) != 0.0):
        raise node.refuse("Dropout in training mode is random", "training_mode = true", "inference mode")
    return x, Constant(Tensor.full(shape_of(x), True, "bool"))


@onnx_op("DepthToSpace")
def depth_to_space(node: Site, x: Expr, *, blocksize: int, mode: str = "DCR") -> Expr:
    batch, channels, height, width = shape_of(x)
    block = blocksize
    if block < 1 or channels % (block * block):
        raise node.refuse("channels do not divide into blocks", f"{channels} by {block}x{block}", "a multiple")
    depth = channels // (block * block)
    if mode == "DCR":
        inner, order = (batch, block, block, depth, height, width), (0, 3, 4, 1, 5, 2)
    else:
        inner, order = (batch, depth, block, block, height, width), (0, 1, 4, 2, 5, 3)
    spread = call("transpose", reshaped(x, inner), axes=order)
    return reshaped(spread, (batch, depth, height * block, width * block))


@onnx_op("SpaceToDepth")
def space_to_depth(node: Site, x: Expr, *, blocksize: int, mode: str = "DCR") -> Expr:
    batch, channels, height, width = shape_of(x)
    block = blocksize
    if block < 1 or height % block or width % block:
        raise node.refuse("the picture does not divide into blocks", f"{height}x{width} by {block}", "a multiple")
    inner = (batch, channels, height // block, block, width // block, block)
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    gathered = call("transpose", reshaped(x, inner), axes=order)
    return reshaped(gathered, (batch, channels * block * block, height // block, width // block))


@onnx_op("Trilu", since=14)
def trilu(node: Site, x: Expr, k: Expr | None = None, *, upper: int = 1) -> Expr:
    rows, columns = shape_of(x)[-2:]
    offset = node.integer(k, "k") if k is not None else 0
    offset = max(-rows - columns, min(rows + columns, offset))
    checked_shape(node, (rows, columns), "bool", "the mask")
    row, column = np.arange(rows)[:, None] + offset, np.arange(columns)
    kept = constant(column >= row if upper else column <= row)
    return call("where", kept, x, scalar(0, dtype_of(x)))
