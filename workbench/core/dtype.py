"""Data types: a code, a width in bits and a number of lanes, written as text such as ``float32x16``.

`DataType` is a `str`, interned by its canonical spelling, so `expr.dtype == "float32"` holds as it does in the
classic API, and a dtype prints, hashes and serialises as its name.  Lanes are fixed (``x16``) or scalable
(``xvscalex4``).  Small floats (bfloat16, float8_*, float4_*) are those of `ml_dtypes`.

>>> DataType("float32x16").lanes
16
>>> DataType("int8").with_lanes(4)
'int8x4'
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

import numpy as np

from .errors import WorkbenchError

_PATTERN: Final = re.compile(
    r"^(bool|handle|void|uint|int|bfloat|float8_e4m3fnuz|float8_e4m3fn|float8_e5m2fnuz|float8_e5m2|float4_e2m1fn|float)(\d*)(?:x(vscalex)?(\d+))?$"
)
_WIDTHS: Final = {
    "int": (1, 2, 4, 8, 16, 32, 64),
    "uint": (1, 2, 4, 8, 16, 32, 64),
    "float": (16, 32, 64),
    "bfloat": (16,),
}
_DEFAULT_WIDTH: Final = {"int": 32, "uint": 32, "float": 32, "bfloat": 16}
_SMALL_FLOATS: Final = {
    "float8_e4m3fn": 8,
    "float8_e4m3fnuz": 8,
    "float8_e5m2": 8,
    "float8_e5m2fnuz": 8,
    "float4_e2m1fn": 4,
}
"""Widths in bits; each value takes a byte in memory."""


class DataType(str):
    """A scalar or vector element type; see the module's header for its spelling."""

    __slots__ = (
        "bits", "code", "ends", "is_bool", "is_float", "is_handle", "is_int", "is_integer", "is_uint", "is_vector",
        "lanes", "scalable",
    )  # fmt: skip
    code: str
    bits: int
    lanes: int
    scalable: bool
    is_float: bool
    is_int: bool
    """True for signed integers."""
    is_uint: bool
    is_integer: bool
    """True for signed and unsigned integers; bool is not one."""
    is_bool: bool
    is_handle: bool
    is_vector: bool
    ends: tuple[int, int]

    def __new__(cls, text: str | type | np.dtype) -> DataType:
        if isinstance(text, DataType):
            return text
        return _intern(text if isinstance(text, str) else np.dtype(text).name)

    def __reduce__(self) -> tuple[type[DataType], tuple[str]]:
        return (DataType, (str(self),))

    @property
    def bytes(self) -> int:
        """Bytes that one element occupies in memory (a bool takes one byte)."""
        return self.lanes * ((self.bits + 7) // 8)

    @property
    def element_of(self) -> DataType:
        """The type of one lane."""
        return _with_lanes(self, 1, False) if self.is_vector else self

    def with_lanes(self, lanes: int, scalable: bool = False) -> DataType:
        """The same element type with another number of lanes."""
        return _with_lanes(self, lanes, scalable)

    def to_numpy(self) -> np.dtype:
        """The NumPy dtype of one lane.  Raises `WorkbenchError` for handle and void."""
        return _numpy_dtype(self.element_of)

    def holds(self, other: DataType) -> bool:
        """Whether every value of `other` is one of this dtype; both are integers."""
        if not (self.is_integer and other.is_integer):
            return False
        (low, high), (least, most) = self.element_of.limits(), other.element_of.limits()
        return low <= least and most <= high

    def limits(self) -> tuple[int, int]:
        """Least and greatest value of an integer or bool type."""
        return self.ends


@cache
def _with_lanes(dtype: DataType, lanes: int, scalable: bool) -> DataType:
    scalar = str(dtype).split("x", 1)[0] if dtype.code not in _SMALL_FLOATS else dtype.code
    if lanes == 1 and not scalable:
        return DataType(scalar)
    return DataType(f"{scalar}x{'vscalex' if scalable else ''}{lanes}")


@cache
def _intern(text: str) -> DataType:
    code, bits, lanes, scalable = _split(text)
    name = code if code in ("bool", "handle", "void") or code in _SMALL_FLOATS else f"{code}{bits}"
    if lanes != 1 or scalable:
        name += f"x{'vscalex' if scalable else ''}{lanes}"
    if name != text:
        return _intern(name)
    made = str.__new__(DataType, name)
    made.code, made.bits, made.lanes, made.scalable = code, bits, lanes, scalable
    made.is_float = code in ("float", "bfloat") or code in _SMALL_FLOATS
    made.is_int, made.is_uint = code == "int", code == "uint"
    made.is_integer = made.is_int or made.is_uint
    made.is_bool, made.is_handle = code == "bool", code == "handle"
    made.is_vector = lanes > 1 or scalable
    half = 2**bits // 2
    made.ends = (0, 1) if made.is_bool else (0, 2 * half - 1) if made.is_uint else (-half, half - 1)
    return made


def _split(text: str) -> tuple[str, int, int, bool]:
    matched = _PATTERN.match(text)
    if matched is None:
        raise _unknown(text)
    code, width, scalable, lanes = matched.groups()
    count = int(lanes) if lanes else 1
    if code in _SMALL_FLOATS:
        return code, _SMALL_FLOATS[code], count, bool(scalable)
    if code in ("bool", "handle", "void"):
        return code, {"bool": 1, "handle": 64, "void": 0}[code], count, bool(scalable)
    bits = int(width) if width else _DEFAULT_WIDTH.get(code, 0)
    if bits not in _WIDTHS.get(code, ()) or count < 1:
        raise _unknown(text)
    return code, bits, count, bool(scalable)


@cache
def _numpy_dtype(dtype: DataType) -> np.dtype:
    if dtype.code in ("handle", "void"):
        raise WorkbenchError("E-DTYPE-NUMPY", f"dtype {dtype} has no NumPy counterpart")
    if dtype.code == "bfloat" or dtype.code in _SMALL_FLOATS or (dtype.is_integer and dtype.bits in (2, 4)):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, str(dtype)))
    return np.dtype(str(dtype))


def _unknown(text: str) -> WorkbenchError:
    return WorkbenchError(
        "E-DTYPE-UNKNOWN",
        f"{text!r} is not a data type",
        found=repr(text)[:80],
        expected="float16/32/64, bfloat16, int or uint of 8/16/32/64 bits, bool, handle; with lanes: float32x8",
        fix='write for example "float32"',
    )
