"""Images read at computed places, and images put together from columns."""

from __future__ import annotations

import numpy as np

from ...relay.ir.expr import Expr
from .emit import call, constant, dtype_of, like, pack, rank_of, reshaped, shape_of
from .ops_convolution import add_bias, per_axis
from .ops_elementwise import cast
from .ops_shaping import checked_shape
from .site import Site
from .table import onnx_op

_METHODS = {"linear": "bilinear", "bilinear": "bilinear", "nearest": "nearest", "cubic": "bicubic",
            "bicubic": "bicubic"}  # fmt: skip


@onnx_op("GridSample", since=16)
def grid_sample(
    node: Site, x: Expr, grid: Expr, *, mode: str = "linear", padding_mode: str = "zeros", align_corners: int = 0
) -> Expr:
    if mode not in _METHODS or padding_mode not in ("zeros", "border", "reflection"):
        raise node.refuse("unknown mode", f"{mode}, {padding_mode}", "linear, nearest, cubic; zeros, border...")
    if rank_of(x) not in (4, 5) or rank_of(grid) != rank_of(x):
        raise node.refuse("operand and grid must have 2 or 3 spatial axes", f"{shape_of(x)} and {shape_of(grid)}")
    rank = rank_of(x)
    places = call("transpose", grid, axes=(0, rank - 1, *range(1, rank - 1)))
    return call(
        "image.grid_sample", x, places, method=_METHODS[mode], padding_mode=padding_mode,
        align_corners=bool(align_corners), layout="NCHW" if rank == 4 else "NCDHW",
    )  # fmt: skip


@onnx_op("AffineGrid", since=20)
def affine_grid(node: Site, theta: Expr, size: Expr, *, align_corners: int = 0) -> Expr:
    """For each place of an image, theta times (x, y, 1) or (x, y, z, 1): coordinates for GridSample.

    The body that the standard gives takes the first axis away where a batch of images in two dimensions is one.
    """
    sizes = node.ints(size, "size")
    batch, extents, rank = sizes[0] if sizes else 0, sizes[2:], len(sizes) - 2
    if rank not in (2, 3) or shape_of(theta) != (batch, rank, rank + 1):
        raise node.refuse(
            "theta and size do not fit", f"theta of {shape_of(theta)}, size {sizes}",
            "theta (n, 2, 3) and size (n, c, h, w), or theta (n, 3, 4) and size (n, c, d, h, w)",
        )  # fmt: skip
    kind = dtype_of(theta)
    checked_shape(node, (batch, *extents, rank), kind, "the result")
    columns = [
        reshaped(call("take", theta, constant(np.int64(column)), axis=2), (batch, *(1,) * rank, rank))
        for column in range(rank + 1)
    ]
    found = columns[-1]
    for axis, extent in enumerate(extents):
        step = 2.0 / max(extent - 1 if align_corners else extent, 1)
        places = np.arange(extent) * step + (-1.0 if align_corners else step / 2 - 1.0)
        across = constant(places.reshape([-1 if at == axis + 1 else 1 for at in range(rank + 2)]), kind)
        found = call("add", found, call("multiply", columns[rank - 1 - axis], across))
    return found


@onnx_op("RoiAlign", since=10)
def roi_align(
    node: Site, x: Expr, rois: Expr, batches: Expr, *, mode: str = "avg", output_height: int = 1,
    output_width: int = 1, sampling_ratio: int = 0, spatial_scale: float = 1.0,
    coordinate_transformation_mode: str = "",
) -> Expr:  # fmt: skip
    if sampling_ratio < 1:
        raise node.refuse(
            "the number of samples depends on the regions", "sampling_ratio 0", "a sampling_ratio of at least 1"
        )
    stated = coordinate_transformation_mode or ("half_pixel" if node.opset >= 16 else "output_half_pixel")
    wide = reshaped(cast(batches, dtype_of(rois)), (shape_of(rois)[0], 1))
    regions = call("concatenate", pack([wide, rois]), axis=1)
    return call(
        "vision.roi_align", x, regions, pooled_size=(output_height, output_width), spatial_scale=spatial_scale,
        sample_ratio=sampling_ratio, mode=mode, aligned=stated == "half_pixel",
    )  # fmt: skip


@onnx_op("DeformConv", since=19)
def deform_conv(
    node: Site, x: Expr, weight: Expr, offset: Expr, bias: Expr | None = None, mask: Expr | None = None, *,
    dilations: tuple[int, ...] | None = None, group: int = 1, kernel_shape: tuple[int, ...] | None = None,
    offset_group: int = 1, pads: tuple[int, ...] | None = None, strides: tuple[int, ...] | None = None,
) -> Expr:  # fmt: skip
    if rank_of(x) != 4:
        raise node.refuse("only two spatial dimensions are supported", f"shape {shape_of(x)}", "(n, c, h, w)")
    if min(group, offset_group) < 1:
        raise node.refuse("there are no such groups", f"group={group}, offset_group={offset_group}", "at least 1")
    operands = (x, offset, weight) if mask is None else (x, offset, weight, mask)
    found = call(
        "nn.deformable_conv2d", *operands, strides=per_axis(node, strides, 1, 2, "strides"),
        padding=per_axis(node, pads, 0, 4, "pads", least=0), dilation=per_axis(node, dilations, 1, 2, "dilations"),
        deformable_groups=offset_group, groups=group,
    )  # fmt: skip
    return add_bias(found, bias)


@onnx_op("Col2Im", since=18)
def col2im(
    node: Site, x: Expr, image_shape: Expr, block_shape: Expr, *, dilations: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None, strides: tuple[int, ...] | None = None,
) -> Expr:  # fmt: skip
    """Each pixel is the sum of the block elements that lie on it; which those are is known at import."""
    image, block = node.ints(image_shape, "image_shape"), node.ints(block_shape, "block_shape")
    rank = len(image)
    steps, gaps = per_axis(node, strides, 1, rank, "strides"), per_axis(node, dilations, 1, rank, "dilations")
    around = per_axis(node, pads, 0, 2 * rank, "pads", least=0)
    taps = int(np.prod(block))
    batch, rows, columns = shape_of(x)
    counts = [
        (extent + around[at] + around[rank + at] - (block[at] - 1) * gaps[at] - 1) // steps[at] + 1
        for at, extent in enumerate(image)
    ]
    if rows % taps or columns != int(np.prod(counts)):
        raise node.refuse("the columns do not fit the image", f"{rows} x {columns}", f"channels*{taps} x {counts}")
    where = np.full((taps, int(np.prod(image))), columns, np.int64)  # one column of zeros stands for "none"
    for tap, offsets in enumerate(np.ndindex(*block)):
        for place, window in enumerate(np.ndindex(*counts)):
            pixel = [w * s + o * d - p for w, s, o, d, p in
                     zip(window, steps, offsets, gaps, around[:rank], strict=True)]  # fmt: skip
            if all(0 <= at < extent for at, extent in zip(pixel, image, strict=True)):
                where[tap, np.ravel_multi_index(pixel, image)] = tap * (columns + 1) + place
            # Otherwise the element lies in the padding.
    where = np.where(where == columns, columns + np.arange(taps)[:, None] * (columns + 1), where)
    channels = rows // taps
    filled = call("nn.pad", x, pad_width=((0, 0), (0, 0), (0, 1)))
    flat = reshaped(filled, (batch, channels, taps * (columns + 1)))
    parts = call("take", flat, constant(where), axis=2)
    return reshaped(call("sum", parts, axis=(2,), keepdims=False), (batch, channels, *image))


@onnx_op("MaxUnpool", since=9)
def max_unpool(
    node: Site, x: Expr, indices: Expr, output_shape: Expr | None = None, *, kernel_shape: tuple[int, ...],
    pads: tuple[int, ...] | None = None, strides: tuple[int, ...] | None = None,
) -> Expr:  # fmt: skip
    """Values written at their places in the pooled tensor's own shape; a larger output shape adds zeros at the end."""
    rank = rank_of(x) - 2
    steps = per_axis(node, strides, 1, rank, "strides")
    around = per_axis(node, pads, 0, 2 * rank, "pads", least=0)
    inner = tuple(
        (extent - 1) * steps[at] - around[at] - around[rank + at] + kernel_shape[at]
        for at, extent in enumerate(shape_of(x)[2:])
    )
    full = (*shape_of(x)[:2], *inner)
    zeros = call("zeros", shape=(int(np.prod(full)),), dtype=dtype_of(x))
    written = call("scatter_elements", zeros, reshaped(indices, (-1,)), reshaped(x, (-1,)), axis=0)
    made = reshaped(written, full)
    if output_shape is None:
        return made
    wanted = node.ints(output_shape, "output_shape")
    if len(wanted) != len(full) or any(new < old for new, old in zip(wanted, full, strict=True)):
        raise node.refuse("output_shape is smaller than the values need", str(wanted), f"at least {full}")
    return call("nn.pad", made, pad_width=tuple((0, new - old) for new, old in zip(wanted, full, strict=True)))


@onnx_op("TensorScatter", since=24)
def tensor_scatter(
    node: Site, cache: Expr, update: Expr, write_indices: Expr | None = None, *, mode: str = "linear", axis: int = -2
) -> Expr:
    """Row j of the result is row j - start of the update, where there is one, else the cache's own."""
    place = node.axis(axis, rank_of(cache))
    shape, rows = shape_of(cache), shape_of(update)[place]
    line = [1] * len(shape)
    line[place] = shape[place]
    here = constant(np.arange(shape[place]).reshape(line))
    start = constant(np.zeros(shape[0], np.int64)) if write_indices is None else cast(write_indices, "int64")
    since = call("subtract", here, reshaped(start, (shape[0], *(1,) * (len(shape) - 1))))
    if mode == "circular":
        since = call("floor_mod", since, like(shape[place], since))
    inside = call("logical_and", call("greater_equal", since, like(0, since)), call("less", since, like(rows, since)))
    held = call("clip", since, a_min=0, a_max=rows - 1)
    read = call("gather", update, call("broadcast_to", held, shape=shape), axis=place)
    return call("where", call("broadcast_to", inside, shape=shape), read, cache)


@onnx_op("Det", since=11)
def determinant(node: Site, x: Expr) -> Expr:
    """By expansion along the first row."""
    size = shape_of(x)[-1] if rank_of(x) >= 2 else 0
    if rank_of(x) < 2 or shape_of(x)[-2] != size or not 1 <= size <= 5:
        raise node.refuse("the matrices must be square, of at most 5 rows", str(shape_of(x)), "(..., n, n), n <= 5")
    rank = rank_of(x)

    def entry(row: int, column: int) -> Expr:
        line = call("take", x, constant(row, "int64"), axis=rank - 2)
        return call("take", line, constant(column, "int64"), axis=rank - 2)

    known: dict[tuple[int, tuple[int, ...]], Expr] = {}

    def minor(row: int, columns: tuple[int, ...]) -> Expr:
        if (row, columns) not in known:
            known[row, columns] = _expanded(row, columns)
        return known[row, columns]

    def _expanded(row: int, columns: tuple[int, ...]) -> Expr:
        if len(columns) == 1:
            return entry(row, columns[0])
        total: Expr | None = None
        for at, column in enumerate(columns):
            part = call("multiply", entry(row, column), minor(row + 1, columns[:at] + columns[at + 1 :]))
            total = part if total is None else call("subtract" if at % 2 else "add", total, part)
        assert total is not None
        return total

    return minor(0, tuple(range(size)))
