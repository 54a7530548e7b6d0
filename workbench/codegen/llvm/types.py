"""LLVM's spelling of dtypes and constants, and of names.

User-chosen names never reach LLVM as they are: `symbol` makes a slug, and every value is named by a counter.

>>> llvm_type(DataType("float32x16"))
'<16 x float>'
"""

from __future__ import annotations

import hashlib
import math
import re
import struct
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from ...core.dtype import DataType
from ...tir.transforms.small_floats import is_small

_FLOATS: Final = {("float", 16): "half", ("float", 32): "float", ("float", 64): "double", ("bfloat", 16): "i16"}
"""bfloat16 is moved as bits and computed in float32: where the processor has no instructions for it, LLVM calls a
function that rounds, and that nobody links, whenever a value goes from one basic block to another."""
INDEX: Final = DataType("int64")
BOOL: Final = DataType("bool")
INT32: Final = DataType("int32")
HANDLE: Final = DataType("handle")


class Value(NamedTuple):
    """An SSA value or constant: its text and dtype."""

    text: str
    dtype: DataType

    @property
    def typed(self) -> str:
        """``float %v3``."""
        return f"{llvm_type(self.dtype)} {self.text}"


@cache
def llvm_type(dtype: DataType) -> str:
    """The type of a value in a register; a bool is i1."""
    return _with_lanes(dtype, _scalar(dtype))


@cache
def memory_type(dtype: DataType) -> str:
    """The type of a value in memory; bools and integers of less than 8 bits take a byte."""
    return _with_lanes(dtype, "i8" if in_a_byte(dtype) else _scalar(dtype))


def in_a_byte(dtype: DataType) -> bool:
    """Whether a value is narrower in a register than in memory, where zeros fill its byte."""
    return dtype.is_bool or (dtype.is_integer and dtype.bits < 8)


def _with_lanes(dtype: DataType, scalar: str) -> str:
    if dtype.scalable:
        return f"<vscale x {dtype.lanes} x {scalar}>"
    return scalar if dtype.lanes == 1 else f"<{dtype.lanes} x {scalar}>"


def _scalar(dtype: DataType) -> str:
    if dtype.is_handle:
        return "ptr"
    if dtype.code == "void":
        return "void"
    if dtype.is_bool:
        return "i1"
    if dtype.is_integer:
        return f"i{dtype.bits}"
    if is_small(dtype):
        return "i8"
    return _FLOATS[dtype.code, dtype.bits]


def constant(value: Any, dtype: DataType) -> str:
    """The text of a constant (a splat for vectors)."""
    scalar = dtype.element_of
    text = _scalar_constant(value, scalar)
    return splat(text, dtype) if dtype.is_vector else text


def _scalar_constant(value: Any, dtype: DataType) -> str:
    if dtype.is_bool:
        return "true" if value else "false"
    if dtype.is_integer:
        return str(int(value))
    number = float(value)
    if is_small(dtype):
        return str(int(np.asarray(number, dtype.to_numpy()).view(np.uint8)))
    if dtype.bits == 16:
        bits = int(np.asarray(number, dtype.to_numpy()).view(np.uint16))
        return str(bits) if dtype.code == "bfloat" else f"0xH{bits:04X}"
    if dtype.bits == 32 and not math.isnan(number):
        number = float(np.float32(number))
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"


def splat(text: str, dtype: DataType) -> str:
    return f"splat ({llvm_type(dtype.element_of)} {text})"


def is_constant(text: str) -> bool:
    """True for the text of a constant."""
    return not text.startswith("%")


_SLUG: Final = re.compile(r"[^A-Za-z0-9_]+")


def symbol(name: str) -> str:
    """A safe symbol that recalls `name`, and depends on nothing else: a kernel compiled before is found again."""
    slug = _SLUG.sub("_", name)[:48].strip("_") or "f"
    return f"wb_{slug}_{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def c_string(text: str) -> tuple[str, int]:
    """An LLVM string constant (null-terminated) and its length in bytes."""
    data = text.encode("utf-8", "replace").replace(b"\0", b"?") + b"\0"
    shown = "".join(chr(byte) if 32 <= byte < 127 and byte not in (34, 92) else f"\\{byte:02X}" for byte in data)
    return f'c"{shown}"', len(data)
