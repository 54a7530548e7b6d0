"""Elementwise operators with attributes: clip, cast and reinterpret.

>>> Cast(dtype="int8").infer(TensorType((2, 3)))
Tensor[(2, 3), int8]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arith import build
from ..core.dtype import DataType
from ..relay.ir.operator import Fusion, Operator, Precision, attribute, bad, example, operator
from ..relay.ir.types import TensorType
from . import attributes as convert
from .emit import elementwise
from .samples import bools, floats, ints
from .shapes import refuse, tensor
from .unary import check_accepts


@operator("clip")
class Clip(Operator):
    """Values brought into [a_min, a_max]; NaN stays NaN."""

    a_min: float = attribute(doc="least value", convert=convert.number)
    a_max: float = attribute(doc="greatest value", convert=convert.number)
    fusion = Fusion.ELEMWISE
    precision = Precision.FOLLOW
    examples = (example(floats(2, 3), a_min=-0.5, a_max=0.25), example(ints(5), a_min=-2, a_max=3),
                example(ints(4, low=0, dtype="uint8"), a_min=-1.5, a_max=300.0),
                bad(bools(2), a_min=0, a_max=1, error="numbers"))  # fmt: skip

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        check_accepts(self, "number", kind)
        return kind

    def bounds(self, dtype: Any) -> tuple[float, float]:
        """The limits as values of `dtype`: those outside its range are its own limits."""
        if dtype.is_float:
            return float(self.a_min), float(self.a_max)
        low, high = dtype.limits()
        return (_within(math.ceil, self.a_min, low, high), _within(math.floor, self.a_max, low, high))

    def reference(self, data: np.ndarray) -> np.ndarray:
        low, high = self.bounds(DataType(data.dtype.name))
        return np.minimum(np.maximum(data, np.asarray(low, data.dtype)), np.asarray(high, data.dtype))

    def repeated(self, value: Any) -> Any:
        return None if value is None else self.reference(value)

    def compute(self, data: Any) -> Any:
        low, high = self.bounds(data.dtype)
        return elementwise(self, lambda value: build.minimum(build.maximum(value, low), high), data)

    def flops(self, data: TensorType) -> int:
        return 2 * data.size


def _within(rounded: Callable[[float], int], limit: float, low: float, high: float) -> float:
    """A limit of clip as a value of an integer type that ranges from `low` to `high`."""
    if limit <= low or limit >= high:  # infinities too
        return low if limit <= low else high
    return rounded(limit)


@operator("cast")
class Cast(Operator):
    """Values converted to `dtype`; floats to integers truncate and saturate, NaN gives 0."""

    dtype: DataType = attribute(doc="dtype of the result", convert=convert.dtype)
    fusion = Fusion.ELEMWISE
    precision = Precision.NEVER
    examples = (
        example(floats(5, low=-4, high=4), dtype="int32"), example(ints(5), dtype="float32"),
        example(np.array([300.0, -3.0, np.nan, 2.7], "float32"), dtype="uint8"), example(floats(4), dtype="bool"),
        example(bools(4), dtype="int64"), example(floats(4), dtype="float16"),
        bad(floats(2), dtype="float33", error="not a data type"),
    )  # fmt: skip

    def infer(self, data: TensorType) -> TensorType:
        return TensorType(tensor(self, data, "data").shape, self.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        return cast_numpy(data, self.dtype)

    def repeated(self, value: Any) -> Any:
        return None if value is None else self.reference(value)

    def compute(self, data: Any) -> Any:
        return elementwise(self, lambda value: cast_scalar(self.dtype, value), data)


@operator("reinterpret")
class Reinterpret(Operator):
    """The same bits read as `dtype`, which has as many."""

    dtype: DataType = attribute(doc="dtype of the result", convert=convert.dtype)
    fusion = Fusion.ELEMWISE
    examples = (
        example(floats(5), dtype="int32"), example(ints(2, 3), dtype="float32"),
        example(ints(4, dtype="int8"), dtype="uint8"), example(floats(3, dtype="float64"), dtype="int64"),
        example(bools(4), dtype="uint8"), bad(floats(2), dtype="int64", error="as many bits"),
    )  # fmt: skip

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        if _stored_bits(kind.dtype) != _stored_bits(self.dtype):
            refuse(self, "E-TYPE-DTYPE", "the dtypes do not have as many bits", found=kind.dtype, expected=self.dtype)
        return TensorType(kind.shape, self.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        if self.dtype.is_bool:
            return data.view(np.uint8) != 0
        return np.ascontiguousarray(data).view(self.dtype.to_numpy()).reshape(data.shape)

    def compute(self, data: Any) -> Any:
        def element(value: Any) -> Any:
            if value.dtype.is_bool:
                value = build.cast("uint8", value)
            if self.dtype.is_bool:
                return build.call("reinterpret", value, dtype="uint8") != build.const(0, "uint8")
            return value if value.dtype == self.dtype else build.call("reinterpret", value, dtype=self.dtype)

        return elementwise(self, element, data)


def _stored_bits(dtype: DataType) -> int:
    """Bits of a value; a bool takes a byte."""
    return 8 if dtype.is_bool else dtype.bits


def cast_numpy(data: np.ndarray, dtype: Any) -> np.ndarray:
    """Conversion with the semantics of `arith.nodes.Cast`."""
    if data.dtype.kind not in "iub" and dtype.is_integer:
        low, high = dtype.limits()
        whole = np.where(np.isnan(data), 0, np.trunc(data.astype(np.float64)))
        inside = np.clip(whole, low, high)
        beyond = 2.0**63 if dtype.is_int else 2.0**64  # those become `high` below
        found = np.where(inside >= beyond, 0, inside).astype(np.int64 if dtype.is_int else np.uint64)
        return np.where(whole >= float(high), high, found).astype(dtype.to_numpy())
    with np.errstate(all="ignore"):
        return data.astype(dtype.to_numpy())


def cast_scalar(dtype: Any, value: Any) -> Any:
    """Conversion of one element; to bool it is ``value != 0``."""
    if dtype == "bool" and not value.dtype.is_bool:
        return value != build.const(0, value.dtype)
    return build.cast(dtype, value)
