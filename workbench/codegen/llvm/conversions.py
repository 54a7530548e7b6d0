"""Casts.  Float to integer truncates and saturates, NaN gives 0; everything to bool asks "is it nonzero"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.dtype import DataType
from ...core.errors import WorkbenchError
from .arithmetic import suffix
from .types import Value, constant, llvm_type

if TYPE_CHECKING:
    from .expressions import ExpressionEmitter


def cast(self: ExpressionEmitter, value: Value, target: DataType) -> Value:
    """`value` as `target` (of as many lanes)."""
    source = value.dtype
    if source == target:
        return value
    if source.lanes != target.lanes:
        raise WorkbenchError("E-CODEGEN-LANES", f"a cast from {source} to {target} changes the number of lanes")
    if target.is_bool:
        return _to_bool(self, value, target)
    if source.is_float and target.is_float:
        return _float_to_float(self, value, target)
    if source.is_float:
        return _float_to_integer(self, value, target)
    if target.is_float:
        return _integer_to_float(self, value, target)
    return _integer_to_integer(self, value, target)


def _convert(self: ExpressionEmitter, opcode: str, value: Value, target: DataType) -> Value:
    return self.assign(target, f"{opcode} {value.typed} to {llvm_type(target)}")


def _to_bool(self: ExpressionEmitter, value: Value, target: DataType) -> Value:
    if value.dtype.code == "bfloat":
        value = _from_bfloat(self, value)
    compare = "fcmp une" if value.dtype.is_float else "icmp ne"
    return self.assign(target, f"{compare} {value.typed}, {constant(0, value.dtype)}")


def _float_to_float(self: ExpressionEmitter, value: Value, target: DataType) -> Value:
    source = value.dtype
    if source.code == "bfloat":  # float16 and bfloat16 have only float32 in common
        return cast(self, _from_bfloat(self, value), target)
    if target.code == "bfloat":
        return _to_bfloat(self, value if source.bits == 32 else cast(self, value, _float32(source)), target)
    return _convert(self, "fpext" if source.bits < target.bits else "fptrunc", value, target)


def _from_bfloat(self: ExpressionEmitter, value: Value) -> Value:
    """The upper half of a float32."""
    wide, narrow = (DataType(name).with_lanes(value.dtype.lanes) for name in ("uint32", "uint16"))
    bits = _convert(self, "zext", Value(value.text, narrow), wide)
    upper = self.assign(wide, f"shl {bits.typed}, {constant(16, wide)}")
    return _convert(self, "bitcast", upper, _float32(value.dtype))


def _to_bfloat(self: ExpressionEmitter, value: Value, target: DataType) -> Value:
    """float32 rounded to its upper half, ties to even.

    The instruction for it (x86 AVX512-BF16) takes denormal numbers for zeros.
    """
    wide, narrow = (DataType(name).with_lanes(target.lanes) for name in ("uint32", "uint16"))
    bits = self.assign(wide, f"bitcast {value.typed} to {llvm_type(wide)}")
    upper = self.assign(wide, f"lshr {bits.typed}, {constant(16, wide)}")
    odd = self.assign(wide, f"and {upper.typed}, {constant(1, wide)}")
    half = self.assign(wide, f"add {odd.typed}, {constant(0x7FFF, wide)}")
    rounded = self.assign(wide, f"add {bits.typed}, {half.text}")
    quiet = self.assign(wide, f"or {bits.typed}, {constant(0x400000, wide)}")
    unordered = self.assign(DataType("bool").with_lanes(target.lanes), f"fcmp uno {value.typed}, {value.text}")
    chosen = self.assign(wide, f"select {unordered.typed}, {quiet.typed}, {rounded.typed}")
    high = self.assign(wide, f"lshr {chosen.typed}, {constant(16, wide)}")
    return Value(_convert(self, "trunc", high, narrow).text, target)


def _float_to_integer(self: ExpressionEmitter, value: Value, target: DataType) -> Value:
    if value.dtype.bits == 16:
        value = cast(self, value, _float32(value.dtype))
    if target.is_vector and target.bits < 32 and not target.is_bool:
        return _clamped(self, value, target)
    if target.is_vector and target.is_int and target.bits >= 32 and "sse2" in self.writer.module.features:
        return _saturated(self, value, target)
    name = f"llvm.fpto{'s' if target.is_int else 'u'}i.sat"
    full = f"{name}.{suffix(Value('', target))}.{suffix(value)}"
    callee = self.writer.module.intrinsic(full, llvm_type(target), [llvm_type(value.dtype)])
    return self.assign(target, f"call {llvm_type(target)} {callee}({value.typed})")


def _clamped(self: ExpressionEmitter, value: Value, target: DataType) -> Value:
    """Vectors of small integers: brought into their range as floats, then by way of int32.

    LLVM would saturate lane by lane.
    """
    truth, wide = (DataType(name).with_lanes(target.lanes) for name in ("bool", "int32"))
    least, greatest = (constant(float(limit), value.dtype) for limit in target.limits())
    above = self.assign(truth, f"fcmp ogt {value.typed}, {least}")  # not of NaN, which gives the least number
    inside = self.assign(value.dtype, f"select {above.typed}, {value.typed}, {llvm_type(value.dtype)} {least}")
    below = self.assign(truth, f"fcmp olt {inside.typed}, {greatest}")
    inside = self.assign(value.dtype, f"select {below.typed}, {inside.typed}, {llvm_type(value.dtype)} {greatest}")
    narrow = _convert(self, "trunc", _convert(self, "fptosi", inside, wide), target)
    if not target.is_int:
        return narrow
    unordered = self.assign(truth, f"fcmp uno {value.typed}, {value.text}")
    return self.assign(target, f"select {unordered.typed}, {_typed(0, target)}, {narrow.typed}")


def _saturated(self: ExpressionEmitter, value: Value, target: DataType) -> Value:
    """Vectors on x86, whose instruction does not saturate: LLVM would convert and compare lane by lane."""
    truth = DataType("bool").with_lanes(target.lanes)
    least, greatest = target.limits()
    inside = _convert(self, "fptosi", value, target)
    result = self.assign(target, f"freeze {inside.typed}")
    for test, bound, limit in (("olt", float(least), least), ("oge", float(greatest + 1), greatest)):
        outside = self.assign(truth, f"fcmp {test} {value.typed}, {constant(bound, value.dtype)}")
        result = self.assign(target, f"select {outside.typed}, {_typed(limit, target)}, {result.typed}")
    unordered = self.assign(truth, f"fcmp uno {value.typed}, {value.text}")
    return self.assign(target, f"select {unordered.typed}, {_typed(0, target)}, {result.typed}")


def _typed(number: int, dtype: DataType) -> str:
    return Value(constant(number, dtype), dtype).typed


def _integer_to_float(self: ExpressionEmitter, value: Value, target: DataType) -> Value:
    opcode = "sitofp" if value.dtype.is_int else "uitofp"
    if target.code == "bfloat" or (target.bits == 16 and value.dtype.bits > 8):
        return cast(self, _convert(self, opcode, value, _float32(target)), target)
    return _convert(self, opcode, value, target)


def _integer_to_integer(self: ExpressionEmitter, value: Value, target: DataType) -> Value:
    source = value.dtype
    if source.bits == target.bits and not source.is_bool:
        return Value(value.text, target)
    if source.bits > target.bits:
        return _convert(self, "trunc", value, target)
    return _convert(self, "sext" if source.is_int else "zext", value, target)


def _float32(like: DataType) -> DataType:
    return DataType("float32").with_lanes(like.lanes)
