"""Tensor expressions of pooling.

Stages: pool_pad (the neutral value around the data, where windows reach outside), then pool_max; or pool_sum and
pool_avg, which divides by the number of elements that count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import te
from ..arith import build
from .compute_conv import reach
from .nn_pool import adaptive_window, window_counts
from .reduce import reduce_tensor
from .shapes import product


def pool(op: Any, data: Any, lanes: int = 1, apart: bool = False) -> Any:
    """Max or average pooling over windows.

    `lanes`: along the last axis, if it is pooled, a multiple of so many elements is computed (`pool_out` leaves those
    beyond the result away again).  `apart`: windows are reduced along all axes but the last first, for every column
    (`pool_rows`); then along the last.
    """
    axes, shape = op.axes(), list(op.shape(data.shape))
    whole = list(shape)
    if lanes > 1 and axes[-1] == len(shape) - 1:
        shape[-1] = _filled(shape[-1], lanes)
    name = "pool_sum" if op.average else "pool_max"
    found = _surrounded(op, data, shape, lanes)
    *others, last = range(len(axes))
    if apart and others:
        found = _reduced(op, found, shape, others, "pool_rows")
    found = _reduced(op, found, shape, [last] if apart else [*others, last], name)
    if op.average:
        return _mean(op, found, data, whole)
    return found if shape == whole else te.compute(whole, lambda *i: found(*i), name="pool_out", tag="injective")


def _filled(extent: Any, lanes: int) -> Any:
    """A known extent, filled up to whole vectors."""
    return -(-extent // lanes) * lanes


def _reduced(op: Any, data: Any, shape: Sequence[Any], part: Sequence[int], name: str) -> Any:
    """Windows reduced along the pooled axes that `part` numbers, to their extents of `shape`."""
    size, strides, dilation, _ = op.window()
    axes = op.axes()
    taps = {axes[at]: te.reduce_axis((0, size[at]), name=f"r{at}") for at in part}
    steps = {axes[at]: (strides[at], dilation[at]) for at in part}

    def element(*i: Any) -> Any:
        where = list(i)
        for axis, tap in taps.items():
            where[axis] = i[axis] * steps[axis][0] + tap.var * steps[axis][1]
        return (te.sum if op.average else te.max)(data(*where), axis=list(taps.values()))

    extents = [shape[axis] if axis in taps else extent for axis, extent in enumerate(data.shape)]
    return te.compute(extents, element, name=name, tag="pool")


def _mean(op: Any, total: Any, data: Any, shape: Sequence[Any]) -> Any:
    """Sums divided by the number of elements that count."""
    counts = [_count(op, at, data.shape[axis], shape[axis], axis) for at, axis in enumerate(op.axes())]
    return te.compute(
        shape, lambda *i: total(*i) / build.cast(data.dtype, product(count(i) for count in counts)),
        name="pool_avg", tag="elemwise",
    )  # fmt: skip


def _surrounded(op: Any, data: Any, shape: Sequence[Any], lanes: int = 1) -> Any:
    """Data with the neutral value around it, as far as the windows of a result of that shape reach.

    The last axis, if it is pooled, is filled up to a multiple of `lanes`.
    """
    size, strides, dilation, pads = op.window()
    neutral = build.const(0, data.dtype) if op.average else te.min_value(data.dtype)
    axes = op.axes()
    extents = list(data.shape)
    outside = False
    for at, axis in enumerate(axes):
        needed = reach(shape[axis], strides[at], size[at], dilation[at])
        if lanes > 1 and axis == len(extents) - 1:
            needed = _filled(needed, lanes)
        extents[axis] = needed
        known = isinstance(needed, int) and isinstance(data.shape[axis], int)
        outside |= pads[at] > 0 or (needed > data.shape[axis] if known else pads[at + len(size)] > 0 or op.ceil_mode)
    if not outside:
        return data

    def element(*i: Any) -> Any:
        where = list(i)
        tests: list[Any] = []
        for at, axis in enumerate(axes):
            where[axis] = i[axis] - pads[at]
            tests += [where[axis] >= 0] if pads[at] > 0 else []
            tests.append(where[axis] < data.shape[axis])
        return te.if_then_else(te.all(*tests), data(*where), neutral)

    return te.compute(extents, element, name="pool_pad", tag="injective,pad")


def _count(op: Any, at: int, extent: Any, outputs: Any, axis: int) -> Any:
    """A function of the output's indices: how many taps count along one axis."""
    size, strides, dilation, pads = op.window()
    if isinstance(extent, int) and isinstance(outputs, int):
        counts = np.unique(window_counts(op, at, extent, outputs))
        if len(counts) == 1:
            return lambda i: build.const(int(counts[0]))
    begin, end = (
        (0, extent + pads[at] + pads[at + len(size)]) if op.count_include_pad else (pads[at], extent + pads[at])
    )

    def count(i: Any) -> Any:
        start, step = i[axis] * strides[at], dilation[at]
        first = build.maximum((begin - start + step - 1) // step, 0)
        last = build.minimum((end - start + step - 1) // step, size[at])
        return build.maximum(last - first, 1)

    return count


def global_pool(op: Any, data: Any) -> Any:
    """Pooling over the whole plane."""
    axes = op.axes()
    if not op.average:
        return reduce_tensor(data, axes, True, te.max, "pool_max")
    total = reduce_tensor(data, axes, True, te.sum, "pool_sum")
    count = build.cast(data.dtype, product(data.shape[axis] for axis in axes))
    return te.compute(total.shape, lambda *i: total(*i) / count, name="pool_avg", tag="elemwise")


def adaptive_pool(op: Any, data: Any) -> Any:
    """Pooling to a given output size; windows differ by at most one element."""
    axes, shape = op.axes(), op.shape(data.shape)
    sizes = op.sizes(data.shape)
    longest = [_longest(data.shape[axis], size) for axis, size in zip(axes, sizes, strict=True)]
    taps = [te.reduce_axis((0, extent), name=f"r{at}") for at, extent in enumerate(longest)]
    neutral = build.const(0, data.dtype) if op.average else te.min_value(data.dtype)

    def windows(i: Sequence[Any]) -> list[tuple[Any, Any]]:
        return [adaptive_window(i[axis], data.shape[axis], size) for axis, size in zip(axes, sizes, strict=True)]

    def element(*i: Any) -> Any:
        where, tests = list(i), []
        for at, (axis, (begin, end)) in enumerate(zip(axes, windows(i), strict=True)):
            where[axis] = begin + taps[at].var
            if not _even(data.shape[axis], sizes[at]):
                tests.append(where[axis] < end)
        return (te.sum if op.average else te.max)(te.if_then_else(te.all(*tests), data(*where), neutral), axis=taps)

    name = "pool_sum" if op.average else "pool_max"
    found = te.compute(shape, element, name=name, tag="pool")
    if not op.average:
        return found

    def mean(*i: Any) -> Any:
        count = product(end - begin for begin, end in windows(i))
        return found(*i) / build.cast(data.dtype, count)

    return te.compute(shape, mean, name="pool_avg", tag="elemwise")


def _even(extent: Any, size: int) -> bool:
    return isinstance(extent, int) and extent % size == 0


def _longest(extent: Any, size: int) -> Any:
    """An extent that every window fits in."""
    if isinstance(extent, int):
        windows = (adaptive_window(at, extent, size) for at in range(size))
        return max(end - begin for begin, end in windows)
    return (extent + size - 1) // size + 1
