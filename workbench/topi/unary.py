"""Elementwise operators of one operand.

Each class states its NumPy meaning (`numpy`) and its scalar meaning in the tensor language (`scalar`); the rest is
shared.  The result has the operand's shape and dtype unless a class says otherwise.

>>> Exp().infer(TensorType((2, 3)))
Tensor[(2, 3), float32]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..arith import build
from ..relay.ir.operator import Fusion, Operator, attribute, bad, example, operator
from ..relay.ir.types import TensorType
from . import attributes as convert
from .emit import elementwise
from .samples import bools, floats, ints, positive
from .shapes import float_dtype, refuse, tensor


class Unary(Operator):
    """The base of elementwise operators of one operand."""

    __slots__ = ()
    fusion = Fusion.ELEMWISE
    accepts: ClassVar[str] = "float"
    """Which dtypes: "float", "number" (floats and ints), "integer", "bool", "any"."""
    numpy: ClassVar[Callable[[Any], Any]]
    scalar: ClassVar[Callable[[Any], Any]]
    gives_bool: ClassVar[bool] = False

    def infer(self, data: TensorType) -> TensorType:
        kind = tensor(self, data, "data")
        check_accepts(self, self.accepts, kind)
        return TensorType(kind.shape, "bool") if self.gives_bool else kind

    def reference(self, data: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            found = np.asarray(type(self).numpy(data))
        return found if self.gives_bool else found.astype(data.dtype, copy=False)

    def compute(self, data: Any) -> Any:
        return elementwise(self, type(self).scalar, data)

    def flops(self, data: TensorType) -> int:
        return data.size


def check_accepts(op: Operator, accepts: str, kind: TensorType) -> None:
    """Refuse operands of the wrong kind of dtype."""
    dtype = kind.dtype
    if accepts == "float":
        float_dtype(op, kind)
    elif accepts == "number" and not (dtype.is_float or dtype.is_integer):
        refuse(op, "E-TYPE-DTYPE", "the operand must be of numbers", found=dtype, fix='cast it to "int32"')
    elif accepts == "integer" and not dtype.is_integer:
        refuse(op, "E-TYPE-DTYPE", "the operand must be of integers", found=dtype)
    elif accepts == "bool" and not dtype.is_bool:
        refuse(op, "E-TYPE-DTYPE", "the operand must be bool", found=dtype, fix="compare it with 0 first")


def intrinsic(name: str) -> Callable[[Any], Any]:
    """The scalar intrinsic of that name."""

    def apply(value: Any) -> Any:
        return build.call(name, value)

    return staticmethod(apply)  # type: ignore[return-value]


_floats = (example(floats(2, 3)), example(floats(4, dtype="float64")), example(floats()),
           bad(ints(2), error="float dtype"))  # fmt: skip
_positive = (example(positive(2, 3)), bad(ints(2), error="float dtype"))
_above_one = (example(floats(2, 3, low=1.1, high=3.0)), bad(ints(2), error="float dtype"))
_numbers = (example(floats(2, 3, low=-4, high=4)), example(ints(5)), bad(bools(2), error="numbers"))


@operator("exp")
class Exp(Unary):
    """e to the power x."""

    numpy = staticmethod(np.exp)
    scalar = intrinsic("exp")
    aliases = {"onnx": "Exp"}
    examples = _floats


@operator("log")
class Log(Unary):
    """Natural logarithm."""

    numpy = staticmethod(np.log)
    scalar = intrinsic("log")
    aliases = {"onnx": "Log"}
    examples = _positive


@operator("log2")
class Log2(Unary):
    """Logarithm to base 2."""

    numpy = staticmethod(np.log2)
    scalar = intrinsic("log2")
    examples = _positive


@operator("log10")
class Log10(Unary):
    """Logarithm to base 10."""

    numpy = staticmethod(np.log10)
    scalar = intrinsic("log10")
    examples = _positive


@operator("sqrt")
class Sqrt(Unary):
    """Square root."""

    numpy = staticmethod(np.sqrt)
    scalar = intrinsic("sqrt")
    aliases = {"onnx": "Sqrt"}
    examples = _positive


@operator("rsqrt")
class Rsqrt(Unary):
    """1 / sqrt(x)."""

    numpy = staticmethod(lambda x: 1 / np.sqrt(x))
    scalar = intrinsic("rsqrt")
    examples = _positive


@operator("sin")
class Sin(Unary):
    """Sine of an angle in radians."""

    numpy = staticmethod(np.sin)
    scalar = intrinsic("sin")
    aliases = {"onnx": "Sin"}
    examples = _floats


@operator("cos")
class Cos(Unary):
    """Cosine of an angle in radians."""

    numpy = staticmethod(np.cos)
    scalar = intrinsic("cos")
    aliases = {"onnx": "Cos"}
    examples = _floats


@operator("tan")
class Tan(Unary):
    """Tangent of an angle in radians."""

    numpy = staticmethod(np.tan)
    scalar = intrinsic("tan")
    aliases = {"onnx": "Tan"}
    examples = _floats


@operator("asin")
class Asin(Unary):
    """The angle whose sine is x."""

    numpy = staticmethod(np.arcsin)
    scalar = intrinsic("asin")
    aliases = {"onnx": "Asin"}
    examples = _floats


@operator("acos")
class Acos(Unary):
    """The angle whose cosine is x."""

    numpy = staticmethod(np.arccos)
    scalar = intrinsic("acos")
    aliases = {"onnx": "Acos"}
    examples = _floats


@operator("atan")
class Atan(Unary):
    """The angle whose tangent is x."""

    numpy = staticmethod(np.arctan)
    scalar = intrinsic("atan")
    aliases = {"onnx": "Atan"}
    examples = _floats


@operator("sinh")
class Sinh(Unary):
    """Hyperbolic sine."""

    numpy = staticmethod(np.sinh)
    scalar = intrinsic("sinh")
    aliases = {"onnx": "Sinh"}
    examples = _floats


@operator("cosh")
class Cosh(Unary):
    """Hyperbolic cosine."""

    numpy = staticmethod(np.cosh)
    scalar = intrinsic("cosh")
    aliases = {"onnx": "Cosh"}
    examples = _floats


@operator("tanh")
class Tanh(Unary):
    """Hyperbolic tangent."""

    numpy = staticmethod(np.tanh)
    scalar = intrinsic("tanh")
    aliases = {"onnx": "Tanh"}
    examples = _floats


@operator("asinh")
class Asinh(Unary):
    """Inverse of the hyperbolic sine."""

    numpy = staticmethod(np.arcsinh)
    scalar = intrinsic("asinh")
    aliases = {"onnx": "Asinh"}
    examples = _floats


@operator("acosh")
class Acosh(Unary):
    """Inverse of the hyperbolic cosine."""

    numpy = staticmethod(np.arccosh)
    scalar = intrinsic("acosh")
    aliases = {"onnx": "Acosh"}
    examples = _above_one


@operator("atanh")
class Atanh(Unary):
    """Inverse of the hyperbolic tangent."""

    numpy = staticmethod(np.arctanh)
    scalar = intrinsic("atanh")
    aliases = {"onnx": "Atanh"}
    examples = (example(floats(2, 3, low=-0.9, high=0.9)), bad(ints(2), error="float dtype"))


def _erf(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.vectorize(math.erf, otypes=[np.float64])(values)) if values.size else values


@operator("erf")
class Erf(Unary):
    """The Gauss error function."""

    numpy = staticmethod(_erf)
    scalar = intrinsic("erf")
    aliases = {"onnx": "Erf"}
    examples = _floats


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * (np.tanh(0.5 * x) + 1.0), x.dtype)


@operator("sigmoid")
class Sigmoid(Unary):
    """1 / (1 + exp(-x))."""

    numpy = staticmethod(_sigmoid)
    scalar = intrinsic("sigmoid")
    aliases = {"onnx": "Sigmoid"}
    examples = _floats


@operator("floor")
class Floor(Unary):
    """The greatest integer not above x."""

    numpy = staticmethod(np.floor)
    scalar = intrinsic("floor")
    aliases = {"onnx": "Floor"}
    examples = (example(floats(9, low=-4, high=4)), bad(ints(2), error="float dtype"))


@operator("ceil")
class Ceil(Unary):
    """The least integer not below x."""

    numpy = staticmethod(np.ceil)
    scalar = intrinsic("ceil")
    aliases = {"onnx": "Ceil"}
    examples = (example(floats(9, low=-4, high=4)), bad(ints(2), error="float dtype"))


@operator("trunc")
class Trunc(Unary):
    """The integer part, rounding towards zero."""

    numpy = staticmethod(np.trunc)
    scalar = intrinsic("trunc")
    examples = (example(floats(9, low=-4, high=4)), bad(ints(2), error="float dtype"))


@operator("round")
class Round(Unary):
    """The nearest integer, ties to even."""

    numpy = staticmethod(np.rint)
    scalar = intrinsic("round")
    aliases = {"onnx": "Round"}
    examples = (example(floats(9, low=-4, high=4)), example(np.array([0.5, 1.5, -2.5], "float32")),
                bad(ints(2), error="float dtype"))  # fmt: skip


@operator("abs")
class Abs(Unary):
    """Absolute value."""

    accepts = "number"
    numpy = staticmethod(np.abs)
    scalar = intrinsic("abs")
    aliases = {"onnx": "Abs"}
    examples = _numbers


@operator("negative")
class Negative(Unary):
    """-x."""

    accepts = "number"
    numpy = staticmethod(np.negative)
    scalar = staticmethod(build.negative)
    aliases = {"onnx": "Neg"}
    examples = _numbers


def _sign(value: Any) -> Any:
    zero, one = build.const(0, value.dtype), build.const(1, value.dtype)
    below = zero if value.dtype.is_uint else build.const(-1, value.dtype)
    signed = build.select(value > zero, one, build.select(value < zero, below, zero))
    return build.select(build.call("isnan", value), value, signed) if value.dtype.is_float else signed


@operator("sign")
class Sign(Unary):
    """-1, 0 or 1; NaN stays NaN."""

    accepts = "number"
    numpy = staticmethod(np.sign)
    scalar = staticmethod(_sign)
    aliases = {"onnx": "Sign"}
    examples = (*_numbers, example(np.array([0.0, -0.0, 3.0], "float32")))


@operator("logical_not")
class LogicalNot(Unary):
    """True where the operand is false."""

    accepts = "bool"
    numpy = staticmethod(np.logical_not)
    scalar = staticmethod(build.logical_not)
    aliases = {"onnx": "Not"}
    examples = (example(bools(5)), bad(floats(2), error="must be bool"))


@operator("bitwise_not")
class BitwiseNot(Unary):
    """Every bit inverted."""

    accepts = "integer"
    numpy = staticmethod(np.bitwise_not)
    scalar = intrinsic("bitwise_not")
    aliases = {"onnx": "BitwiseNot"}
    examples = (example(ints(5)), bad(floats(2), error="integers"))


@operator("isnan")
class IsNan(Unary):
    """True for NaN."""

    gives_bool = True
    numpy = staticmethod(np.isnan)
    scalar = intrinsic("isnan")
    aliases = {"onnx": "IsNaN"}
    examples = (example(np.array([1, np.nan, np.inf], "float32")), bad(ints(2), error="float dtype"))


@operator("isinf")
class IsInf(Unary):
    """True for plus or minus infinity."""

    gives_bool = True
    numpy = staticmethod(np.isinf)
    scalar = intrinsic("isinf")
    examples = (example(np.array([1, np.nan, -np.inf], "float32")), bad(ints(2), error="float dtype"))


@operator("isfinite")
class IsFinite(Unary):
    """True for finite values."""

    gives_bool = True
    numpy = staticmethod(np.isfinite)
    scalar = intrinsic("isfinite")
    examples = (example(np.array([1, np.nan, -np.inf], "float32")), bad(ints(2), error="float dtype"))


@operator("copy")
class Copy(Unary):
    """The operand itself, in memory of its own."""

    accepts = "any"
    numpy = staticmethod(np.array)
    scalar = staticmethod(lambda value: value)
    aliases = {"onnx": "Identity"}
    examples = (example(floats(2, 3)), example(bools(3)))


@operator("clip")
class Clip(Operator):
    """Values brought into [a_min, a_max]; NaN stays NaN."""

    a_min: float = attribute(doc="least value", convert=convert.number)
    a_max: float = attribute(doc="greatest value", convert=convert.number)
    fusion = Fusion.ELEMWISE
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
        return (max(low, math.ceil(self.a_min)) if self.a_min > low else low,
                min(high, math.floor(self.a_max)) if self.a_max < high else high)  # fmt: skip

    def reference(self, data: np.ndarray) -> np.ndarray:
        low, high = self.bounds(TensorType((), data.dtype.name).dtype)
        return np.minimum(np.maximum(data, np.asarray(low, data.dtype)), np.asarray(high, data.dtype))

    def compute(self, data: Any) -> Any:
        low, high = self.bounds(data.dtype)
        return elementwise(self, lambda value: build.minimum(build.maximum(value, low), high), data)

    def flops(self, data: TensorType) -> int:
        return 2 * data.size


@operator("cast")
class Cast(Operator):
    """Values converted to `dtype`; floats to integers truncate and saturate, NaN gives 0."""

    dtype: str = attribute(doc="dtype of the result", convert=convert.dtype)
    fusion = Fusion.ELEMWISE
    examples = (example(floats(5, low=-4, high=4), dtype="int32"), example(ints(5), dtype="float32"),
                example(np.array([300.0, -3.0, np.nan, 2.7], "float32"), dtype="uint8"),
                example(floats(4), dtype="bool"), example(bools(4), dtype="int64"),
                example(floats(4), dtype="float16"), bad(floats(2), dtype="float33", error="not a data type"))  # fmt: skip

    def infer(self, data: TensorType) -> TensorType:
        return TensorType(tensor(self, data, "data").shape, self.dtype)

    def reference(self, data: np.ndarray) -> np.ndarray:
        return cast_numpy(data, TensorType((), self.dtype).dtype)

    def compute(self, data: Any) -> Any:
        return elementwise(self, lambda value: cast_scalar(self.dtype, value), data)


def cast_numpy(data: np.ndarray, dtype: Any) -> np.ndarray:
    """Conversion with the semantics of `arith.nodes.Cast`."""
    if data.dtype.kind not in "iub" and dtype.is_integer:
        low, high = dtype.limits()
        whole = np.where(np.isnan(data), 0, np.trunc(data.astype(np.float64)))
        inside = np.clip(whole, low, high)
        found = np.where(inside >= 2.0**63, 0, inside).astype(np.int64 if dtype.is_int else np.uint64)
        return np.where(whole >= float(high), high, found).astype(dtype.to_numpy())
    with np.errstate(all="ignore"):
        return data.astype(dtype.to_numpy())


def cast_scalar(dtype: Any, value: Any) -> Any:
    """Conversion of one element; to bool it is ``value != 0``."""
    if dtype == "bool" and not value.dtype.is_bool:
        return value != build.const(0, value.dtype)
    return build.cast(dtype, value)
