"""Arithmetic and checks on the dimensions of types, for the operators' type rules.

A dimension is an int, a scalar expression or `Any()`; what cannot be decided while compiling is accepted and left to
the checks at run time.  Everything here either answers or raises one located `WorkbenchError`.

>>> text((2, 3))
'(2, 3)'
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any as AnyValue
from typing import NoReturn

from ..arith import build
from ..arith.nodes import IntImm, PrimExpr
from ..core.equal import structural_equal
from ..core.errors import WorkbenchError
from ..relay.ir.operator import Operator, tensor_operand
from ..relay.ir.types import Any, Dimension, TensorType

Shape = tuple[Dimension, ...]


def refuse(
    op: Operator, code: str, message: str, *, found: AnyValue = "", expected: AnyValue = "", fix: str = ""
) -> NoReturn:
    """Raise the operator's located refusal."""
    raise WorkbenchError(code, f"{op.name}: {message}", found=str(found), expected=str(expected), fix=fix)


def tensor(op: Operator, value: AnyValue, which: str, rank: int | tuple[int, ...] | None = None) -> TensorType:
    """`value` as a tensor type of one of the given ranks."""
    found = tensor_operand(op, value, which)
    ranks = (rank,) if isinstance(rank, int) else rank
    if ranks is not None and len(found.shape) not in ranks:
        wanted = " or ".join(str(item) for item in ranks)
        refuse(op, "E-TYPE-RANK", f"{which} must have {wanted} axes", found=found, expected=f"{wanted} axes")
    return found


def same_dtype(op: Operator, *types: TensorType) -> AnyValue:
    """The one dtype of the operands."""
    first = types[0].dtype
    for other in types[1:]:
        if other.dtype != first:
            refuse(
                op, "E-TYPE-DTYPE", "operands have different dtypes",
                found=f"{first} and {other.dtype}", expected="equal dtypes", fix="cast one of them",
            )  # fmt: skip
    return first


def factor_dtype(op: AnyValue, data: TensorType, weight: TensorType) -> AnyValue:
    """The dtype of what is multiplied; int8 and uint8 go together where `out_dtype` says in what they are added up."""
    if op.out_dtype and {str(data.dtype), str(weight.dtype)} == {"int8", "uint8"}:
        return data.dtype
    return same_dtype(op, data, weight)


def float_dtype(op: Operator, kind: TensorType, which: str = "the operand") -> AnyValue:
    """The operand's dtype, which must be a float."""
    if not kind.dtype.is_float:
        refuse(op, "E-TYPE-DTYPE", f"{which} must be of a float dtype", found=kind.dtype, fix='cast it to "float32"')
    return kind.dtype


def plain(extent: AnyValue) -> Dimension:
    """A dimension with constant expressions as ints."""
    return extent.value if isinstance(extent, IntImm) else extent


def is_any(extent: Dimension) -> bool:
    return isinstance(extent, Any)


def same_dimension(a: Dimension, b: Dimension) -> bool | None:
    """Whether two dimensions are equal: True, False, or None when only the run can tell."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    if isinstance(a, PrimExpr) and isinstance(b, PrimExpr) and (a is b or structural_equal(a, b)):
        return True
    return None


_INT64 = range(-(1 << 63), 1 << 63)


def _combine(a: Dimension, b: Dimension, function: AnyValue, of_ints: AnyValue) -> Dimension:
    """`function` of two dimensions; for ints in range, which most are, `of_ints` says the same."""
    if type(a) is int and type(b) is int and a in _INT64 and b in _INT64 and (b or function is not build.floordiv):
        found = of_ints(a, b)
        if found in _INT64:
            return found
    if isinstance(a, Any) or isinstance(b, Any):
        return Any()
    if isinstance(a, int) and isinstance(b, int):
        return plain(function(build.const(a), build.const(b)))
    return plain(function(a, b))


def add(a: Dimension, b: Dimension) -> Dimension:
    return _combine(a, b, build.add, operator.add)


def subtract(a: Dimension, b: Dimension) -> Dimension:
    return _combine(a, b, build.subtract, operator.sub)


def multiply(a: Dimension, b: Dimension) -> Dimension:
    if a == 0 if isinstance(a, int) else False:
        return 0
    return _combine(a, b, build.multiply, operator.mul)


def floor_divide(a: Dimension, b: Dimension) -> Dimension:
    return _combine(a, b, build.floordiv, operator.floordiv)


def ceil_divide(a: Dimension, b: int) -> Dimension:
    return floor_divide(add(a, b - 1), b)


def product(extents: Iterable[Dimension]) -> Dimension:
    total: Dimension = 1
    for extent in extents:
        total = multiply(total, extent)
    return total


def unify(op: Operator, a: Dimension, b: Dimension, what: str) -> Dimension:
    """One dimension that must equal another: the better known of the two.  Raises when they surely differ."""
    answer = same_dimension(a, b)
    if answer is False:
        refuse(op, "E-TYPE-SHAPE", f"{what} do not agree", found=f"{a} and {b}", expected="equal dimensions")
    if isinstance(a, int) or is_any(b):
        return a
    return b if isinstance(b, int) or is_any(a) else a


def unify_shapes(op: Operator, a: Shape, b: Shape, what: str) -> Shape:
    """Two shapes that must be equal."""
    if len(a) != len(b):
        refuse(op, "E-TYPE-RANK", f"{what} do not agree", found=f"{text(a)} and {text(b)}", expected="equal shapes")
    return tuple(unify(op, one, other, what) for one, other in zip(a, b, strict=True))


def broadcast(op: Operator, *shapes: Shape) -> Shape:
    """The common shape of operands by NumPy's rule: axes align at the end, extents of 1 stretch."""
    rank = max(len(shape) for shape in shapes)
    result: list[Dimension] = []
    for position in range(rank):
        current: Dimension = 1
        for shape in shapes:
            offset = position - (rank - len(shape))
            if offset >= 0:
                current = _broadcast_dimension(op, current, shape[offset], shapes)
        result.append(current)
    return tuple(result)


def _broadcast_dimension(op: Operator, a: Dimension, b: Dimension, shapes: Sequence[Shape]) -> Dimension:
    answer = same_dimension(a, b)
    if answer:
        return a
    for one, other in ((a, b), (b, a)):
        if isinstance(one, int):
            if one == 1:
                return other
            if not isinstance(other, int):
                return one
    if answer is False:
        refuse(
            op, "E-TYPE-BROADCAST", "the shapes do not broadcast",
            found=" and ".join(text(shape) for shape in shapes),
            expected="extents that are equal or 1, counted from the last axis",
        )  # fmt: skip
    return Any()


def normalized_axis(op: Operator, axis: int, rank: int, what: str = "axis") -> int:
    """`axis` counted from the front; negative ones count from the back."""
    if not -rank <= axis < rank:
        refuse(
            op, "E-TYPE-AXIS", f"{what} {axis} is outside a tensor of {rank} axes",
            expected=f"{-rank} to {rank - 1}" if rank else "no axis: the tensor is a scalar",
        )  # fmt: skip
    return axis + rank if axis < 0 else axis


def normalized_axes(op: Operator, axes: Sequence[int], rank: int, what: str = "axis") -> tuple[int, ...]:
    """Distinct axes counted from the front, in the order given."""
    result = tuple(normalized_axis(op, axis, rank, what) for axis in axes)
    if len(set(result)) != len(result):
        refuse(op, "E-TYPE-AXIS", f"{what} names one axis twice", found=str(tuple(axes)))
    return result


def known(op: Operator, extent: Dimension, what: str) -> int:
    """A dimension that must be known while compiling."""
    if isinstance(extent, int):
        return extent
    refuse(op, "E-TYPE-DYNAMIC", f"{what} must be known while compiling", found=extent, fix="give shape= on import")


def whole(shape: Shape) -> tuple[int, ...]:
    """A shape of a run, where every extent is an int."""
    return tuple(extent for extent in shape if isinstance(extent, int))


def known_shape(op: Operator, kind: TensorType, which: str) -> tuple[int, ...]:
    return tuple(known(op, extent, f"the shape of {which}") for extent in kind.shape)


def text(shape: Shape) -> str:
    """A shape for messages."""
    parts = ["?" if isinstance(extent, Any) else _name(extent) for extent in shape]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _name(extent: AnyValue) -> str:
    return str(extent) if isinstance(extent, int) else getattr(extent, "name", repr(extent))


def some_elements(op: Operator, kind: TensorType, axes: Iterable[int], message: str) -> None:
    """Refuse a tensor of which one of `axes` is known to be empty."""
    if any(extent == 0 for extent in (kind.shape[axis] for axis in axes) if isinstance(extent, int)):
        refuse(op, "E-TYPE-EMPTY", message, found=kind)
