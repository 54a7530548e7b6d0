"""Blocks of space moved into the batch and back: nn.space_to_batch_nd, nn.batch_to_space_nd.

A convolution between the two works on every `block_shape`-th element: it is a dilated ("atrous") one.  Data is
(batch, space..., rest...), where space has as many axes as block_shape; the batch axis of the result counts the place
in a block first, then the batch.  (As TensorFlow documents SpaceToBatchND.)

>>> SpaceToBatchND(block_shape=(2,), paddings=((1, 0),)).infer(TensorType((1, 5)))
Tensor[(2, 3), float32]
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arith import build
from ..relay.ir.operator import Fusion, Operator, attribute, bad, example, operator
from ..relay.ir.types import Dimension, TensorType
from . import attributes as convert
from .emit import injective, row_major, unravel
from .nn_conv import check_positive
from .samples import floats
from .shapes import Shape, add, floor_divide, multiply, refuse, tensor

_BLOCK = attribute(doc="extent of a block along each axis of space", convert=convert.integers)


def _check(op: Any, kind: TensorType, pairs: Any, which: str) -> None:
    """Refuse blocks and pairs that do not fit the data."""
    check_positive(op, block_shape=op.block_shape)
    if len(kind.shape) < len(op.block_shape) + 1:
        refuse(op, "E-TYPE-RANK", "data needs a batch axis and an axis for each block", found=kind)
    if len(pairs) != len(op.block_shape) or any(min(pair) < 0 for pair in pairs):
        refuse(op, "E-TYPE-PAD", f"{which} must have a pair, not negative, for each block", found=pairs)


@operator("nn.space_to_batch_nd")
class SpaceToBatchND(Operator):
    """Space, with `paddings` around it, cut into blocks; the places in a block become batches."""

    block_shape: tuple[int, ...] = _BLOCK
    paddings: tuple[tuple[int, int], ...] = attribute(doc="(before, after) of each axis", convert=convert.pad_width)
    pad_value: float = attribute(0.0, "what is added", convert=convert.real)
    fusion = Fusion.INJECTIVE
    examples = (
        example(floats(2, 4, 6), block_shape=(2, 3), paddings=((0, 0), (0, 0))),
        example(floats(1, 5, 4, 3), block_shape=(2, 2), paddings=((1, 0), (1, 1)), pad_value=2),
        example(floats(1, 3), block_shape=(2,), paddings=((0, 1),)),
        bad(floats(1, 5), block_shape=(2,), paddings=((0, 0),), error="multiple"),
        bad(floats(5), block_shape=(2,), paddings=((0, 1),), error="batch axis"),
        bad(floats(1, 5), block_shape=(2,), paddings=((0, -1),), error="not negative"),
        bad(floats(1, 5), block_shape=(0,), paddings=((0, 0),), error="positive"),
    )  # fmt: skip

    def shape(self, shape: Shape) -> Shape:
        """The result's shape."""
        space: list[Dimension] = []
        for extent, block, (before, after) in zip(shape[1:], self.block_shape, self.paddings, strict=False):
            whole = add(extent, before + after)
            if isinstance(whole, int) and whole % block:
                refuse(self, "E-TYPE-SHAPE", "the padded extent must be a multiple of the block", found=whole)
            space.append(floor_divide(whole, block))
        return (multiply(shape[0], math.prod(self.block_shape)), *space, *shape[1 + len(space) :])

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        _check(self, kind, self.paddings, "paddings")
        return TensorType(self.shape(kind.shape), kind.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        count, rest = len(self.block_shape), data.shape[1 + len(self.block_shape) :]
        pads = [(0, 0), *self.paddings, *((0, 0) for _ in rest)]
        wide = np.pad(data, pads, constant_values=np.asarray(self.pad_value, data.dtype))
        pieces = [part for extent, block in zip(wide.shape[1:], self.block_shape, strict=False)
                  for part in (extent // block, block)]  # fmt: skip
        split = wide.reshape([data.shape[0], *pieces, *rest])
        blocks, space = range(2, 2 * count + 2, 2), range(1, 2 * count + 1, 2)
        turned = split.transpose([*blocks, 0, *space, *range(2 * count + 1, split.ndim)])
        return np.ascontiguousarray(turned).reshape([int(extent) for extent in self.shape(data.shape)])  # type: ignore[arg-type]

    def compute(self, data: Any) -> Any:
        count, batch = len(self.block_shape), data.shape[0]

        def element(n: Any, *i: Any) -> Any:
            where, tests = [], []
            offsets = unravel(n // batch, self.block_shape)
            for axis, (block, (before, after)) in enumerate(zip(self.block_shape, self.paddings, strict=True)):
                place = i[axis] * block + offsets[axis] - before
                where.append(place)
                tests += [place >= 0] if before else []
                tests += [place < data.shape[1 + axis]] if after else []
            value = data(n % batch, *where, *i[count:])
            if not tests:
                return value
            return build.if_then_else(build.all_of(*tests), value, build.const(self.pad_value, data.dtype))

        return injective(self, self.shape(data.shape), element)


@operator("nn.batch_to_space_nd")
class BatchToSpaceND(Operator):
    """The reverse: batches become the places of blocks, and `crops` are cut away."""

    block_shape: tuple[int, ...] = _BLOCK
    crops: tuple[tuple[int, int], ...] = attribute(doc="(before, after) of each axis", convert=convert.pad_width)
    fusion = Fusion.INJECTIVE
    examples = (
        example(floats(12, 2, 2), block_shape=(2, 3), crops=((0, 0), (0, 0))),
        example(floats(4, 3, 3, 2), block_shape=(2, 2), crops=((1, 0), (1, 1))),
        bad(floats(3, 5), block_shape=(2,), crops=((0, 0),), error="multiple"),
        bad(floats(2, 2), block_shape=(2,), crops=((2, 3),), error="nothing is left"),
        bad(floats(2), block_shape=(2,), crops=((0, 0),), error="batch axis"),
    )  # fmt: skip

    def shape(self, shape: Shape) -> Shape:
        """The result's shape."""
        blocks = math.prod(self.block_shape)
        if isinstance(shape[0], int) and shape[0] % blocks:
            refuse(self, "E-TYPE-SHAPE", "the batch must be a multiple of the blocks", found=shape[0], expected=blocks)
        space: list[Dimension] = []
        for extent, block, (before, after) in zip(shape[1:], self.block_shape, self.crops, strict=False):
            space.append(add(multiply(extent, block), -before - after))
            left = space[-1]
            if isinstance(left, int) and left < 0:
                refuse(self, "E-TYPE-SHAPE", "nothing is left after cropping", found=left)
        return (floor_divide(shape[0], blocks), *space, *shape[1 + len(space) :])

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        _check(self, kind, self.crops, "crops")
        return TensorType(self.shape(kind.shape), kind.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        count, blocks = len(self.block_shape), math.prod(self.block_shape)
        split = data.reshape([*self.block_shape, data.shape[0] // blocks, *data.shape[1:]])
        order = [count, *(at for axis in range(count) for at in (count + 1 + axis, axis))]
        turned = split.transpose([*order, *range(2 * count + 1, split.ndim)])
        space = [extent * block for extent, block in zip(data.shape[1:], self.block_shape, strict=False)]
        whole = turned.reshape([data.shape[0] // blocks, *space, *data.shape[1 + count :]])
        cuts = (slice(before, extent - after) for extent, (before, after) in zip(space, self.crops, strict=True))
        return np.ascontiguousarray(whole[(slice(None), *cuts)])

    def compute(self, data: Any) -> Any:
        shape, count = self.shape(data.shape), len(self.block_shape)

        def element(n: Any, *i: Any) -> Any:
            places = [i[axis] + before for axis, (before, _) in enumerate(self.crops)]
            offsets = [place % block for place, block in zip(places, self.block_shape, strict=True)]
            space = [place // block for place, block in zip(places, self.block_shape, strict=True)]
            return data(row_major(offsets, self.block_shape) * shape[0] + n, *space, *i[count:])

        return injective(self, shape, element)
