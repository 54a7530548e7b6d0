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
from ..core.dtype import DataType
from ..relay.ir.operator import Fusion, Operator, Precision, bad, example, operator
from ..relay.ir.types import TensorType
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
        return TensorType(kind.shape, DataType("bool")) if self.gives_bool else kind

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

    precision = Precision.NEVER
    fast_variant = "fast_exp"
    numpy = staticmethod(np.exp)
    scalar = intrinsic("exp")
    aliases = {"onnx": "Exp"}
    examples = _floats


@operator("log")
class Log(Unary):
    """Natural logarithm."""

    precision = Precision.NEVER
    numpy = staticmethod(np.log)
    scalar = intrinsic("log")
    aliases = {"onnx": "Log"}
    examples = _positive


@operator("log2")
class Log2(Unary):
    """Logarithm to base 2."""

    precision = Precision.NEVER
    numpy = staticmethod(np.log2)
    scalar = intrinsic("log2")
    examples = _positive


@operator("log10")
class Log10(Unary):
    """Logarithm to base 10."""

    precision = Precision.NEVER
    numpy = staticmethod(np.log10)
    scalar = intrinsic("log10")
    examples = _positive


@operator("sqrt")
class Sqrt(Unary):
    """Square root."""

    precision = Precision.NEVER
    numpy = staticmethod(np.sqrt)
    scalar = intrinsic("sqrt")
    aliases = {"onnx": "Sqrt"}
    examples = _positive


@operator("rsqrt")
class Rsqrt(Unary):
    """1 / sqrt(x)."""

    precision = Precision.NEVER
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

    precision = Precision.FOLLOW
    fast_variant = "fast_tanh"
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


def erf_numpy(values: np.ndarray) -> np.ndarray:
    """The error function, in float64."""
    return np.asarray(np.vectorize(math.erf, otypes=[np.float64])(values)) if values.size else values


@operator("erf")
class Erf(Unary):
    """The Gauss error function."""

    precision = Precision.NEVER
    fast_variant = "fast_erf"
    numpy = staticmethod(erf_numpy)
    scalar = intrinsic("erf")
    aliases = {"onnx": "Erf"}
    examples = _floats


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * (np.tanh(0.5 * x) + 1.0), x.dtype)


@operator("sigmoid")
class Sigmoid(Unary):
    """1 / (1 + exp(-x))."""

    precision = Precision.FOLLOW
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

    precision = Precision.FOLLOW
    accepts = "number"
    numpy = staticmethod(np.abs)
    scalar = intrinsic("abs")
    aliases = {"onnx": "Abs"}
    examples = _numbers


@operator("negative")
class Negative(Unary):
    """-x."""

    precision = Precision.FOLLOW
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

    precision = Precision.FOLLOW
    aliasing = 0
    accepts = "any"
    numpy = staticmethod(lambda x: np.array(x))
    scalar = staticmethod(lambda value: value)
    aliases = {"onnx": "Identity"}
    examples = (example(floats(2, 3)), example(bools(3)))
