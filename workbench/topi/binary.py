"""Elementwise operators of two operands, with NumPy's broadcasting.

Operands have equal dtypes, which the result has too.  Integer division truncates towards zero
(`divide`) or rounds down (`floor_divide`).

>>> Add().infer(TensorType((2, 3)), TensorType((3,)))
Tensor[(2, 3), float32]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..arith import build
from ..core.dtype import DataType
from ..relay.ir.operator import Fusion, Operator, Precision, bad, example, operator
from ..relay.ir.types import TensorType
from . import arrange, emit
from .clip_cast import cast_numpy
from .samples import floats, ints, positive
from .shapes import broadcast, same_dtype, tensor
from .unary import check_accepts


class Binary(Operator):
    """The base of elementwise operators of two operands."""

    __slots__ = ()
    fusion = Fusion.BROADCAST
    accepts: ClassVar[str] = "number"
    numpy: ClassVar[Callable[[Any, Any], Any]]
    scalar: ClassVar[Callable[[Any, Any], Any]]
    gives_bool: ClassVar[bool] = False

    def infer(self, lhs: TensorType, rhs: TensorType) -> TensorType:
        a, b = tensor(self, lhs, "lhs"), tensor(self, rhs, "rhs")
        dtype = same_dtype(self, a, b)
        check_accepts(self, self.accepts, a)
        return TensorType(broadcast(self, a.shape, b.shape), DataType("bool") if self.gives_bool else dtype)

    def reference(self, lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            found = np.asarray(type(self).numpy(lhs, rhs))
        return found if self.gives_bool else found.astype(lhs.dtype, copy=False)

    def compute(self, lhs: Any, rhs: Any) -> Any:
        shape = broadcast(self, lhs.shape, rhs.shape)
        return emit.broadcast(self, type(self).scalar, shape, lhs, rhs)

    def arrange(self, operands: Any, types: Any, wish: tuple[str, ...] = ()) -> Any:
        return arrange.broadcast(self, operands, types)

    def flops(self, lhs: TensorType, rhs: TensorType) -> int:
        return TensorType(broadcast(self, lhs.shape, rhs.shape), lhs.dtype).size


def _truncated_division(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind not in "iu":
        return np.divide(a, b)
    quotient = np.floor_divide(a, b)
    return quotient + ((np.remainder(a, b) != 0) & ((a < 0) != (b < 0)))


def _floor_remainder(a: Any, b: Any) -> Any:
    """Exact for floats too: the remainder of truncation, moved into the divisor's sign; a zero has that sign."""
    if not a.dtype.is_float:
        return build.floormod(a, b)
    rest, zero = build.call("fmod", a, b), build.const(0, a.dtype)
    other_sign = build.not_equal(build.less(rest, zero), build.less(b, zero))
    moved = build.select(other_sign, build.add(rest, b), rest)
    return build.select(build.equal(rest, zero), build.call("copysign", zero, b), moved)


def _power(a: Any, b: Any) -> Any:
    if a.dtype.is_float:
        return build.call("pow", a, b)
    return build.cast(a.dtype, build.call("pow", build.cast("float64", a), build.cast("float64", b)))


def _numpy_power(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind not in "iu":
        return np.power(a, b)
    return cast_numpy(np.power(a.astype(np.float64), b.astype(np.float64)), DataType(a.dtype.name))


mismatched = (bad(floats(2), ints(2), error="different dtypes"), bad(floats(2), floats(3), error="do not broadcast"))
_plain = (example(floats(2, 3), floats(2, 3)), example(floats(2, 3), floats(3)), example(floats(4, 1), floats(1, 5)),
          example(floats(), floats(2)), example(ints(5), ints(5)), *mismatched)  # fmt: skip
_dividing = (
    example(floats(2, 3), positive(2, 3)), example(floats(2, 3), positive(1)),
    example(ints(9), ints(9, low=1, high=5)), example(ints(9), ints(9, low=-5, high=0)), *mismatched,
)  # fmt: skip
_bits = (example(ints(6, low=0), ints(6, low=0)), example(ints(2, 3, low=0), ints(3, low=0)),
         bad(floats(2), floats(2), error="integers"))  # fmt: skip
_shifts = (
    example(ints(6, low=0, high=99), ints(6, low=0, high=8)),
    example(ints(9), ints(9, low=-60, high=60)),
    example(np.array([-8, 4, -1, 7], "int8"), np.array([8, 9, 127, -1], "int8")),
    example(np.array([200, 4, 255], "uint8"), np.array([7, 8, 200], "uint8")),
    bad(floats(2), floats(2), error="integers"),
)


@operator("add")
class Add(Binary):
    """lhs + rhs."""

    commutative = True
    precision = Precision.FOLLOW
    numpy = staticmethod(np.add)
    scalar = staticmethod(build.add)
    aliases = {"onnx": "Add"}
    examples = _plain


@operator("subtract")
class Subtract(Binary):
    """lhs - rhs."""

    precision = Precision.FOLLOW
    numpy = staticmethod(np.subtract)
    scalar = staticmethod(build.subtract)
    aliases = {"onnx": "Sub"}
    examples = _plain


@operator("multiply")
class Multiply(Binary):
    """lhs * rhs."""

    commutative = True
    precision = Precision.FOLLOW
    numpy = staticmethod(np.multiply)
    scalar = staticmethod(build.multiply)
    aliases = {"onnx": "Mul"}
    examples = _plain


@operator("divide")
class Divide(Binary):
    """lhs / rhs; of integers rounded towards zero."""

    precision = Precision.NEVER
    numpy = staticmethod(_truncated_division)
    scalar = staticmethod(build.truncdiv)
    aliases = {"onnx": "Div"}
    examples = _dividing


@operator("floor_divide")
class FloorDivide(Binary):
    """lhs / rhs rounded down."""

    numpy = staticmethod(lambda a, b: np.floor(a / b) if a.dtype.kind == "f" else np.floor_divide(a, b))
    scalar = staticmethod(build.floordiv)
    examples = _dividing


@operator("trunc_divide")
class TruncDivide(Binary):
    """lhs / rhs rounded towards zero."""

    numpy = staticmethod(lambda a, b: np.trunc(a / b) if a.dtype.kind == "f" else _truncated_division(a, b))
    scalar = staticmethod(
        lambda a, b: build.call("trunc", build.truncdiv(a, b)) if a.dtype.is_float else build.truncdiv(a, b)
    )
    examples = _dividing


@operator("mod")
class Mod(Binary):
    """The remainder of truncating division; its sign is that of lhs."""

    numpy = staticmethod(np.fmod)
    scalar = staticmethod(lambda a, b: build.call("fmod", a, b) if a.dtype.is_float else build.truncmod(a, b))
    examples = _dividing


@operator("trunc_mod")
class TruncMod(Binary):
    """The remainder of truncating division; its sign is that of lhs."""

    numpy = staticmethod(np.fmod)
    scalar = staticmethod(lambda a, b: build.call("fmod", a, b) if a.dtype.is_float else build.truncmod(a, b))
    examples = _dividing


@operator("floor_mod")
class FloorMod(Binary):
    """The remainder of rounding down; its sign is that of rhs."""

    numpy = staticmethod(np.remainder)
    scalar = staticmethod(_floor_remainder)
    examples = (
        *_dividing,
        example(
            np.array([3, -3, 0, -0.0, 4, -4, np.inf, 5.5], "float32"),
            np.array([np.inf, np.inf, -2, 2, -2, 2, 3, -2], "float32"),
        ),
    )


@operator("power")
class Power(Binary):
    """lhs to the power rhs; of integers the nearest value to the one in float64."""

    precision = Precision.NEVER
    numpy = staticmethod(_numpy_power)
    scalar = staticmethod(_power)
    examples = (example(positive(2, 3), floats(2, 3)), example(positive(2, 3), floats(1)),
                example(ints(5), ints(5, low=0, high=4)), *mismatched)  # fmt: skip


@operator("maximum")
class Maximum(Binary):
    """The greater of both; NaN if either is."""

    precision = Precision.FOLLOW
    numpy = staticmethod(np.maximum)
    scalar = staticmethod(build.maximum)
    examples = _plain


@operator("minimum")
class Minimum(Binary):
    """The lesser of both; NaN if either is."""

    precision = Precision.FOLLOW
    numpy = staticmethod(np.minimum)
    scalar = staticmethod(build.minimum)
    examples = _plain


@operator("left_shift")
class LeftShift(Binary):
    """lhs * 2**rhs, wrapping; 0 <= rhs < bits."""

    accepts = "integer"
    numpy = staticmethod(np.left_shift)
    scalar = staticmethod(build.shift_left)
    examples = _shifts


@operator("right_shift")
class RightShift(Binary):
    """lhs / 2**rhs rounded down; 0 <= rhs < bits."""

    accepts = "integer"
    numpy = staticmethod(np.right_shift)
    scalar = staticmethod(build.shift_right)
    examples = _shifts


@operator("bitwise_and")
class BitwiseAnd(Binary):
    """Bits set in both."""

    commutative = True
    accepts = "integer"
    numpy = staticmethod(np.bitwise_and)
    scalar = staticmethod(build.bitwise_and)
    aliases = {"onnx": "BitwiseAnd"}
    examples = _bits


@operator("bitwise_or")
class BitwiseOr(Binary):
    """Bits set in either."""

    commutative = True
    accepts = "integer"
    numpy = staticmethod(np.bitwise_or)
    scalar = staticmethod(build.bitwise_or)
    aliases = {"onnx": "BitwiseOr"}
    examples = _bits


@operator("bitwise_xor")
class BitwiseXor(Binary):
    """Bits set in exactly one."""

    commutative = True
    accepts = "integer"
    numpy = staticmethod(np.bitwise_xor)
    scalar = staticmethod(build.bitwise_xor)
    aliases = {"onnx": "BitwiseXor"}
    examples = _bits
