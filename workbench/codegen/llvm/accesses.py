"""Vectors at an address: read and written whole, also where their lanes are no power of two.

LLVM does the others in pieces that are: seven lanes as four, two and one.  Where the target masks accesses (AVX-512),
one of whole registers takes their place, its lanes beyond the vector's masked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...core.dtype import DataType
from .arithmetic import suffix
from .types import BOOL, Value, llvm_type, memory_type

if TYPE_CHECKING:
    from .expressions import ExpressionEmitter

REGISTER = 64
"""Bytes of the widest register."""


def load_at(
    self: ExpressionEmitter, dtype: DataType, pointer: str, align: int, mask: Value | None,
    loaded: Callable[[DataType, str], Value],
) -> Value:  # fmt: skip
    """What stands at an address, zero where `mask` does not hold; `loaded` is told the access and gives its value."""
    if mask is not None:
        return _masked_load(self, dtype, pointer, align, mask, loaded)
    if not _in_pieces(self, dtype):
        return loaded(dtype, f"load {memory_type(dtype)}, ptr {pointer}, align {align}")
    whole = dtype.with_lanes(_power_of_two(dtype.lanes))
    wide = _masked_load(self, whole, pointer, align, _first_lanes(dtype), loaded)
    return shuffled(self, wide, wide, range(dtype.lanes))


def store_at(self: ExpressionEmitter, value: Value, pointer: str, align: int, mask: Value | None = None) -> None:
    """Store a value at an address, where `mask` holds."""
    if mask is None and not _in_pieces(self, value.dtype):
        self.writer.emit(f"store {memory_type(value.dtype)} {value.text}, ptr {pointer}, align {align}")
        return
    if mask is None:
        value, mask = _widened(self, value), _first_lanes(value.dtype)
    kind = memory_type(value.dtype)
    callee = self.writer.module.intrinsic(
        f"llvm.masked.store.{suffix(value)}.p0", "void", [kind, "ptr", llvm_type(mask.dtype)]
    )
    self.writer.emit(f"call void {callee}({kind} {value.text}, ptr align {align} {pointer}, {mask.typed})")


def shuffled(self: ExpressionEmitter, a: Value, b: Value, picked: Sequence[int]) -> Value:
    """The picked lanes of two vectors, those of `b` counted after those of `a`."""
    lanes = ", ".join(f"i32 {lane}" for lane in picked)
    dtype = a.dtype.with_lanes(len(picked))
    return self.assign(dtype, f"shufflevector {a.typed}, {b.typed}, <{len(picked)} x i32> <{lanes}>")


def _masked_load(
    self: ExpressionEmitter, dtype: DataType, pointer: str, align: int, mask: Value,
    loaded: Callable[[DataType, str], Value],
) -> Value:  # fmt: skip
    kind = memory_type(dtype)
    name = f"llvm.masked.load.{suffix(Value('', dtype))}.p0"
    callee = self.writer.module.intrinsic(name, kind, ["ptr", llvm_type(mask.dtype), kind])
    return loaded(dtype, f"call {kind} {callee}(ptr align {align} {pointer}, {mask.typed}, {kind} zeroinitializer)")


def _power_of_two(lanes: int) -> int:
    """The least that is not below."""
    return 1 << (lanes - 1).bit_length()


def _in_pieces(self: ExpressionEmitter, dtype: DataType) -> bool:
    """Whether LLVM would access a vector in pieces that a masked access of the target makes one."""
    lanes = dtype.lanes
    if dtype.scalable or lanes < 3 or lanes == _power_of_two(lanes):
        return False
    needed = {"avx512vl"} if dtype.with_lanes(1).bytes >= 4 else {"avx512vl", "avx512bw"}
    return needed <= self.writer.module.features


def _first_lanes(dtype: DataType) -> Value:
    """A mask over whole registers of the lanes that a vector has."""
    lanes, whole = dtype.lanes, _power_of_two(dtype.lanes)
    texts = ", ".join(f"i1 {str(lane < lanes).lower()}" for lane in range(whole))
    return Value(f"<{texts}>", BOOL.with_lanes(whole))


def _widened(self: ExpressionEmitter, value: Value) -> Value:
    """A vector with lanes of no meaning after it, as many as fill whole registers."""
    lanes, whole = value.dtype.lanes, _power_of_two(value.dtype.lanes)
    picked = ", ".join(f"i32 {lane}" if lane < lanes else "i32 poison" for lane in range(whole))
    kind = memory_type(value.dtype)
    text = f"shufflevector {kind} {value.text}, {kind} poison, <{whole} x i32> <{picked}>"
    return self.assign(value.dtype.with_lanes(whole), text)
