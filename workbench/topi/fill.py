"""Operators that fill tensors: full, zeros, ones, their _like forms, arange.

>>> Arange(start=1, stop=6, step=2).infer()
Tensor[(3,), float32]
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arith import build
from ..core.dtype import DataType
from ..relay.ir.operator import Fusion, Operator, attribute, bad, example, operator
from ..relay.ir.types import TensorType
from . import attributes as convert
from .clip_cast import cast_numpy
from .emit import injective
from .samples import floats, ints
from .shapes import refuse, tensor


@operator("full")
class Full(Operator):
    """A tensor of one value, a scalar operand."""

    shape: tuple[Any, ...] = attribute(doc="shape of the result", convert=convert.shape)
    dtype: str = attribute("", "dtype of the result; that of the value by default", convert=convert.dtype_or_same)
    fusion = Fusion.ELEMWISE
    moves = True
    examples = (example(floats(), shape=(2, 3)), example(floats(), shape=(2,), dtype="int32"),
                bad(floats(2), shape=(2,), error="0 axes"))  # fmt: skip

    def infer(self, fill_value: TensorType) -> TensorType:
        kind = tensor(self, fill_value, "fill_value", 0)
        return TensorType(self.shape, DataType(self.dtype or kind.dtype))

    def reference(self, fill_value: np.ndarray) -> np.ndarray:
        dtype = DataType(self.dtype or fill_value.dtype.name)
        return np.full(self.shape, cast_numpy(np.asarray(fill_value), dtype), dtype.to_numpy())

    def compute(self, fill_value: Any) -> Any:
        dtype = DataType(self.dtype or fill_value.dtype)
        return injective(self, self.shape, lambda *i: build.cast(dtype, fill_value()))


@operator("zeros")
class Zeros(Operator):
    """A tensor of zeros."""

    shape: tuple[Any, ...] = attribute(doc="shape of the result", convert=convert.shape)
    dtype: DataType = attribute("float32", "dtype of the result", convert=convert.dtype)
    fusion = Fusion.ELEMWISE
    examples = (example(shape=(2, 3)), example(shape=(), dtype="int64"), bad(shape="x", error="cannot be 'x'"))

    def infer(self) -> TensorType:
        return TensorType(self.shape, self.dtype)

    def reference(self) -> np.ndarray:
        return np.zeros(self.shape, DataType(self.dtype).to_numpy())

    def repeated(self) -> Any:
        return 0

    def compute(self) -> Any:
        return injective(self, self.shape, lambda *i: build.const(0, self.dtype))


@operator("ones")
class Ones(Operator):
    """A tensor of ones."""

    shape: tuple[Any, ...] = attribute(doc="shape of the result", convert=convert.shape)
    dtype: DataType = attribute("float32", "dtype of the result", convert=convert.dtype)
    fusion = Fusion.ELEMWISE
    examples = (example(shape=(2, 3)), example(shape=(), dtype="bool"))

    def infer(self) -> TensorType:
        return TensorType(self.shape, self.dtype)

    def reference(self) -> np.ndarray:
        return np.ones(self.shape, DataType(self.dtype).to_numpy())

    def repeated(self) -> Any:
        return 1

    def compute(self) -> Any:
        return injective(self, self.shape, lambda *i: build.const(1, self.dtype))


@operator("zeros_like")
class ZerosLike(Operator):
    """Zeros of the operand's shape and dtype."""

    fusion = Fusion.ELEMWISE
    examples = (example(floats(2, 3)), example(ints(2)))

    def infer(self, data: TensorType) -> TensorType:
        return tensor(self, data, "data")

    def reference(self, data: np.ndarray) -> np.ndarray:
        return np.zeros_like(data)

    def repeated(self, value: Any) -> Any:
        return 0

    def compute(self, data: Any) -> Any:
        return injective(self, data.shape, lambda *i: build.const(0, data.dtype))


@operator("ones_like")
class OnesLike(Operator):
    """Ones of the operand's shape and dtype."""

    fusion = Fusion.ELEMWISE
    examples = (example(floats(2, 3)), example(ints(2)))

    def infer(self, data: TensorType) -> TensorType:
        return tensor(self, data, "data")

    def reference(self, data: np.ndarray) -> np.ndarray:
        return np.ones_like(data)

    def repeated(self, value: Any) -> Any:
        return 1

    def compute(self, data: Any) -> Any:
        return injective(self, data.shape, lambda *i: build.const(1, data.dtype))


@operator("arange")
class Arange(Operator):
    """start, start + step, ... up to but without stop."""

    start: float = attribute(doc="first value", convert=convert.number)
    stop: float | None = attribute(
        None, "end, not included; None: from 0 to start", convert=convert.optional(convert.number)
    )
    step: float = attribute(1, "distance", convert=convert.number)
    dtype: DataType = attribute("float32", "dtype of the result", convert=convert.dtype)
    fusion = Fusion.INJECTIVE
    examples = (
        example(start=5), example(start=1, stop=6, step=2, dtype="int64"), example(start=1.0, stop=0.0, step=-0.25),
        example(start=3, stop=3), bad(start=0, stop=4, step=0, error="cannot be 0"),
    )  # fmt: skip

    def bounds(self) -> tuple[float, float, int]:
        """First value, step, and number of values."""
        begin, end = (0, self.start) if self.stop is None else (self.start, self.stop)
        if self.step == 0:
            refuse(self, "E-TYPE-RANGE", "step cannot be 0")
        return begin, self.step, max(0, math.ceil((end - begin) / self.step))

    def infer(self) -> TensorType:
        return TensorType((self.bounds()[2],), self.dtype)

    def reference(self) -> np.ndarray:
        begin, step, count = self.bounds()
        return (begin + step * np.arange(count)).astype(DataType(self.dtype).to_numpy())

    def compute(self) -> Any:
        begin, step, count = self.bounds()
        whole = isinstance(begin, int) and isinstance(step, int)
        kind = "int64" if whole else "float64"

        def element(i: Any) -> Any:
            return build.cast(self.dtype, build.cast(kind, i) * build.const(step, kind) + build.const(begin, kind))

        return injective(self, (count,), element)
