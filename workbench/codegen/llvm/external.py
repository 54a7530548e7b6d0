"""Emitting calls out of the program: packed functions by name, C functions by symbol, LLVM's own intrinsics.

A packed function gets its arguments as values of the tvm-ffi calling convention (16 bytes each); tensors are DLPack
structures on the stack, with strides always.  It is called from the function's own thread only, since its error
belongs to that thread.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

from ...arith import nodes as n
from ...core.dtype import DataType
from ...core.errors import WorkbenchError
from ...core.node import pre_order
from ...core.per_node import per_node
from ...tir import nodes as t
from . import conversions
from .intrinsics import refusal
from .signature import dlpack_code
from .types import HANDLE, INDEX, INT32, Value, llvm_type

if TYPE_CHECKING:
    from .expressions import ExpressionEmitter
    from .statements import BodyEmitter

C_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
NONE, INTEGER, BOOLEAN, FLOAT, POINTER, TENSOR, TEXT = 0, 1, 2, 3, 4, 7, 8
"""Kinds of values, by their numbers in tvm-ffi."""
ANY: Final = "{ i32, i32, i64 }"
DLTENSOR: Final = "{ ptr, i32, i32, i32, i8, i8, i16, ptr, ptr, i64 }"
CPU: Final = 1
MOST_ARGUMENTS: Final = 64
"""Of a packed call; the native runtime has room for so many."""


def name_argument(node: n.Call) -> str:
    """The name that a call_tir, call_extern or call_packed begins with."""
    first = node.args[0] if node.args else None
    if not isinstance(first, n.StringImm):
        raise WorkbenchError("E-CODEGEN-CALL", f"{node.op} begins with the name of a function", nodes=(node,))
    return first.value


@per_node
def extern_names(func: t.PrimFunc) -> frozenset[str]:
    """The C functions that a function calls by symbol."""
    calls = (node for node in pre_order(func.body) if isinstance(node, n.Call))
    found = {name_argument(node) for node in calls if node.op in ("call_extern", "call_pure_extern")}
    return frozenset(found - {"wb_report"})


def _body(self: ExpressionEmitter) -> BodyEmitter:
    """The emitter of a whole body: statements' calls have effects, which need control flow."""
    return cast("BodyEmitter", self)


def call_extern(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
    """A C function by symbol; texts among the arguments go as pointers."""
    name = name_argument(node)
    if name == "wb_report":
        return _body(self).report(node, arguments)
    if not C_NAME.fullmatch(name) or name.startswith("llvm."):  # LLVM's own go through call_llvm, which knows them
        raise WorkbenchError("E-CODEGEN-EXTERN", f"{name!r} is not the name of a C function", nodes=(node,))
    given = with_texts(self, node, arguments)
    if any(value.dtype.is_vector for value in given):
        raise WorkbenchError("E-CODEGEN-EXTERN", f"{name} is called with vectors", nodes=(node,))
    return _called(self, node, self.writer.module.intrinsic(
        name, llvm_type(node.dtype), [llvm_type(value.dtype) for value in given]
    ), given)  # fmt: skip


def _called(self: ExpressionEmitter, node: n.Call, callee: str, given: list[Value]) -> Value:
    result = llvm_type(node.dtype)
    text = f"call {result} {callee}({', '.join(value.typed for value in given)})"
    if result == "void":
        self.writer.emit(text)
        return Value("poison", node.dtype)
    return self.assign(node.dtype, text)


def with_texts(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> list[Value]:
    """The values of all arguments after the name: `arguments` are those that are no texts."""
    rest = iter(arguments)
    return [
        Value(self.writer.module.string(argument.value), HANDLE) if isinstance(argument, n.StringImm) else next(rest)
        for argument in node.args[1:]
    ]


def call_llvm(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
    """An intrinsic of LLVM by its full name, if the target has the instruction: LLVM ends the process when not."""
    name = name_argument(node)
    why = refusal(name, self.writer.module.features)
    if why:
        raise WorkbenchError(
            "E-CODEGEN-INTRINSIC", f"the target cannot run {name}", found=why,
            expected="a target with the instruction", fix="choose another intrinsic or target: -mcpu=, -mattr=",
            nodes=(node,),
        )  # fmt: skip
    callee = self.writer.module.intrinsic(name, llvm_type(node.dtype), [llvm_type(value.dtype) for value in arguments])
    return _called(self, node, callee, arguments)


def vector_load(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
    """Elements one after the other from an address; as aligned as one element of the buffer."""
    address = node.args[0]
    load = address.args[0] if isinstance(address, n.Call) and address.args else None
    unit = max(1, load.dtype.element_of.bytes) if load is not None else 1
    return self.assign(node.dtype, f"load {llvm_type(node.dtype)}, ptr {arguments[0].text}, align {unit}")


# --- packed functions ---------------------------------------------------------------------------------------------


def _store(self: ExpressionEmitter, kind: str, base: str, path: str, value: str) -> None:
    slot = self.assign(HANDLE, f"getelementptr inbounds {kind}, ptr {base}, {path}")
    self.writer.emit(f"store {value}, ptr {slot.text}, align 4")


def make_shape(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
    """Extents, as int64 in memory of the function."""
    array = self.writer.alloca(f"[{max(1, len(arguments))} x i64]", 8)
    for position, value in enumerate(arguments):
        wide = _widened(self, value)
        slot = self.assign(HANDLE, f"getelementptr inbounds i64, ptr {array}, i64 {position}")
        self.writer.emit(f"store {wide.typed}, ptr {slot.text}, align 8")
    return Value(array, HANDLE)


def _widened(self: ExpressionEmitter, value: Value) -> Value:
    if value.dtype == INDEX:
        return value
    return self.assign(
        INDEX, f"{'zext' if value.dtype.is_bool or value.dtype.is_uint else 'sext'} {value.typed} to i64"
    )


def make_array(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
    """A DLPack tensor on the stack; see `arith.intrinsics`."""
    address, shape, strides, rank, zero, offset = arguments
    if not rank.text.isdigit():
        raise WorkbenchError("E-CODEGEN-CALL", "the rank of a tensor argument is a constant", nodes=(node,))
    count = int(rank.text)
    if not (isinstance(node.args[2], n.Call) and node.args[2].op == "tvm_stack_make_shape"):
        strides = _compact_strides(self, shape, count)
    tensor = self.writer.alloca(DLTENSOR, 8)
    code, bits = dlpack_code(zero.dtype)
    unit = max(1, zero.dtype.bytes)
    begin = self.assign(INDEX, f"mul nsw {_widened(self, offset).typed}, {unit}")
    fields = (
        f"ptr {address.text}", f"i32 {CPU}", "i32 0", f"i32 {count}", f"i8 {code}", f"i8 {bits}", "i16 1",
        f"ptr {shape.text}", f"ptr {strides.text}", begin.typed,
    )  # fmt: skip
    for position, value in enumerate(fields):
        _store(self, DLTENSOR, tensor, f"i32 0, i32 {position}", value)
    return Value(tensor, HANDLE)


def _compact_strides(self: ExpressionEmitter, shape: Value, count: int) -> Value:
    array = self.writer.alloca(f"[{max(1, count)} x i64]", 8)
    step = Value("1", INDEX)
    for position in reversed(range(count)):
        slot = self.assign(HANDLE, f"getelementptr inbounds i64, ptr {array}, i64 {position}")
        self.writer.emit(f"store {step.typed}, ptr {slot.text}, align 8")
        source = self.assign(HANDLE, f"getelementptr inbounds i64, ptr {shape.text}, i64 {position}")
        extent = self.assign(INDEX, f"load i64, ptr {source.text}, align 8")
        step = self.assign(INDEX, f"mul nsw {step.typed}, {extent.text}")
    return Value(array, HANDLE)


def call_packed(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
    """A packed function by its global name; leaves with its error."""
    name = name_argument(node)
    if not self.writer.returns_status:
        raise WorkbenchError(
            "E-CODEGEN-PACKED", f"packed function {name} is called in a parallel loop",
            found="threads of the pool, which do not belong to the host language",
            expected="a call outside parallel loops", fix="leave the loop serial", nodes=(node,),
        )  # fmt: skip
    given = with_texts(self, node, arguments)
    if len(given) > MOST_ARGUMENTS:
        raise WorkbenchError(
            "E-CODEGEN-PACKED", f"packed function {name} is called with too many arguments", found=f"{len(given)}",
            expected=f"at most {MOST_ARGUMENTS}", nodes=(node,),
        )  # fmt: skip
    array = self.writer.alloca(f"[{max(1, len(given))} x {ANY}]", 8)
    for position, (argument, value) in enumerate(zip(node.args[1:], given, strict=True)):
        kind, bits = _any(self, argument, value)
        path = f"i64 0, i64 {position}, i32"
        _store(self, f"[{max(1, len(given))} x {ANY}]", array, f"{path} 0", f"i32 {kind}")
        _store(self, f"[{max(1, len(given))} x {ANY}]", array, f"{path} 1", "i32 0")
        _store(self, f"[{max(1, len(given))} x {ANY}]", array, f"{path} 2", bits)
    text = self.writer.module.string(name)
    self.writer.module.declare("wb_call_packed", "declare i32 @wb_call_packed(ptr, ptr, ptr, i32)")
    status = self.assign(
        INT32, f"call i32 @wb_call_packed(ptr {self.context}, ptr {text}, ptr {array}, i32 {len(given)})"
    )
    _body(self).leave_unless_ok(status)
    return status


def store_any(self: ExpressionEmitter, address: str, argument: n.PrimExpr, value: Value) -> None:
    """Write a number as a packed value."""
    kind, bits = _any(self, argument, value)
    for place, field in enumerate((f"i32 {kind}", "i32 0", bits)):
        _store(self, ANY, address, f"i64 0, i32 {place}", field)


def _any(self: ExpressionEmitter, argument: n.PrimExpr, value: Value) -> tuple[int, str]:
    """(kind of value, its eight bytes) of an argument."""
    dtype = value.dtype
    if dtype.is_vector:
        raise WorkbenchError("E-CODEGEN-PACKED", "a packed function is called with a vector", nodes=(argument,))
    if isinstance(argument, n.StringImm):
        return TEXT, value.typed
    if dtype.is_handle:
        made = isinstance(argument, n.Call) and argument.op == "tvm_stack_make_array"
        return (TENSOR if made else POINTER), value.typed
    if dtype.is_float:
        value = conversions.cast(self, value, DataType("float64"))
        return FLOAT, value.typed
    return (BOOLEAN if dtype.is_bool else INTEGER), _widened(self, value).typed
