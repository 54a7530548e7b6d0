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
    compare = "fcmp une" if value.dtype.is_float else "icmp ne"
    return self.assign(target, f"{compare} {value.typed}, {constant(0, value.dtype)}")


def _float_to_float(self: ExpressionEmitter, value: Value, target: DataType) -> Value:
    source = value.dtype
    if source.bits == target.bits:  # float16 and bfloat16 have only float32 in common
        return cast(self, cast(self, value, _float32(source)), target)
    return _convert(self, "fpext" if source.bits < target.bits else "fptrunc", value, target)


def _float_to_integer(self: ExpressionEmitter, value: Value, target: DataType) -> Value:
    if value.dtype.bits == 16:
        value = cast(self, value, _float32(value.dtype))
    name = f"llvm.fpto{'s' if target.is_int else 'u'}i.sat"
    full = f"{name}.{suffix(Value('', target))}.{suffix(value)}"
    callee = self.writer.module.intrinsic(full, llvm_type(target), [llvm_type(value.dtype)])
    return self.assign(target, f"call {llvm_type(target)} {callee}({value.typed})")


def _integer_to_float(self: ExpressionEmitter, value: Value, target: DataType) -> Value:
    opcode = "sitofp" if value.dtype.is_int else "uitofp"
    if target.bits == 16 and value.dtype.bits > 8:
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
