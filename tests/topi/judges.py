"""Independent judges of the operators' NumPy references: onnxruntime, or float64 arithmetic written another way.

A judge takes the operator and an example's inputs and answers the outputs it expects, or None where it has no word
for that example.  The judges know nothing of `workbench.topi`'s own numerics.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import helper

from tests.topi.judges_nn import (
    Judge,
    adaptive,
    batch_norm,
    conv1d,
    conv2d,
    conv2d_transpose,
    conv_nd,
    global_pool,
    instance_norm,
    l2_normalize,
    layer_norm,
    lrn,
    pool,
    resize2d,
    run,
    to_depth,
    upsampling,
)
from tests.topi.judges_winograd import WINOGRAD


def _onnx(kind: str, dtypes: str = "f") -> Judge:
    """A node without attributes, for float32 operands (and int32 where `dtypes` has "i")."""

    def judge(op: Any, *inputs: np.ndarray) -> Any:
        fits = all(x.dtype == np.float32 or (x.dtype == np.int32 and "i" in dtypes) or x.dtype == bool for x in inputs)
        return run(kind, list(inputs)) if fits else None

    return judge


def floor_mod(op: Any, a: np.ndarray, b: np.ndarray) -> Any:
    """Python's own `%`, which has no word on infinities."""
    return _elementwise(lambda x, y: x % y)(op, a, b) if np.isfinite(a).all() else None


def _elementwise(function: Callable[..., Any]) -> Judge:
    """One Python number after the other, in float64."""

    def judge(op: Any, *inputs: np.ndarray) -> Any:
        if any(x.dtype.kind == "f" and x.dtype.itemsize < 4 for x in inputs):
            return None
        spread = np.broadcast_arrays(*inputs)
        values = [function(*items) for items in zip(*(x.reshape(-1).tolist() for x in spread), strict=True)]
        return [np.array(values).reshape(spread[0].shape)]

    return judge


def grid_sample(op: Any, data: np.ndarray, grid: np.ndarray) -> Any:
    methods = {"nearest": "nearest", "bilinear": "linear", "bicubic": "cubic"}
    places = np.ascontiguousarray(np.moveaxis(grid, 1, -1))
    return run("GridSample", [data, places], opset=20, mode=methods[op.method], padding_mode=op.padding_mode,
               align_corners=int(op.align_corners))  # fmt: skip


def roi_align(op: Any, data: np.ndarray, rois: np.ndarray) -> Any:
    mode = "half_pixel" if op.aligned else "output_half_pixel"
    return run("RoiAlign", [data, np.ascontiguousarray(rois[:, 1:]), rois[:, 0].astype(np.int64)], opset=16,
               mode=op.mode,
               output_height=op.pooled_size[0], output_width=op.pooled_size[1], sampling_ratio=op.sample_ratio,
               spatial_scale=op.spatial_scale, coordinate_transformation_mode=mode)  # fmt: skip


def deformable(op: Any, data: np.ndarray, offset: np.ndarray, weight: np.ndarray, mask: Any = None) -> Any:
    from onnx.reference import ReferenceEvaluator

    names = ["x", "w", "o"] if mask is None else ["x", "w", "o", "", "m"]
    node = helper.make_node("DeformConv", names, ["y"], strides=op.strides, pads=op.padding,
                            dilations=op.dilation, group=op.groups, offset_group=op.deformable_groups)  # fmt: skip
    values = {"x": data, "w": weight, "o": offset} | ({} if mask is None else {"m": mask})
    inputs = [helper.make_tensor_value_info(name, 1, item.shape) for name, item in values.items()]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", 1, None)])
    return ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])).run(None, values)


def pool_indices(op: Any, data: np.ndarray) -> Any:
    more = {"dilations": op.dilation} if op.dilation else {}
    more |= {"pads": op.padding} if op.padding else {}
    if data.dtype != np.float32:
        data = data.astype(np.float32)
    return run("MaxPool", [data], 2, kernel_shape=op.pool_size, strides=op.strides,
               storage_order=int(op.column_major), **more)  # fmt: skip


def shifted(function: Callable[..., Any]) -> Judge:
    """function(a, b, width), cut to the width."""

    def judge(op: Any, a: np.ndarray, b: np.ndarray) -> Any:
        bits = 8 * a.dtype.itemsize
        values = [function(*pair, bits) % 2**bits for pair in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)]
        return [np.array(values, f"uint{bits}").view(a.dtype).reshape(a.shape)]

    return judge


def reduction(kind: str) -> Judge:
    def judge(op: Any, data: np.ndarray) -> Any:
        if data.dtype != np.float32 or op.exclude:
            return None
        axes = np.array(op.axis if op.axis is not None else range(data.ndim), np.int64)
        return run(kind, [data, axes], keepdims=int(op.keepdims))

    return judge


def argument(kind: str) -> Judge:
    def judge(op: Any, data: np.ndarray) -> Any:
        if op.axis is None or len(op.axis) != 1:
            return None
        return run(
            kind, [data], axis=op.axis[0], keepdims=int(op.keepdims), select_last_index=int(op.select_last_index)
        )

    return judge


def variance(op: Any, data: np.ndarray) -> Any:
    axes = op.axis if op.axis is not None else tuple(range(data.ndim))
    wide = data.astype(np.longdouble)
    count = math.prod(data.shape[axis] for axis in axes)
    mean = wide.sum(axes, keepdims=True) / count
    square = (wide * wide).sum(axes, keepdims=True) / count - mean * mean
    square = square * count / (count - 1) if op.unbiased else square
    return [square if op.keepdims else square.squeeze(axes)]


def along(kind: str) -> Judge:
    def judge(op: Any, data: np.ndarray) -> Any:
        return run(kind, [data], axis=op.axis)

    return judge


def dense(op: Any, data: np.ndarray, weight: np.ndarray) -> Any:
    wide, kernel = data.astype(np.float64), weight.astype(np.float64)
    return [np.einsum("...k,nk->...n", wide, kernel)]


def dense_pack(op: Any, data: np.ndarray, weight: np.ndarray) -> Any:
    units = op.units or weight.shape[0] * weight.shape[2]
    if weight.ndim == 4:  # fours of inputs side by side
        weight = weight.transpose(0, 1, 3, 2).reshape(len(weight), -1, weight.shape[2])
    found = np.einsum("mk,bkl->mbl", data.astype(np.float64), weight.astype(np.float64))
    return [found.reshape(len(data), -1)[:, :units]]


def matmul(op: Any, a: np.ndarray, b: np.ndarray) -> Any:
    left = np.moveaxis(a, -1, -2) if op.transpose_a else a
    return run(
        "MatMul", [np.ascontiguousarray(left), np.ascontiguousarray(b.swapaxes(-1, -2) if op.transpose_b else b)]
    )


def bias_add(op: Any, data: np.ndarray, bias: np.ndarray) -> Any:
    found = data.copy()
    for at in range(len(bias)):
        where: list[Any] = [slice(None)] * data.ndim
        where[op.axis] = at
        found[tuple(where)] += bias[at]
    return [found]


def concatenate(op: Any, data: Any) -> Any:
    return run("Concat", list(data), axis=op.axis)


def split(op: Any, data: np.ndarray) -> Any:
    count = op.indices_or_sections
    if isinstance(count, int):
        return run("Split", [data], outputs=count, axis=op.axis, num_outputs=count)
    edges = [0, *count, data.shape[op.axis]]
    sizes = np.diff(edges).astype(np.int64)
    return run("Split", [data, sizes], outputs=len(sizes), axis=op.axis)


def strided_slice(op: Any, data: np.ndarray) -> Any:
    cut: list[Any] = [slice(None)] * data.ndim
    for at, (begin, end) in enumerate(zip(op.begin, op.end, strict=True)):
        axis = op.axes[at] if op.axes else at
        if op.slice_mode == "size":
            cut[axis] = slice(begin, None if end == -1 else begin + end)
        else:
            cut[axis] = slice(begin, end, op.strides[at] if op.strides else None)
    return [data[tuple(cut)]]


def take(op: Any, data: np.ndarray, indices: np.ndarray) -> Any:
    if op.batch_dims:
        return [np.stack([data[at][indices[at]] for at in range(len(data))])]
    axis = 0 if op.axis is None else op.axis
    flat = data.reshape(-1) if op.axis is None else data
    extent = flat.shape[axis]
    where = indices % extent if op.mode == "wrap" else np.minimum(np.maximum(indices, 0), extent - 1)
    return run("Gather", [flat, np.asarray(where, np.int64)], axis=axis)


def gather(op: Any, data: np.ndarray, indices: np.ndarray) -> Any:
    return run("GatherElements", [data, indices], axis=op.axis)


def gather_nd(op: Any, data: np.ndarray, indices: np.ndarray) -> Any:
    tuples = np.ascontiguousarray(np.moveaxis(indices, 0, -1)).astype(np.int64)
    return run("GatherND", [data, tuples], batch_dims=op.batch_dims)


def one_hot(op: Any, indices: np.ndarray, on: np.ndarray, off: np.ndarray) -> Any:
    found = np.full((*indices.shape, op.depth), off)
    for where in np.ndindex(*indices.shape):
        if 0 <= indices[where] < op.depth:
            found[(*where, indices[where])] = on
    return [np.moveaxis(found, -1, op.axis)]


def pad(op: Any, data: np.ndarray, value: np.ndarray | None = None) -> Any:
    pads = np.array([pair[0] for pair in op.pad_width] + [pair[1] for pair in op.pad_width], np.int64)
    fill = np.zeros((), data.dtype) if value is None else value
    return run("Pad", [data, pads, fill] if op.pad_mode == "constant" else [data, pads], mode=op.pad_mode)


def tile(op: Any, data: np.ndarray) -> Any:
    rank = max(data.ndim, len(op.reps))
    wide = data.reshape((1,) * (rank - data.ndim) + data.shape)
    return run("Tile", [wide, np.array((1,) * (rank - len(op.reps)) + op.reps, np.int64)])


def repeat(op: Any, data: np.ndarray) -> Any:
    rows = np.moveaxis(data, op.axis, 0)
    return [np.moveaxis(np.stack([row for row in rows for _ in range(op.repeats)]), 0, op.axis)]


def transpose(op: Any, data: np.ndarray) -> Any:
    return (
        run("Transpose", [data], perm=[axis % data.ndim for axis in op.axes]) if op.axes else run("Transpose", [data])
    )


def reshape(op: Any, data: np.ndarray) -> Any:
    if any(code < -1 for code in op.newshape):
        return None
    return run("Reshape", [data, np.array(op.newshape, np.int64)], allowzero=int(op.allowzero))


def clip(op: Any, data: np.ndarray) -> Any:
    return [np.array([min(max(value, op.a_min), op.a_max) for value in data.reshape(-1).tolist()]).reshape(data.shape)]


def cast(op: Any, data: np.ndarray) -> Any:
    if np.isnan(data.astype(np.float64)).any() or (op.dtype == "uint8" and data.dtype.kind == "f"):
        return None
    return run("Cast", [data], to=helper.np_dtype_to_tensor_dtype(np.dtype(op.dtype)))


def layout_transform(op: Any, data: np.ndarray) -> Any:
    """Element by element, through a dictionary keyed by plain coordinates."""
    source, target = _axes(op.src_layout), _axes(op.dst_layout)
    known: dict[Any, Any] = {}
    for where in np.ndindex(*data.shape):
        known[_plain(where, source)] = data[where]
    shape = op.infer(_type(data)).concrete_shape
    found = np.zeros(shape, data.dtype)
    for where in np.ndindex(*shape):
        found[where] = known.get(_plain(where, target), 0)
    return [found]


def _type(data: np.ndarray) -> Any:
    from workbench.relay.ir.types import TensorType

    return TensorType(data.shape, data.dtype.name)


def _axes(layout: str) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    digits = ""
    for character in layout:
        if character.isdigit():
            digits += character
        else:
            found.append((character, int(digits or 0)))
            digits = ""
    return found


def _plain(where: tuple[int, ...], axes: list[tuple[str, int]]) -> frozenset[tuple[str, int]]:
    inner = {letter.upper(): (at, factor) for at, (letter, factor) in zip(where, axes, strict=True) if factor}
    place = {}
    for at, (letter, factor) in zip(where, axes, strict=True):
        if not factor:
            low, size = inner.get(letter, (0, 1))
            place[letter] = at * size + low
    return frozenset(place.items())


def prelu(op: Any, data: np.ndarray, alpha: np.ndarray) -> Any:
    axis = op.axis % data.ndim
    return run("PRelu", [data, alpha.reshape([-1 if at == axis else 1 for at in range(data.ndim)])])


def arange(op: Any) -> Any:
    begin, end = (0, op.start) if op.stop is None else (op.start, op.stop)
    found, value = [], begin
    while (value < end) if op.step > 0 else (value > end):
        found.append(value)
        value += op.step
    return [np.array(found, op.dtype)]


def topk(op: Any, data: np.ndarray) -> Any:
    count = op.k if op.k > 0 else data.shape[op.axis]
    if data.dtype != np.float32:
        return None
    found = run("TopK", [data, np.array([count], np.int64)], outputs=2, axis=op.axis, largest=int(not op.is_ascend))
    return found if op.ret_type == "both" else found[:1] if op.ret_type == "values" else found[1:]


def ordered(positions: bool) -> Judge:
    """Python's stable sort, line by line."""

    def judge(op: Any, data: np.ndarray) -> Any:
        lines = np.moveaxis(data, op.axis, -1)
        found = np.zeros(lines.shape)
        for where in np.ndindex(*lines.shape[:-1]):
            values = [math.inf if value != value else value for value in lines[where].tolist()]
            sign = 1 if op.is_ascend else -1
            order = sorted(range(len(values)), key=lambda at: sign * values[at])
            found[where] = order if positions else lines[where][order]
        return [np.moveaxis(found, -1, op.axis)]

    return judge


def cumulative(op: Any, data: np.ndarray) -> Any:
    if op.axis is None:
        return None
    return run("CumSum", [data, np.array(op.axis, np.int64)], exclusive=int(op.exclusive))


def cumulative_product(op: Any, data: np.ndarray) -> Any:
    lines = np.moveaxis(data if op.axis is not None else data.reshape(-1), op.axis or 0, 0).astype(np.float64)
    found, total = [], np.ones_like(lines[0])
    for line in lines:
        before, total = total, total * line
        found.append(before if op.exclusive else total)
    return [np.moveaxis(np.stack(found), 0, op.axis or 0)]


def scatter_elements(op: Any, data: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> Any:
    if op.reduction == "update" and len(np.unique(indices)) < len(indices):
        return None
    kind = "none" if op.reduction == "update" else op.reduction
    return run("ScatterElements", [data, indices.astype(np.int64), updates], axis=op.axis, reduction=kind)


def scatter_nd(op: Any, data: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> Any:
    tuples = np.ascontiguousarray(np.moveaxis(indices, 0, -1)).astype(np.int64)
    kind = "none" if op.mode == "update" else op.mode
    return run("ScatterND", [data, tuples, updates], reduction=kind)


def reverse_sequence(op: Any, data: np.ndarray, lengths: np.ndarray) -> Any:
    if lengths.min() < 1:
        return None
    axes = {"time_axis": op.seq_axis, "batch_axis": op.batch_axis}
    return run("ReverseSequence", [data, lengths.astype(np.int64)], **axes)


def dilate(op: Any, data: np.ndarray) -> Any:
    found = np.full(
        [(extent - 1) * step + 1 for extent, step in zip(data.shape, op.strides, strict=True)], op.dilation_value
    )
    for where in np.ndindex(*data.shape):
        found[tuple(at * step for at, step in zip(where, op.strides, strict=True))] = data[where]
    return [found]


def collapse(op: Any, data: np.ndarray, *like: np.ndarray) -> Any:
    """Every element added where broadcasting would have taken it from."""
    shape = like[0].shape if like else op.shape
    found = np.zeros(shape)
    source = np.broadcast_to(np.arange(found.size).reshape(shape), data.shape)
    np.add.at(found.reshape(-1), source.reshape(-1), data.reshape(-1).astype(np.float64))
    return [found]


def to_batch(op: Any, data: np.ndarray) -> Any:
    """Each element of the padded data put where its block and place in the block say."""
    count, batch = len(op.block_shape), data.shape[0]
    pads = [(0, 0), *op.paddings, *((0, 0) for _ in data.shape[1 + count :])]
    wide = np.pad(data, pads, constant_values=op.pad_value)
    shape = [batch * math.prod(op.block_shape), *(a // b for a, b in zip(wide.shape[1:], op.block_shape, strict=False))]
    found = np.zeros([*shape, *data.shape[1 + count :]], data.dtype)
    for n, *place in np.ndindex(*wide.shape[: 1 + count]):
        at = 0
        for index, block in zip(place, op.block_shape, strict=True):
            at = at * block + index % block
        where = (at * batch + n, *(index // block for index, block in zip(place, op.block_shape, strict=True)))
        found[where] = wide[(n, *place)]
    return [found]


def from_batch(op: Any, data: np.ndarray) -> Any:
    """The inverse of `to_batch`, cropped: found by moving numbered elements there and back."""
    count = len(op.block_shape)
    blocks = math.prod(op.block_shape)
    space = [extent * block for extent, block in zip(data.shape[1:], op.block_shape, strict=False)]
    shape = (data.shape[0] // blocks, *space, *data.shape[1 + count :])
    numbers = np.arange(data.size).reshape(shape)

    class Whole:
        block_shape, paddings, pad_value = op.block_shape, ((0, 0),) * count, 0

    found = np.zeros(data.size, data.dtype)
    found[to_batch(Whole, numbers)[0].reshape(-1)] = data.reshape(-1)
    cuts = (slice(a, extent - b) for extent, (a, b) in zip(space, op.crops, strict=True))
    return [found.reshape(shape)[(slice(None), *cuts)]]


JUDGES: dict[str, Judge] = {
    **{
        name: _onnx(kind)
        for name, kind in {
            "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin",
            "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh",
            "acosh": "Acosh", "atanh": "Atanh", "erf": "Erf", "sigmoid": "Sigmoid", "floor": "Floor", "ceil": "Ceil",
            "fast_exp": "Exp", "fast_tanh": "Tanh", "fast_erf": "Erf",
            "round": "Round", "isnan": "IsNaN", "isinf": "IsInf", "logical_not": "Not", "power": "Pow",
        }.items()
    },
    **{
        name: _onnx(kind, "fi")
        for name, kind in {
            "abs": "Abs", "negative": "Neg", "sign": "Sign", "nn.relu": "Relu", "add": "Add", "subtract": "Sub",
            "multiply": "Mul", "divide": "Div", "maximum": "Max", "minimum": "Min", "equal": "Equal", "less": "Less",
            "less_equal": "LessOrEqual", "greater": "Greater", "greater_equal": "GreaterOrEqual", "logical_and": "And",
            "logical_or": "Or", "logical_xor": "Xor",
        }.items()
    },
    "nn.conv3d": conv_nd("Conv"), "nn.conv1d_transpose": conv_nd("ConvTranspose"),
    "nn.conv3d_transpose": conv_nd("ConvTranspose"), "nn.max_pool3d": pool("MaxPool"),
    "nn.avg_pool3d": pool("AveragePool"), "topk": topk, "sort": ordered(False), "argsort": ordered(True),
    "cumsum": cumulative, "cumprod": cumulative_product, "scatter_elements": scatter_elements,
    "scatter_nd": scatter_nd, "reverse_sequence": reverse_sequence, "image.resize2d": resize2d,
    "nn.upsampling": upsampling, "nn.depth_to_space": to_depth("DepthToSpace"),
    "nn.space_to_depth": to_depth("SpaceToDepth"), "nn.dilate": dilate, "collapse_sum_to": collapse,
    "collapse_sum_like": collapse,
    "trilu": lambda op, data: run("Trilu", [data, np.array(op.k, np.int64)], upper=int(op.upper)),
    "log2": _elementwise(math.log2), "log10": _elementwise(math.log10), "rsqrt": _elementwise(lambda x: x**-0.5),
    "trunc": _elementwise(lambda x: float(int(x))), "bitwise_not": _elementwise(lambda x: -x - 1),
    "isfinite": _elementwise(math.isfinite), "copy": _elementwise(lambda x: x),
    "not_equal": _elementwise(lambda a, b: a != b), "floor_divide": _elementwise(lambda a, b: a // b),
    "floor_mod": floor_mod, "trunc_divide": _elementwise(lambda a, b: math.trunc(a / b)),
    "mod": _elementwise(math.fmod), "trunc_mod": _elementwise(math.fmod),
    "left_shift": shifted(lambda a, b, bits: a * 2**b if 0 <= b < bits else 0),
    "right_shift": shifted(lambda a, b, bits: a // 2 ** (b if 0 <= b < bits else bits)),
    "bitwise_and": _elementwise(lambda a, b: a & b), "bitwise_or": _elementwise(lambda a, b: a | b),
    "bitwise_xor": _elementwise(lambda a, b: a ^ b), "where": _elementwise(lambda c, a, b: a if c else b),
    "nn.leaky_relu": lambda op, data: run("LeakyRelu", [data], alpha=op.alpha), "nn.prelu": prelu, "clip": clip,
    "cast": cast, "nn.conv2d": conv2d, "nn.conv1d": conv1d, "nn.conv2d_transpose": conv2d_transpose,
    "nn.max_pool2d": pool("MaxPool"), "nn.max_pool1d": pool("MaxPool"), "nn.avg_pool2d": pool("AveragePool"),
    "nn.avg_pool1d": pool("AveragePool"), "nn.global_avg_pool2d": global_pool("GlobalAveragePool"),
    "nn.global_max_pool2d": global_pool("GlobalMaxPool"), "nn.adaptive_avg_pool2d": adaptive(True),
    "nn.adaptive_max_pool2d": adaptive(False), "nn.adaptive_avg_pool1d": adaptive(True),
    "nn.adaptive_max_pool1d": adaptive(False), "sum": reduction("ReduceSum"), "mean": reduction("ReduceMean"),
    "max": reduction("ReduceMax"), "min": reduction("ReduceMin"), "prod": reduction("ReduceProd"),
    "logsumexp": reduction("ReduceLogSumExp"), "variance": variance, "argmax": argument("ArgMax"),
    "argmin": argument("ArgMin"), "nn.space_to_batch_nd": to_batch, "nn.batch_to_space_nd": from_batch,
    "nn.softmax": along("Softmax"), "nn.fast_softmax": along("Softmax"), "nn.log_softmax": along("LogSoftmax"),
    "nn.batch_norm": batch_norm, "nn.layer_norm": layer_norm, "nn.instance_norm": instance_norm, "nn.lrn": lrn,
    "nn.l2_normalize": l2_normalize, "nn.dense": dense, "nn.contrib_dense_pack": dense_pack, "nn.matmul": matmul,
    "nn.batch_matmul": matmul, "nn.bias_add": bias_add, "concatenate": concatenate, "split": split,
    "strided_slice": strided_slice, "take": take, "gather": gather, "gather_nd": gather_nd, "one_hot": one_hot,
    "nn.pad": pad, "tile": tile, "repeat": repeat, "transpose": transpose, "reshape": reshape,
    "layout_transform": layout_transform, "arange": arange, "image.grid_sample": grid_sample,
    "vision.roi_align": roi_align, "nn.deformable_conv2d": deformable, "nn.max_pool_indices": pool_indices, **WINOGRAD,
}  # fmt: skip

PLAIN: dict[str, str] = {
    "all": "np.all", "any": "np.any", "expand_dims": "ndarray.reshape", "squeeze": "np.squeeze", "stack": "np.stack",
    "nn.batch_flatten": "ndarray.reshape", "reverse": "np.flip", "broadcast_to": "np.broadcast_to", "full": "np.full",
    "zeros": "np.zeros", "ones": "np.ones", "zeros_like": "np.zeros_like", "ones_like": "np.ones_like",
    "cast_like": "as cast", "reshape_like": "ndarray.reshape", "full_like": "np.full",
    "broadcast_to_like": "np.broadcast_to", "slice_like": "slicing", "ndarray_size": "ndarray.size",
    "shape_of": "ndarray.shape", "nn.dropout": "the operand itself", "reinterpret": "ndarray.view",
}  # fmt: skip
"""Operators whose reference is one NumPy function of that very meaning, which nothing else need confirm."""
