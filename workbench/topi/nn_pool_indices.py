"""Max pooling that also tells where each maximum was.

>>> MaxPoolIndices(pool_size=(2, 2), strides=(2, 2)).infer(TensorType((1, 1, 4, 4)))
(Tensor[(1, 1, 2, 2), float32], Tensor[(1, 1, 2, 2), int64])
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import te
from ..arith import build
from ..core.dtype import DataType
from ..relay.ir.operator import Fusion, Operator, attribute, bad, example, operator
from ..relay.ir.types import TensorType, TupleType
from . import attributes as convert
from .emit import row_major
from .reduce import arg_reducer
from .samples import floats, ints
from .shapes import known_shape, refuse, tensor
from .unary import check_accepts


@operator("nn.max_pool_indices")
class MaxPoolIndices(Operator):
    """The greatest value of each window of data (n, c, spatial...), and its position in the whole tensor.

    Of equal values the first counts.  Positions count in row-major order, or with `column_major` with the spatial axes
    of each channel the other way round.
    """

    pool_size: tuple[int, ...] = attribute(doc="extents of the window", convert=convert.integers)
    strides: tuple[int, ...] = attribute(doc="steps of the window", convert=convert.integers)
    dilation: tuple[int, ...] = attribute((), "distances of taps; 1 if empty", convert=convert.integers)
    padding: tuple[int, ...] = attribute((), "before each axis, then after each; 0 if empty", convert=convert.integers)
    column_major: bool = attribute(False, "spatial axes count the other way round", convert=convert.boolean)
    fusion = Fusion.OPAQUE
    examples = (
        example(floats(2, 2, 5, 5), pool_size=(2, 2), strides=(2, 2)),
        example(ints(1, 2, 5, 4, low=0, high=3), pool_size=(3, 2), strides=(1, 2), padding=(1, 0, 1, 0)),
        example(floats(1, 2, 7), pool_size=3, strides=2, dilation=2),
        example(floats(2, 2, 4, 5), pool_size=(2, 2), strides=(2, 2), column_major=True),
        example(floats(1, 1, 3, 3, 3), pool_size=(2, 2, 2), strides=(1, 1, 1)),
        bad(floats(1, 1, 4, 4), pool_size=(2,), strides=(1, 1), error="one number for each"),
        bad(floats(1, 1, 4, 4), pool_size=(5, 2), strides=(1, 1), error="larger"),
        bad(floats(1, 1, 4, 4), pool_size=(2, 2), strides=(0, 1), error="positive"),
    )  # fmt: skip

    def _window(self, rank: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """(dilation, padding before, padding after)."""
        pads = self.padding or (0,) * (2 * rank)
        return self.dilation or (1,) * rank, pads[:rank], pads[rank:]

    def shape(self, data: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the results."""
        rank = len(data) - 2
        gaps, before, after = self._window(rank)
        if {len(self.pool_size), len(self.strides), len(gaps), len(before), len(after)} != {rank}:
            refuse(self, "E-TYPE-RANK", "the window needs one number for each spatial axis", found=self.pool_size)
        if min(*self.pool_size, *self.strides, *gaps, 1) < 1 or min(*before, *after, 0) < 0:
            refuse(self, "E-OPERATOR-ATTRIBUTE", "the window must be positive", found=(self.pool_size, self.strides))
        found = tuple(
            (extent + first + last - (size - 1) * gap - 1) // step + 1
            for extent, first, last, size, gap, step in zip(
                data[2:], before, after, self.pool_size, gaps, self.strides, strict=True
            )
        )
        if min(found) < 1:
            refuse(self, "E-TYPE-SHAPE", "the window is larger than the padded data", found=data)
        return (*data[:2], *found)

    def infer(self, data: TensorType) -> TupleType:
        kind = tensor(self, data, "data", (3, 4, 5))
        check_accepts(self, "number", kind)
        shape = self.shape(known_shape(self, kind, "data"))
        return TupleType((TensorType(shape, kind.dtype), TensorType(shape, DataType("int64"))))

    def _position(self, n: Any, c: Any, where: list[Any], extents: Any) -> Any:
        spatial, sizes = (where[::-1], extents[2:][::-1]) if self.column_major else (where, extents[2:])
        return row_major([n, c, *spatial], [*extents[:2], *sizes])

    def reference(self, data: np.ndarray) -> Any:
        shape = self.shape(data.shape)
        gaps, before, _ = self._window(data.ndim - 2)
        values, places = np.zeros(shape, data.dtype), np.zeros(shape, np.int64)
        order = [0, 1, *(range(data.ndim - 1, 1, -1) if self.column_major else range(2, data.ndim))]
        flat = np.empty(data.shape, np.int64)
        flat.transpose(order)[...] = np.arange(data.size).reshape([data.shape[axis] for axis in order])
        for at in np.ndindex(*shape):
            taps = [
                [i * step - first + k * gap for k in range(size) if 0 <= i * step - first + k * gap < extent]
                for i, step, first, size, gap, extent in zip(
                    at[2:], self.strides, before, self.pool_size, gaps, data.shape[2:], strict=True
                )
            ]
            window = data[at[:2]][np.ix_(*taps)]
            best = np.unravel_index(int(np.argmax(window)), window.shape)
            values[at] = window[best]
            places[at] = flat[at[:2]][np.ix_(*taps)][best]
        return values, places

    def compute(self, data: Any) -> Any:
        rank = len(data.shape) - 2
        gaps, before, _ = self._window(rank)
        taps = [te.reduce_axis((0, size), name=f"r{at}") for at, size in enumerate(self.pool_size)]
        worst = te.min_value(data.dtype)

        def element(n: Any, c: Any, *o: Any) -> Any:
            where = [o[at] * self.strides[at] - before[at] + taps[at].var * gaps[at] for at in range(rank)]
            inside = te.all(*(index >= 0 for index in where),
                            *(index < extent for index, extent in zip(where, data.shape[2:], strict=True)))  # fmt: skip
            value = te.if_then_else(inside, data(n, c, *where), worst)
            place = build.select(inside, row_major([n, c, *where], data.shape), build.const(2**63 - 1))
            return arg_reducer(True, False)((place, value), axis=taps)

        shape = self.shape(tuple(data.shape))
        found, values = te.compute(shape, element, name="max_pool_index", tag="comm_reduce_idx")
        if not self.column_major:
            return [values, found]
        inner = math.prod(data.shape[2:])

        def turned(*o: Any) -> Any:
            rest, where = found(*o) % inner, []
            for extent in data.shape[:1:-1]:
                where.insert(0, rest % extent)
                rest = rest // extent
            return self._position(o[0], o[1], where, data.shape)

        return [values, te.compute(shape, turned, name="max_pool_position", tag="injective")]

    def flops(self, data: TensorType) -> int:
        return data.size * math.prod(self.pool_size)
