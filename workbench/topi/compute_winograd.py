"""Tensor expressions of Winograd convolutions (`winograd.py` has the algorithm, `nn_winograd.py` the operators).

With m x m outputs a tile, tiles of a x a inputs, and output channels in blocks of `b`:
  data_pad         [n, y, x, c]               channels last, zeros around it, filled up to whole tiles
  data_rows        [n, a, a, ty, tx, c]       B^T d
  data_tile        [n, a, a, ty, tx, c]       (B^T d) B
  conv2d_winograd  [n, a, a, ty, tx, o/b, b]  the reduction over c
  output_rows      [n, ty, tx, o/b, m, a, b]  A^T M
  conv2d_output    as the data lie            (A^T M) A, back from tiles

Rows of the matrices are chosen by an index: once its loop is unrolled, only that row's sum is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from .. import te
from ..arith import build
from . import layout as layouts
from .nn_conv import NCHW
from .shapes import ceil_divide
from .winograd import Matrix, matrices


def weight_transform(op: Any, weight: Any) -> Any:
    """nn.contrib_conv2d_winograd_weight_transform: G g G^T of each pair of channels."""
    out, inner, taps, _ = weight.shape
    rows = matrices(op.tile_size, taps).filter
    size = len(rows)
    half = te.compute(
        (size, out, inner, taps),
        lambda e, o, c, j: _chosen(e, rows, lambda i: weight(o, c, i, j)),
        name="weight_rows", tag="injective",
    )  # fmt: skip
    return te.compute(
        (size, size, out, inner),
        lambda e, u, o, c: _chosen(u, rows, lambda j: half(e, o, c, j)),
        name="weight_transform", tag="injective",
    )  # fmt: skip


def without_weight_transform(op: Any, data: Any, weight: Any, width: int | None = None) -> Any:
    """nn.contrib_conv2d_winograd_without_weight_transform; `width` tiles in a row, at least those of the result."""
    source, kernel = layouts.parse(op.data_layout), layouts.parse(op.kernel_layout)
    g: Any = op.geometry(data.shape, weight.shape)
    m, size = op.tile_size, weight.shape[0]
    own = matrices(m, size - m + 1)
    block = kernel.factors.get("O", 1)
    tall, wide = ceil_divide(g.out_height, m), ceil_divide(g.out_width, m) if width is None else width
    elements = (g.batch, size, size, tall, wide)
    big = _data_pad(op, data, source, g, tuple(count * m + size - m for count in (tall, wide)))
    rows = te.compute(
        (*elements, g.in_channels),
        lambda n, e, j, y, x, c: _chosen(e, own.data, lambda i: big(n, y * m + i, x * m + j, c)),
        name="data_rows", tag="injective",
    )  # fmt: skip
    tile = te.compute(
        (*elements, g.in_channels),
        lambda n, e, u, y, x, c: _chosen(u, own.data, lambda j: rows(n, e, j, y, x, c)),
        name="data_tile", tag="injective",
    )  # fmt: skip
    channel = te.reduce_axis((0, g.in_channels), name="rc")

    def products(n: Any, e: Any, u: Any, y: Any, x: Any, ob: Any, oi: Any) -> Any:
        place = {("H", 0): e, ("W", 0): u, ("O", 0): ob, ("O", block): oi, ("I", 0): channel.var}
        return te.sum(tile(n, e, u, y, x, channel.var) * weight(*(place[axis] for axis in kernel.axes)), axis=channel)

    blocks = ceil_divide(g.out_channels, block)
    sums = te.compute((*elements, blocks, block), products, name="conv2d_winograd", tag="conv2d_winograd")
    half = te.compute(
        (g.batch, tall, wide, blocks, m, size, block),
        lambda n, y, x, ob, k, u, oi: _chosen(k, own.output, lambda e: sums(n, e, u, y, x, ob, oi)),
        name="output_rows", tag="injective",
    )  # fmt: skip

    def unpacked(*i: Any) -> Any:
        n, o, y, x = layouts.transform_indices(i, NCHW, source)
        at = (n, y // m, x // m, o // block, y % m)
        return _chosen(x % m, own.output, lambda u: half(*at, u, o % block))

    shape = layouts.transformed_shape(NCHW, source, (g.batch, g.out_channels, g.out_height, g.out_width))
    return te.compute(shape, unpacked, name="conv2d_output", tag="injective")


def _data_pad(op: Any, data: Any, source: layouts.Layout, g: Any, extents: Sequence[Any]) -> Any:
    """Data with the channels last, zeros around it up to `extents`; itself where that is how it lies."""
    top, left = op.padding[:2]
    if source.text == "NHWC" and (top, left) == (0, 0) and tuple(extents) == (g.height, g.width):
        return data

    def element(n: Any, y: Any, x: Any, c: Any) -> Any:
        row, column = y - top, x - left
        value = data(*layouts.transform_indices((n, c, row, column), source, NCHW))
        inside = [row < g.height, column < g.width]
        inside += [row >= 0] if top else []
        inside += [column >= 0] if left else []
        return te.if_then_else(te.all(*inside), value, build.const(0, data.dtype))

    return te.compute((g.batch, *extents, g.in_channels), element, name="data_pad", tag="injective,pad")


def _chosen(index: Any, rows: Matrix, value: Callable[[int], Any]) -> Any:
    """Sum over i of rows[index][i] * value(i)."""
    *others, found = [_sum(row, value) for row in rows]
    for number in reversed(range(len(others))):
        found = te.select(index.equal(number), others[number], found)
    return found


def _sum(factors: Sequence[Fraction], value: Callable[[int], Any]) -> Any:
    """The terms that are not zero, without multiplications by one."""
    total: Any = None
    for number, factor in enumerate(factors):
        if not factor:
            continue
        term = value(number)
        if abs(factor) != 1:
            term = term * build.const(float(abs(factor)), term.dtype)
        if total is None:
            total = -term if factor < 0 else term
        else:
            total = total - term if factor < 0 else total + term
    return total
