"""Operators that pick elements: gather, scatter, slice, sort; indices known at import are checked against the axis.

Indices that are known only at run time are not: ONNX calls one outside of its axis an error; what compiled code does
with it, and what checked mode reports, is said at `PassContext.checks_bounds`.
"""

from __future__ import annotations

import numpy as np

from ...core.tensor import Tensor
from ...relay.ir.expr import Constant, Expr
from .emit import call, constant, dtype_of, like, rank_of, reshaped, scalar, shape_of, unpack
from .ops_elementwise import cast
from .ops_shaping import checked_shape
from .site import Site
from .table import onnx_op


def wrapped(node: Site, indices: Expr, extent: int) -> Expr:
    """Indices with negative ones counted from the end.  Known ones outside of the axis are refused."""
    known = node.known(indices)
    if known is not None:
        if known.size and (int(known.min()) < -extent or int(known.max()) >= extent):
            worst = int(known.min()) if int(known.min()) < -extent else int(known.max())
            raise node.refuse(f"index {worst} is outside of the axis", str(worst), f"{-extent} to {extent - 1}")
        return constant(np.where(known < 0, known + extent, known).astype(np.int64))
    wide = cast(indices, "int64")
    return call("where", call("less", wide, like(0, wide)), call("add", wide, like(extent, wide)), wide)


@onnx_op("Gather")
def gather(node: Site, x: Expr, indices: Expr, *, axis: int = 0) -> Expr:
    axis = node.axis(axis, rank_of(x))
    return call("take", x, wrapped(node, indices, shape_of(x)[axis]), axis=axis)


@onnx_op("GatherElements", since=11)
def gather_elements(node: Site, x: Expr, indices: Expr, *, axis: int = 0) -> Expr:
    axis = node.axis(axis, rank_of(x))
    return call("gather", x, counted(node, indices, shape_of(x)[axis]), axis=axis)


def counted(node: Site, indices: Expr, extent: int) -> Expr:
    """Indices for an operator that counts negative ones from the end itself: done twice, -7 of 5 would be 3."""
    return indices if node.known(indices) is None else wrapped(node, indices, extent)


def _counted_tuples(node: Site, indices: Expr, extents: tuple[int, ...]) -> Expr:
    """Index tuples along the last axis, the same way."""
    known = node.known(indices)
    if known is not None:
        limits = np.asarray(extents)
        if known.size and ((known < -limits) | (known >= limits)).any():
            raise node.refuse("an index is outside of the tensor", "a known index tuple", f"within {extents}")
        return constant(np.where(known < 0, known + limits, known).astype(np.int64))
    return indices


def _index_depth(node: Site, indices: Expr, rank: int) -> int:
    if rank_of(indices) < 1:
        raise node.refuse("indices need at least one axis", "a scalar", "tuples of indices along the last axis")
    depth = shape_of(indices)[-1]
    if depth > rank:
        raise node.refuse("index tuples are longer than the tensor's rank", str(depth), f"at most {rank}")
    return depth


def _tuples_first(indices: Expr) -> Expr:
    rank = rank_of(indices)
    return call("transpose", indices, axes=(rank - 1, *range(rank - 1))) if rank > 1 else indices


@onnx_op("GatherND", since=11)
def gather_nd(node: Site, x: Expr, indices: Expr, *, batch_dims: int = 0) -> Expr:
    depth = _index_depth(node, indices, rank_of(x) - batch_dims)
    tuples = _counted_tuples(node, indices, shape_of(x)[batch_dims : batch_dims + depth])
    return call("gather_nd", x, _tuples_first(tuples), batch_dims=batch_dims)


_MODES = {"none": "update", "add": "add", "mul": "mul", "min": "min", "max": "max"}


def _mode(node: Site, reduction: str) -> str:
    if reduction not in _MODES:
        raise node.refuse("unknown reduction", reduction, ", ".join(_MODES))
    return _MODES[reduction]


@onnx_op("ScatterElements", since=11)
def scatter_elements(
    node: Site, x: Expr, indices: Expr, updates: Expr, *, axis: int = 0, reduction: str = "none"
) -> Expr:
    axis = node.axis(axis, rank_of(x))
    where = counted(node, indices, shape_of(x)[axis])
    return call("scatter_elements", x, where, updates, axis=axis, reduction=_mode(node, reduction))


@onnx_op("Scatter", since=9)
def scatter(node: Site, x: Expr, indices: Expr, updates: Expr, *, axis: int = 0) -> Expr:
    return scatter_elements(node, x, indices, updates, axis=axis)


@onnx_op("ScatterND", since=11)
def scatter_nd(node: Site, x: Expr, indices: Expr, updates: Expr, *, reduction: str = "none") -> Expr:
    depth = _index_depth(node, indices, rank_of(x))
    tuples = _counted_tuples(node, indices, shape_of(x)[:depth])
    return call("scatter_nd", x, _tuples_first(tuples), updates, mode=_mode(node, reduction))


def _sliced(node: Site, x: Expr, starts, ends, axes, steps) -> Expr:  # type: ignore[no-untyped-def]
    old = shape_of(x)
    chosen = node.axes(range(len(starts)) if axes is None else axes, len(old))
    strides = (1,) * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(chosen) == len(strides):
        raise node.refuse(
            "starts, ends, axes and steps differ in length", f"{len(starts)}, {len(ends)}", "equal lengths"
        )
    if 0 in strides:
        raise node.refuse("a step of 0", str(tuple(strides)), "steps other than 0")
    picked = [slice(None)] * len(old)
    for axis, start, end, stride in zip(chosen, starts, ends, strides, strict=True):
        picked[axis] = slice(start, end, stride)
    ranges = [item.indices(extent) for item, extent in zip(picked, old, strict=True)]
    if all(found == (0, extent, 1) for found, extent in zip(ranges, old, strict=True)):
        return x
    # Below zero, "before the first element" has no number of its own: counted so that it cannot mean the last.
    # A first index there is the first element (Python's would be an empty slice).
    begin = tuple(max(start, 0) for start, _, _ in ranges)
    end = tuple(stop if stop >= 0 else -extent - 1 for (_, stop, _), extent in zip(ranges, old, strict=True))
    return call("strided_slice", x, begin=begin, end=end, strides=tuple(stride for _, _, stride in ranges))


@onnx_op("Slice", since=1, until=9)
def slice_by_attributes(
    node: Site, x: Expr, *, starts: tuple[int, ...], ends: tuple[int, ...], axes: tuple[int, ...] | None = None
) -> Expr:
    return _sliced(node, x, starts, ends, axes, None)


@onnx_op("Slice", since=10)
def slice_(node: Site, x: Expr, starts: Expr, ends: Expr, axes: Expr | None = None, steps: Expr | None = None) -> Expr:
    return _sliced(
        node,
        x,
        node.ints(starts, "starts"),
        node.ints(ends, "ends"),
        None if axes is None else node.ints(axes, "axes"),
        None if steps is None else node.ints(steps, "steps"),
    )


@onnx_op("OneHot", since=9)
def one_hot(node: Site, indices: Expr, depth: Expr, values: Expr, *, axis: int = -1) -> Expr:
    count = node.integer(depth, "the depth")
    if shape_of(values) != (2,):
        raise node.refuse("values are that of off and that of on", str(shape_of(values)), "(2,)")
    rank = rank_of(indices)
    axis = node.axis(axis, rank + 1)
    shape = shape_of(indices)
    checked_shape(node, (*shape[:axis], count, *shape[axis:]), dtype_of(values), "the result")
    wide = cast(indices, "int64")
    wide = call("where", call("less", wide, like(0, wide)), call("add", wide, like(count, wide)), wide)
    wide = reshaped(wide, (*shape[:axis], 1, *shape[axis:]))
    numbers = constant(np.arange(count).reshape((count,) + (1,) * (rank - axis)))
    off, on = (call("take", values, scalar(index, "int64"), axis=0) for index in (0, 1))
    return call("where", call("equal", wide, numbers), on, off)


@onnx_op("ArgMax")
def argmax(node: Site, x: Expr, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Expr:
    return _arg(node, "argmax", x, axis, keepdims, select_last_index)


@onnx_op("ArgMin")
def argmin(node: Site, x: Expr, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Expr:
    return _arg(node, "argmin", x, axis, keepdims, select_last_index)


def _arg(node: Site, name: str, x: Expr, axis: int, keepdims: int, last: int) -> Expr:
    axis = node.axis(axis, rank_of(x))
    found = call(name, x, axis=(axis,), keepdims=bool(keepdims), select_last_index=bool(last))
    return cast(found, "int64")


def _topk(node: Site, x: Expr, count: int, axis: int, largest: int) -> tuple[Expr, ...]:
    axis = node.axis(axis, rank_of(x))
    if not 0 <= count <= shape_of(x)[axis]:
        raise node.refuse("k is larger than the axis", str(count), f"0 to {shape_of(x)[axis]}")
    if count == 0:  # relay's operator takes 0 for "all"
        shape = tuple(0 if at == axis else extent for at, extent in enumerate(shape_of(x)))
        return Constant(Tensor.full(shape, 0, dtype_of(x))), Constant(Tensor.full(shape, 0, "int64"))
    return unpack(call("topk", x, k=count, axis=axis, ret_type="both", is_ascend=not largest, dtype="int64"))


@onnx_op("TopK", since=1, until=9)
def topk_by_attribute(node: Site, x: Expr, *, k: int, axis: int = -1) -> tuple[Expr, ...]:
    return _topk(node, x, k, axis, 1)


@onnx_op("TopK", since=10)
def topk(node: Site, x: Expr, k: Expr, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> tuple[Expr, ...]:
    return _topk(node, x, node.integer(k, "k"), axis, largest)


@onnx_op("CumSum", since=11)
def cumsum(node: Site, x: Expr, axis: Expr, *, exclusive: int = 0, reverse: int = 0) -> Expr:
    return _cumulative(node, "cumsum", x, axis, exclusive, reverse)


@onnx_op("CumProd", since=26)
def cumprod(node: Site, x: Expr, axis: Expr, *, exclusive: int = 0, reverse: int = 0) -> Expr:
    return _cumulative(node, "cumprod", x, axis, exclusive, reverse)


def _cumulative(node: Site, name: str, x: Expr, axis: Expr, exclusive: int, reverse: int) -> Expr:
    along = node.axis(node.integer(axis, "the axis"), rank_of(x))
    x = call("reverse", x, axis=along) if reverse else x
    found = call(name, x, axis=along, exclusive=bool(exclusive))
    return call("reverse", found, axis=along) if reverse else found


@onnx_op("ReverseSequence", since=10)
def reverse_sequence(node: Site, x: Expr, lengths: Expr, *, batch_axis: int = 1, time_axis: int = 0) -> Expr:
    return call("reverse_sequence", x, lengths, seq_axis=time_axis, batch_axis=batch_axis)


@onnx_op("NonZero", since=9)
def non_zero(node: Site, x: Expr) -> Expr:
    """Its shape depends on values, so they must be known; a scalar has no axes to be found on, so (0, 0) or (0, 1)."""
    values = node.constant(x, "the operand")
    found = np.nonzero(values) if values.ndim else np.zeros((0, np.count_nonzero(values)))
    return constant(np.asarray(found, np.int64))


@onnx_op("Compress", since=9)
def compress(node: Site, x: Expr, condition: Expr, *, axis: int | None = None) -> Expr:
    chosen = np.flatnonzero(node.constant(condition, "the condition")).astype(np.int64)
    if axis is None:
        x, axis = reshaped(x, (int(np.prod(shape_of(x), dtype=np.int64)),)), 0
    axis = node.axis(axis, rank_of(x))
    return call("take", x, wrapped(node, constant(chosen), shape_of(x)[axis]), axis=axis)
