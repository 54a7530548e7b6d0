"""Loads and stores: scalars, whole vectors, strided and gathered vectors, masked ones.

A vector of stride 1 is one access.  Stride 2 reads exactly the elements between the first and the last one, in one
vector or two, and shuffles; stride -1 reverses; anything else gathers or scatters.  Bools and integers of less than 8
bits are bytes in memory.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...arith import nodes as n
from ...core.dtype import DataType
from ...tir import nodes as t
from ...tir.transforms.small_floats import is_small
from .accesses import REGISTER, load_at, shuffled, store_at
from .addresses import Place, pointer_to
from .arithmetic import suffix
from .types import BOOL, HANDLE, Value, constant, in_a_byte, llvm_type, memory_type

if TYPE_CHECKING:
    from .expressions import ExpressionEmitter


def load(self: ExpressionEmitter, buffer: t.Buffer, index: n.PrimExpr, where: Place | Value) -> Value:
    """The element or vector at `index`; `where` is the place of the ramp's base, of the scalar, or a vector's value."""
    held = _held(self, buffer, index, where) if self.registers.keeps(buffer) else None
    if held is not None:
        return held
    if isinstance(where, Value):
        return _gather(self, buffer, index, where)
    if isinstance(index, n.Broadcast) or not index.dtype.is_vector:
        scalar = _load_scalar(self, buffer, index, where)
        return self.broadcast(scalar, index.dtype.lanes) if index.dtype.is_vector else scalar
    stride = _stride(index)
    lanes = index.dtype.lanes
    if stride == 1:
        return _load_vector(self, buffer, index, where, lanes)
    if stride == -1 and self.mask is None:
        straight = _plain_load(self, buffer, where.moved(1 - lanes), lanes, 1)
        return shuffled(self, straight, straight, range(lanes - 1, -1, -1))
    if stride == 2 and self.mask is None:
        return _load_stride_two(self, buffer, where, lanes)
    return _gather(self, buffer, index, where)


def _held(self: ExpressionEmitter, buffer: t.Buffer, index: n.PrimExpr, where: Place | Value) -> Value | None:
    """The value of a load that is in registers, or is from now on."""
    plain = index.value if isinstance(index, n.Broadcast) else index
    if isinstance(where, Value) or (plain.dtype.is_vector and _stride(plain) != 1) or plain.dtype.scalable:
        return self.registers.load(buffer, None, 1, 1)
    lanes = plain.dtype.lanes
    align = _alignment(self, buffer, plain.base if isinstance(plain, n.Ramp) else plain)
    value = self.registers.load(buffer, where, lanes, align)
    return self.broadcast(value, index.dtype.lanes) if value is not None and plain is not index else value


def _keep(self: ExpressionEmitter, buffer: t.Buffer, index: n.PrimExpr, value: Value, mask: Value | None) -> bool:
    """Keep what is stored in registers; False if it must go to memory."""
    if (index.dtype.is_vector and _stride(index) != 1) or index.dtype.scalable:
        return self.registers.store(buffer, None, value, mask, 1)
    plain = index.base if isinstance(index, n.Ramp) else index
    return self.registers.store(buffer, self.place(plain), value, mask, _alignment(self, buffer, plain))


def store(self: ExpressionEmitter, buffer: t.Buffer, index: n.PrimExpr, value: Value, mask: Value | None) -> None:
    """Store a scalar or vector, where `mask` (if any) holds."""
    if self.registers.keeps(buffer) and _keep(self, buffer, index, value, mask):
        return
    value = _to_memory(self, value)
    if not index.dtype.is_vector:
        pointer = pointer_to(self, buffer, self.place(index))
        self.writer.emit(f"store {_memory_typed(value)}, ptr {pointer}, align {_alignment(self, buffer, index)}")
        return
    if _stride(index) == 1 and isinstance(index, n.Ramp):
        pointer = pointer_to(self, buffer, self.place(index.base))
        align = _alignment(self, buffer, index.base)
        store_at(self, Value(value.text, _byte(value.dtype)), pointer, align, mask)
        return
    _scatter(self, buffer, self.index(index), value, mask)


def _stride(index: n.PrimExpr) -> int | None:
    return index.stride.value if isinstance(index, n.Ramp) and isinstance(index.stride, n.IntImm) else None


# --- bools and narrow integers in memory ------------------------------------------------------------------------------


def _byte(dtype: DataType) -> DataType:
    return DataType("uint8").with_lanes(dtype.lanes) if in_a_byte(dtype) or is_small(dtype) else dtype


def _to_memory(self: ExpressionEmitter, value: Value) -> Value:
    if not in_a_byte(value.dtype):
        return value
    target = _byte(value.dtype)
    return self.assign(target, f"zext {value.typed} to {llvm_type(target)}")


def _from_memory(self: ExpressionEmitter, value: Value, dtype: DataType) -> Value:
    if is_small(dtype):
        return Value(value.text, dtype)
    if not in_a_byte(dtype):
        return value
    if not dtype.is_bool:
        return self.assign(dtype, f"trunc {value.typed} to {llvm_type(dtype)}")
    return self.assign(dtype, f"icmp ne {value.typed}, {constant(0, value.dtype)}")


def _memory_typed(value: Value) -> str:
    return f"{memory_type(value.dtype)} {value.text}"


def _memory_suffix(value: Value) -> str:
    return suffix(Value("", _byte(value.dtype)))


# --- plain accesses -----------------------------------------------------------------------------------------------


def _load_scalar(self: ExpressionEmitter, buffer: t.Buffer, index: n.PrimExpr, where: Place) -> Value:
    plain = index.value if isinstance(index, n.Broadcast) else index
    align = _alignment(self, buffer, plain)
    dtype = buffer.dtype
    pointer = pointer_to(self, buffer, where)
    if self.mask is not None:  # one lane's address, wanted by some lanes: read it only if any does
        return _guarded_scalar(self, dtype, pointer, align)
    return _from_memory(self, _read(self, buffer, dtype, pointer, align), dtype)


def _read(self: ExpressionEmitter, buffer: t.Buffer, dtype: DataType, pointer: str, align: int) -> Value:
    """What stands in memory at an address."""
    return load_at(self, _byte(dtype), pointer, align, None, lambda kind, text: _loaded(self, buffer, kind, text))


def _loaded(self: ExpressionEmitter, buffer: t.Buffer, dtype: DataType, text: str) -> Value:
    """The value of a load; one that nothing in between writes is read once."""
    if self.registers.keeps(buffer):  # it is written when it must be, which is later than the program says
        return self.assign(dtype, text)
    return self.numbering.load(dtype, text, id(buffer))


def _guarded_scalar(self: ExpressionEmitter, dtype: DataType, pointer: str, align: int) -> Value:
    assert self.mask is not None
    writer = self.writer
    name = f"llvm.vector.reduce.or.{suffix(self.mask)}"
    callee = writer.module.intrinsic(name, "i1", [llvm_type(self.mask.dtype)])
    wanted = self.assign(BOOL, f"call i1 {callee}({self.mask.typed})")
    read, done, before = writer.fresh("read"), writer.fresh("done"), writer.block
    writer.branch(wanted.text, read, done)
    writer.label(read)
    raw = self.assign(_byte(dtype), f"load {memory_type(dtype)}, ptr {pointer}, align {align}")
    writer.label(done)
    kind = memory_type(dtype)
    joined = self.assign(_byte(dtype), f"phi {kind} [ {raw.text}, %{read} ], [ zeroinitializer, %{before} ]")
    return _from_memory(self, joined, dtype)


def _plain_load(self: ExpressionEmitter, buffer: t.Buffer, first: Place, lanes: int, align: int) -> Value:
    dtype = buffer.dtype.with_lanes(lanes)
    raw = _read(self, buffer, dtype, pointer_to(self, buffer, first), max(align, buffer.dtype.bytes))
    return _from_memory(self, raw, dtype)


def _load_vector(self: ExpressionEmitter, buffer: t.Buffer, index: n.PrimExpr, where: Place, lanes: int) -> Value:
    assert isinstance(index, n.Ramp)
    align = _alignment(self, buffer, index.base)
    if self.mask is None:
        return _plain_load(self, buffer, where, lanes, align)
    dtype = buffer.dtype.with_lanes(lanes)
    pointer = pointer_to(self, buffer, where)
    raw = load_at(self, _byte(dtype), pointer, align, self.mask, lambda kind, text: _loaded(self, buffer, kind, text))
    return _from_memory(self, raw, dtype)


def _load_stride_two(self: ExpressionEmitter, buffer: t.Buffer, where: Place, lanes: int) -> Value:
    """Elements 0, 2, ... 2(lanes-1): one vector, or the first from 0 and the second from lanes-1; nothing beyond."""
    whole = 2 * lanes - 1
    if lanes % 2 and whole * buffer.dtype.bytes <= REGISTER:
        row = _plain_load(self, buffer, where, whole, 1)
        return shuffled(self, row, row, range(0, whole, 2))
    low = _plain_load(self, buffer, where, lanes, 1)
    high = _plain_load(self, buffer, where.moved(lanes - 1), lanes, 1)
    first = (lanes + 1) // 2
    picked = [*range(0, lanes, 2), *(1 + 2 * lane for lane in range(first, lanes))]
    return shuffled(self, low, high, picked)


# --- gather and scatter -------------------------------------------------------------------------------------------


def _addresses(self: ExpressionEmitter, buffer: t.Buffer, where: Value) -> str:
    base, _ = self.base_pointer(buffer)
    element = memory_type(buffer.dtype)
    text = f"getelementptr inbounds {element}, ptr {base}, {where.typed}"
    return self.assign(HANDLE, text).text


def _steps(self: ExpressionEmitter, buffer: t.Buffer, index: n.PrimExpr, where: Place) -> str:
    """The addresses of a ramp with an unusual stride."""
    assert isinstance(index, n.Ramp)
    stride = self.index(index.stride)
    self.index_depth += 1
    offsets = self.ramp(Value("0", stride.dtype), stride, index.dtype.lanes)
    self.index_depth -= 1
    text = f"getelementptr {memory_type(buffer.dtype)}, ptr {pointer_to(self, buffer, where)}, {offsets.typed}"
    return self.assign(HANDLE, text).text


def _full_mask(self: ExpressionEmitter, lanes: int, mask: Value | None) -> Value:
    dtype = BOOL.with_lanes(lanes)
    return mask if mask is not None else Value(constant(True, dtype), dtype)


def _gather(self: ExpressionEmitter, buffer: t.Buffer, index: n.PrimExpr, where: Place | Value) -> Value:
    lanes = index.dtype.lanes
    pointers = _steps(self, buffer, index, where) if isinstance(where, Place) else _addresses(self, buffer, where)
    mask = _full_mask(self, lanes, self.mask)
    dtype = buffer.dtype.with_lanes(lanes)
    kind = memory_type(dtype)
    name = f"llvm.masked.gather.{suffix(Value('', _byte(dtype)))}.v{lanes}p0"
    callee = self.writer.module.intrinsic(name, kind, [f"<{lanes} x ptr>", llvm_type(mask.dtype), kind])
    align = max(1, buffer.dtype.bytes)
    text = f"call {kind} {callee}(<{lanes} x ptr> align {align} {pointers}, {mask.typed}, {kind} zeroinitializer)"
    return _from_memory(self, _loaded(self, buffer, _byte(dtype), text), dtype)


def _scatter(self: ExpressionEmitter, buffer: t.Buffer, where: Value, value: Value, mask: Value | None) -> None:
    lanes = where.dtype.lanes
    pointers = _addresses(self, buffer, where)
    full = _full_mask(self, lanes, mask)
    kind = memory_type(value.dtype)
    name = f"llvm.masked.scatter.{_memory_suffix(value)}.v{lanes}p0"
    callee = self.writer.module.intrinsic(name, "void", [kind, f"<{lanes} x ptr>", llvm_type(full.dtype)])
    align = max(1, buffer.dtype.bytes)
    self.writer.emit(
        f"call void {callee}({_memory_typed(value)}, <{lanes} x ptr> align {align} {pointers}, {full.typed})"
    )


# --- alignment ----------------------------------------------------------------------------------------------------


def _alignment(self: ExpressionEmitter, buffer: t.Buffer, index: n.PrimExpr) -> int:
    """Bytes that the address of an element is known to be a multiple of."""
    unit = max(1, buffer.dtype.bytes)
    _, base = self.base_pointer(buffer)
    if base <= unit:
        return unit
    multiple = self.facts.multiple(index)
    return max(unit, math.gcd(base, multiple * unit) if multiple else base)
