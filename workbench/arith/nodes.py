"""Scalar (and vector) expressions.

Semantics, for every executor:
* Integers wrap in two's complement, except that index arithmetic (dtype int64 made by the compiler) never overflows
  for buffers within `limits.tensor_bytes`; codegen may use this (`nsw`).
* `Div`/`Mod` truncate towards zero, `FloorDiv`/`FloorMod` round towards minus infinity; a zero divisor is an error
  of the program (checked mode reports it), and constants with it are refused when built.
* Floats follow IEEE 754; no reassociation, no fast-math, unless a schedule step says so.  `Min`/`Max` of a NaN
  return the NaN.  Conversion float -> integer truncates and saturates, NaN gives 0.
* `Select` evaluates both arms (they must be safe); `if_then_else` (a `Call`) evaluates one.
* `And`/`Or` evaluate both sides.
* Vectors: `Ramp(base, stride, lanes)`, `Broadcast(value, lanes)`; operands of a binary node have equal dtypes.

Operators (`a + b`, `a == b`, `a // b`) build expressions through `arith.build`, which converts, checks dtypes and
folds constants.  `a == b` therefore builds; compare programs with `same`, identities with `is`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..core.dtype import DataType
from ..core.errors import WorkbenchError
from ..core.node import Node, node


class ExprOperators:
    """Python operators that build expressions; for expressions and for what converts to one (`as_prim_expr`)."""

    __slots__ = ()

    def __add__(self, other: Any) -> PrimExpr:
        return _build().add(self, other)

    def __radd__(self, other: Any) -> PrimExpr:
        return _build().add(other, self)

    def __sub__(self, other: Any) -> PrimExpr:
        return _build().subtract(self, other)

    def __rsub__(self, other: Any) -> PrimExpr:
        return _build().subtract(other, self)

    def __mul__(self, other: Any) -> PrimExpr:
        return _build().multiply(self, other)

    def __rmul__(self, other: Any) -> PrimExpr:
        return _build().multiply(other, self)

    def __truediv__(self, other: Any) -> PrimExpr:
        return _build().true_divide(self, other)

    def __rtruediv__(self, other: Any) -> PrimExpr:
        return _build().true_divide(other, self)

    def __floordiv__(self, other: Any) -> PrimExpr:
        return _build().floordiv(self, other)

    def __rfloordiv__(self, other: Any) -> PrimExpr:
        return _build().floordiv(other, self)

    def __mod__(self, other: Any) -> PrimExpr:
        return _build().floormod(self, other)

    def __rmod__(self, other: Any) -> PrimExpr:
        return _build().floormod(other, self)

    def __neg__(self) -> PrimExpr:
        return _build().negative(self)

    def __and__(self, other: Any) -> PrimExpr:
        return _build().bitwise_and(self, other)

    def __or__(self, other: Any) -> PrimExpr:
        return _build().bitwise_or(self, other)

    def __xor__(self, other: Any) -> PrimExpr:
        return _build().bitwise_xor(self, other)

    def __lshift__(self, other: Any) -> PrimExpr:
        return _build().shift_left(self, other)

    def __rshift__(self, other: Any) -> PrimExpr:
        return _build().shift_right(self, other)

    def __lt__(self, other: Any) -> PrimExpr:
        return _build().less(self, other)

    def __le__(self, other: Any) -> PrimExpr:
        return _build().less_equal(self, other)

    def __gt__(self, other: Any) -> PrimExpr:
        return _build().greater(self, other)

    def __ge__(self, other: Any) -> PrimExpr:
        return _build().greater_equal(self, other)

    def __eq__(self, other: object) -> PrimExpr:  # type: ignore[override]
        return _build().equal(self, other)

    def __ne__(self, other: object) -> PrimExpr:  # type: ignore[override]
        return _build().not_equal(self, other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise WorkbenchError(
            "E-EXPR-TRUTH",
            "an expression of the program has no truth value while the program is being built",
            found=repr(self),
            fix="use tir.if_then_else(condition, a, b) or tir.all(...), or `is` to compare identities",
        )

    def astype(self, dtype: str) -> PrimExpr:
        """This value converted to `dtype`."""
        return _build().cast(dtype, self)

    def equal(self, other: Any) -> PrimExpr:
        return _build().equal(self, other)


class PrimExpr(ExprOperators, Node):
    """The base of scalar expressions; every one has a `dtype`, set when it is built (chains may be long)."""

    __slots__ = ("dtype",)
    dtype: DataType
    is_traced: ClassVar[bool] = False
    __hash__ = Node.__hash__


def _build() -> Any:
    from . import build

    return build


@node
class Var(PrimExpr):
    """A named scalar.  Two variables of one name differ; identity is what counts."""

    name: str
    dtype: DataType = DataType("int64")
    is_variable: ClassVar[bool] = True
    renameable: ClassVar[tuple[str, ...]] = ("name",)

    def __post_init__(self) -> None:
        if type(self.dtype) is not DataType:
            object.__setattr__(self, "dtype", DataType(self.dtype))


@node
class IntImm(PrimExpr):
    """An integer (or bool) constant, in the range of its dtype.  Also in the classic order: ``IntImm("int32", 1)``."""

    value: int
    dtype: DataType = DataType("int64")

    def __post_init__(self) -> None:
        if type(self.value) is not int or type(self.dtype) is not DataType:
            _settle(self, int)


@node
class FloatImm(PrimExpr):
    """A floating-point constant; `value` is exactly representable in `dtype`.  Also ``FloatImm("float32", 1.5)``."""

    value: float
    dtype: DataType = DataType("float32")

    def __post_init__(self) -> None:
        if type(self.value) is not float or type(self.dtype) is not DataType:
            _settle(self, float)


def _settle(constant: IntImm | FloatImm, number: type[int] | type[float]) -> None:
    """A constant's value as a Python number and its dtype as one, whichever of the two came first."""
    value: Any = constant.value
    dtype: Any = constant.dtype
    if isinstance(value, str):
        value, dtype = dtype, value
    if isinstance(value, str) or not hasattr(value, "__index__" if number is int else "__float__"):
        raise WorkbenchError(
            "E-EXPR-CONSTANT", f"{type(constant).__name__} needs a number and a dtype", found=repr(value),
            expected='a dtype and a number, as in IntImm("int32", 1)',
        )  # fmt: skip
    object.__setattr__(constant, "value", number(value))
    object.__setattr__(constant, "dtype", DataType(dtype))


@node
class StringImm(PrimExpr):
    """Text, as an argument of an intrinsic."""

    value: str
    dtype: DataType = DataType("handle")


@node
class Cast(PrimExpr):
    """`value` converted to `dtype`."""

    dtype: DataType
    value: PrimExpr


class BinaryExpr(PrimExpr):
    """The base of two-operand expressions over equal dtypes; the result has the operands' dtype."""

    __slots__ = ()
    a: PrimExpr
    b: PrimExpr

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.a.dtype)


class CompareExpr(BinaryExpr):
    """The base of comparisons: bool, lane by lane."""

    __slots__ = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", DataType("bool").with_lanes(self.a.dtype.lanes))


@node
class Add(BinaryExpr):
    a: PrimExpr
    b: PrimExpr


@node
class Sub(BinaryExpr):
    a: PrimExpr
    b: PrimExpr


@node
class Mul(BinaryExpr):
    a: PrimExpr
    b: PrimExpr


@node
class Div(BinaryExpr):
    """Division: of floats exact, of integers truncating."""

    a: PrimExpr
    b: PrimExpr


@node
class Mod(BinaryExpr):
    """The remainder of `Div`; its sign is that of `a`."""

    a: PrimExpr
    b: PrimExpr


@node
class FloorDiv(BinaryExpr):
    a: PrimExpr
    b: PrimExpr


@node
class FloorMod(BinaryExpr):
    """The remainder of `FloorDiv`; its sign is that of `b`."""

    a: PrimExpr
    b: PrimExpr


@node
class Min(BinaryExpr):
    a: PrimExpr
    b: PrimExpr


@node
class Max(BinaryExpr):
    a: PrimExpr
    b: PrimExpr


@node
class EQ(CompareExpr):
    a: PrimExpr
    b: PrimExpr


@node
class NE(CompareExpr):
    a: PrimExpr
    b: PrimExpr


@node
class LT(CompareExpr):
    a: PrimExpr
    b: PrimExpr


@node
class LE(CompareExpr):
    a: PrimExpr
    b: PrimExpr


@node
class GT(CompareExpr):
    a: PrimExpr
    b: PrimExpr


@node
class GE(CompareExpr):
    a: PrimExpr
    b: PrimExpr


@node
class And(BinaryExpr):
    """Logical and of bools."""

    a: PrimExpr
    b: PrimExpr


@node
class Or(BinaryExpr):
    """Logical or of bools."""

    a: PrimExpr
    b: PrimExpr


@node
class Not(PrimExpr):
    """Logical not of a bool."""

    a: PrimExpr

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.a.dtype)


@node
class Select(PrimExpr):
    """`true_value` where `condition`, else `false_value`; both are evaluated."""

    condition: PrimExpr
    true_value: PrimExpr
    false_value: PrimExpr

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.true_value.dtype)


@node
class Ramp(PrimExpr):
    """The vector base, base + stride, ... of `lanes` lanes."""

    base: PrimExpr
    stride: PrimExpr
    lanes: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.base.dtype.with_lanes(self.lanes))


@node
class Broadcast(PrimExpr):
    """A scalar repeated in `lanes` lanes."""

    value: PrimExpr
    lanes: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.value.dtype.with_lanes(self.lanes))


@node
class Let(PrimExpr):
    """`body` with `var` standing for `value`."""

    var: Var
    value: PrimExpr
    body: PrimExpr
    binds: ClassVar[tuple[str, ...]] = ("var",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.body.dtype)


@node
class Call(PrimExpr):
    """A call of an intrinsic, by its name in `arith.intrinsics.INTRINSICS`."""

    dtype: DataType
    op: str
    args: tuple[PrimExpr, ...]


def literal(value: Any, default: Any = None) -> Any:
    """The number or text of a constant; `default` for all else.

    Casts and lets have a `value` as well, which is an expression.
    """
    return value.value if isinstance(value, (IntImm, FloatImm, StringImm)) else default
