"""Emitting calls: mathematics, bits, lanes, and the calls with effects.

Float functions come from LLVM's intrinsics where there is one, else from the C mathematics library (lane by lane);
float16 and bfloat16 are computed in float32.  Calls of other kernels check the status they return.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from ...arith import nodes as n
from ...core.dtype import DataType
from ...core.errors import WorkbenchError
from . import conversions, external, returns
from .arithmetic import divide, known_integer, self_intrinsic, suffix
from .external import name_argument
from .types import BOOL, INDEX, INT32, Value, constant, llvm_type

if TYPE_CHECKING:
    from .expressions import ExpressionEmitter
    from .statements import BodyEmitter

Emitter = Callable[["ExpressionEmitter", n.Call, list[Value]], Value]

_LLVM_FLOAT: Final = {
    "exp": "exp", "exp2": "exp2", "log": "log", "log2": "log2", "log10": "log10", "sqrt": "sqrt", "sin": "sin",
    "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "roundeven", "pow": "pow",
    "atan2": "atan2", "copysign": "copysign", "fma": "fma",
}  # fmt: skip
_LIBRARY: Final = ("log1p", "asinh", "acosh", "atanh", "erf", "nextafter")
_BITS: Final = {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}


def emit_call(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
    """The value of an intrinsic call (all but if_then_else, address_of, prefetch)."""
    emitter = _TABLE.get(node.op)
    if emitter is None:
        raise WorkbenchError("E-CODEGEN-CALL", f"the llvm backend cannot call {node.op}", nodes=(node,))
    return emitter(self, node, arguments)


# --- floats -------------------------------------------------------------------------------------------------------


def _in_float32(emitter: Emitter) -> Emitter:
    """Compute 16-bit floats in float32."""

    def emit(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
        dtype = arguments[0].dtype
        if not (dtype.is_float and dtype.bits == 16):
            return emitter(self, node, arguments)
        wide = DataType("float32").with_lanes(dtype.lanes)
        result = emitter(self, node, [conversions.cast(self, value, wide) for value in arguments])
        return conversions.cast(self, result, dtype.with_lanes(result.dtype.lanes)) if result.dtype.is_float else result

    return emit


def _llvm_float(name: str) -> Emitter:
    return _in_float32(lambda self, node, arguments: self_intrinsic(self, f"llvm.{name}", *arguments))


def _library(name: str) -> Emitter:
    def emit(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
        dtype = arguments[0].dtype
        if dtype.is_vector:
            return _by_lane(self, arguments, lambda lanes: emit(self, node, lanes))
        symbol = name + ("f" if dtype.bits == 32 else "")
        kind = llvm_type(dtype)
        callee = self.writer.module.intrinsic(symbol, kind, [kind] * len(arguments))
        return self.assign(dtype, f"call {kind} {callee}({', '.join(value.typed for value in arguments)})")

    return _in_float32(emit)


def _by_lane(self: ExpressionEmitter, arguments: list[Value], function: Callable[[list[Value]], Value]) -> Value:
    dtype = arguments[0].dtype
    result = Value("poison", dtype)
    for lane in range(dtype.lanes):
        parts = [
            self.assign(value.dtype.element_of, f"extractelement {value.typed}, i64 {lane}") for value in arguments
        ]
        made = function(parts)
        result = self.assign(dtype, f"insertelement {result.typed}, {made.typed}, i64 {lane}")
    return result


def _rsqrt(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
    root = self_intrinsic(self, "llvm.sqrt", *arguments)
    return self.assign(root.dtype, f"fdiv {Value(constant(1.0, root.dtype), root.dtype).typed}, {root.text}")


def _sigmoid(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
    x = arguments[0]
    negative = self.assign(x.dtype, f"fneg {x.typed}")
    power = self_intrinsic(self, "llvm.exp", negative)
    one = Value(constant(1.0, x.dtype), x.dtype)
    below = self.assign(x.dtype, f"fadd {one.typed}, {power.text}")
    return self.assign(x.dtype, f"fdiv {one.typed}, {below.text}")


def _fmod(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
    a, b = arguments
    if not a.dtype.is_float:
        return divide(self, "Mod", a, b)
    return self.assign(a.dtype, f"frem {a.typed}, {b.text}")


def _abs(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
    (x,) = arguments
    if x.dtype.is_float:
        return self_intrinsic(self, "llvm.fabs", x)
    if not x.dtype.is_int:
        return x
    kind = llvm_type(x.dtype)
    callee = self.writer.module.intrinsic(f"llvm.abs.{suffix(x)}", kind, [kind, "i1"])
    return self.assign(x.dtype, f"call {kind} {callee}({x.typed}, i1 false)")


def _classify(code: str, against_infinity: bool) -> Emitter:
    def emit(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
        (x,) = arguments
        result = BOOL.with_lanes(x.dtype.lanes)
        if not x.dtype.is_float:
            return Value(constant(node.op == "isfinite", result), result)
        if not against_infinity:
            return self.assign(result, f"fcmp {code} {x.typed}, {x.text}")
        size = self_intrinsic(self, "llvm.fabs", x)
        return self.assign(result, f"fcmp {code} {size.typed}, {constant(float('inf'), x.dtype)}")

    return emit


# --- bits and lanes -----------------------------------------------------------------------------------------------


def _bits(opcode: str) -> Emitter:
    return lambda self, node, arguments: self.assign(
        arguments[0].dtype, f"{opcode} {arguments[0].typed}, {arguments[1].text}"
    )


def _bitwise_not(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
    (x,) = arguments
    return self.assign(x.dtype, f"xor {x.typed}, {constant(True if x.dtype.is_bool else -1, x.dtype)}")


def _shift(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
    """An amount outside 0 ... bits-1, poison to LLVM, shifts everything out: 0, or -1 for a negative number."""
    a, b = arguments
    bits = a.dtype.bits
    opcode = "shl" if node.op == "shift_left" else "ashr" if a.dtype.is_int else "lshr"
    known = known_integer(b)
    if known is not None and 0 <= known < bits:
        return self.assign(a.dtype, f"{opcode} {a.typed}, {b.text}")
    unsigned = DataType(f"uint{bits}").with_lanes(a.dtype.lanes)
    amount = self_intrinsic(self, "llvm.umin", Value(b.text, unsigned), Value(constant(bits - 1, unsigned), unsigned))
    shifted = self.assign(a.dtype, f"{opcode} {a.typed}, {amount.text}")
    if opcode == "ashr":
        return shifted
    inside = self.assign(BOOL.with_lanes(a.dtype.lanes), f"icmp ult {b.typed}, {constant(bits, unsigned)}")
    return self.assign(a.dtype, f"select {inside.typed}, {shifted.typed}, {Value(constant(0, a.dtype), a.dtype).typed}")


def _reinterpret(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
    (x,) = arguments
    if llvm_type(x.dtype) == llvm_type(node.dtype):
        return Value(x.text, node.dtype)
    return self.assign(node.dtype, f"bitcast {x.typed} to {llvm_type(node.dtype)}")


def _shuffle(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
    vector = arguments[0]
    lanes = [int(value.text) for value in arguments[1:]]
    if len(lanes) == 1:
        return self.assign(node.dtype, f"extractelement {vector.typed}, i64 {lanes[0]}")
    picked = ", ".join(f"i32 {lane}" for lane in lanes)
    text = f"shufflevector {vector.typed}, {llvm_type(vector.dtype)} poison, <{len(lanes)} x i32> <{picked}>"
    return self.assign(vector.dtype.with_lanes(len(lanes)), text)


def _reduce(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
    (x,) = arguments
    if x.dtype.code == "bfloat":
        return _in_float32(_reduce)(self, node, arguments)
    kind = node.op.removeprefix("reduce_")
    result = x.dtype.element_of
    if x.dtype.is_float and kind == "add":
        scalar, vector = llvm_type(result), llvm_type(x.dtype)
        callee = self.writer.module.intrinsic(f"llvm.vector.reduce.fadd.{suffix(x)}", scalar, [scalar, vector])
        return self.assign(result, f"call {scalar} {callee}({scalar} {constant(-0.0, result)}, {x.typed})")
    if x.dtype.is_float:
        name = "fmaximum" if kind == "max" else "fminimum"
    else:
        name = "add" if kind == "add" else f"{'s' if x.dtype.is_int else 'u'}{kind}"
    full = f"llvm.vector.reduce.{name}.{suffix(x)}"
    callee = self.writer.module.intrinsic(full, llvm_type(result), [llvm_type(x.dtype)])
    return self.assign(result, f"call {llvm_type(result)} {callee}({x.typed})")


# --- effects ------------------------------------------------------------------------------------------------------


def _body(self: ExpressionEmitter) -> BodyEmitter:
    """The emitter of a whole body: statements' calls have effects, which need control flow."""
    return cast("BodyEmitter", self)


def _call_tir(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
    symbol = _body(self).kernel_symbol(name_argument(node), node)
    shown = ", ".join([f"ptr {self.context}", *(value.typed for value in arguments)])
    kinds = ["ptr", *(llvm_type(value.dtype) for value in arguments)]
    self.writer.module.declare(symbol, f"declare i32 @{symbol}({', '.join(kinds)})")
    status = self.assign(INT32, f"call i32 @{symbol}({shown})")
    _body(self).check(status)
    return status


def _poll(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
    _body(self).poll()
    return Value("0", INT32)


def _ret(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
    returns.emit_return(_body(self), node, arguments[0])
    return Value("0", INT32)


def _likely(self: ExpressionEmitter, node: n.Call, arguments: list[Value]) -> Value:
    return arguments[0]


_TABLE: Final[dict[str, Emitter]] = {
    **{name: _llvm_float(llvm) for name, llvm in _LLVM_FLOAT.items()},
    **{name: _library(name) for name in _LIBRARY},
    **{name: _bits(opcode) for name, opcode in _BITS.items()},
    "rsqrt": _in_float32(_rsqrt),
    "sigmoid": _in_float32(_sigmoid),
    "fmod": _in_float32(_fmod),
    "abs": _in_float32(_abs),
    "isnan": _in_float32(_classify("uno", False)),
    "isinf": _in_float32(_classify("oeq", True)),
    "isfinite": _in_float32(_classify("olt", True)),
    "bitwise_not": _bitwise_not,
    "shift_left": _shift,
    "shift_right": _shift,
    "popcount": lambda self, node, arguments: self_intrinsic(self, "llvm.ctpop", *arguments),
    "reinterpret": _reinterpret,
    "likely": _likely,
    "shuffle": _shuffle,
    "reduce_add": _reduce,
    "reduce_max": _reduce,
    "reduce_min": _reduce,
    "call_tir": _call_tir,
    "call_extern": external.call_extern,
    "call_pure_extern": external.call_extern,
    "call_packed": external.call_packed,
    "call_llvm_intrin": external.call_llvm,
    "call_llvm_pure_intrin": external.call_llvm,
    "vload": external.vector_load,
    "tvm_stack_make_shape": external.make_shape,
    "tvm_stack_make_array": external.make_array,
    "poll_cancel": _poll,
    "ret": _ret,
}

__all__ = ["INDEX", "emit_call", "name_argument"]
