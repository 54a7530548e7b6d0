"""Converters that bring attribute values into canonical form: tuples of ints, dtypes, optional values.

Each raises `ValueError` with what it expected; `relay.ir.operator.attribute` turns that into a located refusal.

>>> pair(3), padding4([1, 2]), integers([1, 2])
((3, 3), (1, 2, 1, 2), (1, 2))
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from ..arith.nodes import IntImm, PrimExpr
from ..core.dtype import DataType
from ..relay.ir.types import Any as AnyDimension


def integer(value: Any) -> int:
    """One int."""
    if isinstance(value, IntImm):
        return value.value
    if isinstance(value, numbers.Integral):
        return int(value)
    if getattr(value, "shape", None) == () and float(value) == int(value):
        return int(value)
    raise ValueError("an int")


def boolean(value: Any) -> bool:
    if isinstance(value, (bool, int)) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    raise ValueError("True or False")


def number(value: Any) -> float | int:
    """One number, as a Python int or float."""
    if isinstance(value, bool) or type(value).__name__ == "bool_":
        return int(value)
    if getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, numbers.Real):
        try:
            nearest = float(value)
        except OverflowError:  # a whole number is exact in Python, and greater than any that a tensor holds
            raise ValueError("a number of at most 1.8e308 (or inf)") from None
        return int(value) if isinstance(value, numbers.Integral) else nearest
    raise ValueError("a number")


def real(value: Any) -> float:
    return float(number(value))


def integers(value: Any) -> tuple[int, ...]:
    """One int or several, as a tuple."""
    if isinstance(value, numbers.Integral) or isinstance(value, IntImm):
        return (integer(value),)
    if not hasattr(value, "__iter__") or isinstance(value, str):
        raise ValueError("an int or a sequence of ints")
    return tuple(integer(item) for item in value)


def pair(value: Any) -> tuple[int, int]:
    """One int for both axes, or two."""
    found = integers(value)
    if len(found) == 1:
        return (found[0], found[0])
    if len(found) != 2:
        raise ValueError("one or two ints")
    return (found[0], found[1])


def single(value: Any) -> tuple[int]:
    found = integers(value)
    if len(found) != 1:
        raise ValueError("one int")
    return (found[0],)


def padding4(value: Any) -> tuple[int, int, int, int]:
    """(top, left, bottom, right) from one int, (height, width), or all four."""
    found = integers(value)
    if len(found) not in (1, 2, 4):
        raise ValueError("one, two or four ints")
    four = found * (4 // len(found))
    return (four[0], four[1], four[2], four[3])


def triple(value: Any) -> tuple[int, int, int]:
    """One int for all three axes, or three."""
    found = integers(value)
    if len(found) not in (1, 3):
        raise ValueError("one or three ints")
    three = found * (3 // len(found))
    return (three[0], three[1], three[2])


def padding6(value: Any) -> tuple[int, ...]:
    """(front, top, left, back, bottom, right) from one int, three, or all six."""
    found = integers(value)
    if len(found) not in (1, 3, 6):
        raise ValueError("one, three or six ints")
    return found * (6 // len(found))


def padding2(value: Any) -> tuple[int, int]:
    """(left, right) from one int or two."""
    return pair(value)


def shape(value: Any) -> tuple[Any, ...]:
    """Dimensions: ints, expressions or Any()."""
    if isinstance(value, (numbers.Integral, PrimExpr)):
        value = (value,)
    if not hasattr(value, "__iter__") or isinstance(value, str):
        raise ValueError("a sequence of dimensions")
    return tuple(
        item
        if isinstance(item, AnyDimension) or (isinstance(item, PrimExpr) and not isinstance(item, IntImm))
        else integer(item)
        for item in value
    )


def pad_width(value: Any) -> tuple[tuple[int, int], ...]:
    """((before, after), ...) of each axis."""
    return tuple(pair(item) for item in value)


def dtype(value: Any) -> DataType:
    return DataType(value)


def dtype_or_same(value: Any) -> str:
    """A dtype, or "" for that of the operand."""
    return DataType(value) if value else ""


def optional(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """None, or what `convert` accepts."""

    def apply(value: Any) -> Any:
        return None if value is None else convert(value)

    return apply


def sections(value: Any) -> int | tuple[int, ...]:
    """A number of equal parts, or the indices where parts begin."""
    return integer(value) if isinstance(value, numbers.Integral) else integers(value)
