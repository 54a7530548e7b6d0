"""Integer division that cannot trap, and minimum and maximum that keep NaN.

x // 0, x % 0, and the truncating forms give 0 (checked mode reports them); the least integer divided by -1 wraps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...core.dtype import DataType
from .types import Value, constant, is_constant, llvm_type

if TYPE_CHECKING:
    from .expressions import ExpressionEmitter

COMPARE_CODES: Final = {
    "EQ": ("oeq", "eq", "eq"),
    "NE": ("une", "ne", "ne"),
    "LT": ("olt", "slt", "ult"),
    "LE": ("ole", "sle", "ule"),
    "GT": ("ogt", "sgt", "ugt"),
    "GE": ("oge", "sge", "uge"),
}
"""By node class: codes for floats, signed and unsigned integers."""


def divide(self: ExpressionEmitter, kind: str, a: Value, b: Value, nonnegative: bool = False) -> Value:
    """`kind` is Div, Mod, FloorDiv or FloorMod; `nonnegative` says that `a` is at least 0."""
    dtype = a.dtype
    if dtype.is_float:
        return self.assign(dtype, f"{'fdiv contract' if kind == 'Div' else 'frem'} {a.typed}, {b.text}")
    known = known_integer(b)
    if known is not None and known > 0:
        return _by_constant(self, kind, a, b, known, nonnegative)
    zero = self.assign(_bool(a), f"icmp eq {b.typed}, {constant(0, dtype)}")
    if dtype.is_int:
        minus_one = self.assign(_bool(a), f"icmp eq {b.typed}, {constant(-1, dtype)}")
        unsafe = self.assign(_bool(a), f"or {zero.typed}, {minus_one.text}")
    else:
        minus_one, unsafe = zero, zero
    safe = self.assign(dtype, f"select {unsafe.typed}, {dtype_constant(1, a)}, {b.typed}")
    result = _quotient_or_rest(self, kind, a, safe)
    if dtype.is_int:
        negated = self.assign(dtype, f"sub {dtype_constant(0, a)}, {a.text}")
        special = negated.typed if kind in ("Div", "FloorDiv") else dtype_constant(0, a)
        result = self.assign(dtype, f"select {minus_one.typed}, {special}, {result.typed}")
    return self.assign(dtype, f"select {zero.typed}, {dtype_constant(0, a)}, {result.typed}")


def _quotient_or_rest(self: ExpressionEmitter, kind: str, a: Value, b: Value, nonnegative: bool = False) -> Value:
    """Division by a divisor that is neither 0 nor -1, with `nonnegative` a positive one."""
    dtype = a.dtype
    if not dtype.is_int or nonnegative:
        return self.assign(dtype, f"{'udiv' if kind in ('Div', 'FloorDiv') else 'urem'} {a.typed}, {b.text}")
    if kind == "Div":
        return self.assign(dtype, f"sdiv {a.typed}, {b.text}")
    rest = self.assign(dtype, f"srem {a.typed}, {b.text}")
    if kind == "Mod":
        return rest
    nonzero = self.assign(_bool(a), f"icmp ne {rest.typed}, {constant(0, dtype)}")
    mixed = self.assign(dtype, f"xor {rest.typed}, {b.text}")
    opposite = self.assign(_bool(a), f"icmp slt {mixed.typed}, {constant(0, dtype)}")
    adjust = self.assign(_bool(a), f"and {nonzero.typed}, {opposite.text}")
    if kind == "FloorMod":
        moved = self.assign(dtype, f"add {rest.typed}, {b.text}")
        return self.assign(dtype, f"select {adjust.typed}, {moved.typed}, {rest.typed}")
    quotient = self.assign(dtype, f"sdiv {a.typed}, {b.text}")
    lower = self.assign(dtype, f"sub {quotient.typed}, {constant(1, dtype)}")
    return self.assign(dtype, f"select {adjust.typed}, {lower.typed}, {quotient.typed}")


def _by_constant(self: ExpressionEmitter, kind: str, a: Value, b: Value, divisor: int, nonnegative: bool) -> Value:
    """A positive constant: shifts and masks for powers of two."""
    dtype = a.dtype
    number = known_integer(a)
    if number is not None:
        return Value(constant(_exact(kind, number, divisor), dtype), dtype)
    if (kind in ("FloorDiv", "FloorMod") or nonnegative) and divisor & (divisor - 1) == 0:
        if kind in ("FloorMod", "Mod"):
            return self.assign(dtype, f"and {a.typed}, {constant(divisor - 1, dtype)}")
        shift = "ashr" if dtype.is_int else "lshr"
        return self.assign(dtype, f"{shift} {a.typed}, {constant(divisor.bit_length() - 1, dtype)}")
    return _quotient_or_rest(self, kind, a, b, nonnegative)


def _exact(kind: str, a: int, divisor: int) -> int:
    if kind in ("FloorDiv", "FloorMod") or a >= 0:
        return a // divisor if kind.endswith("Div") else a % divisor
    return -(-a // divisor) if kind == "Div" else -(-a % divisor)


def known_integer(b: Value) -> int | None:
    """The number that a constant (or a vector of equal constants) is."""
    if not is_constant(b.text):
        return None
    text = b.text.rsplit(" ", 1)[-1].rstrip(")")
    return int(text) if text.lstrip("-").isdigit() else None


def dtype_constant(value: int, like: Value) -> str:
    """A typed constant of the dtype of `like`."""
    return Value(constant(value, like.dtype), like.dtype).typed


def _bool(a: Value) -> DataType:
    return DataType("bool").with_lanes(a.dtype.lanes)


def min_max(self: ExpressionEmitter, least: bool, a: Value, b: Value, a_is_number: bool, b_is_number: bool) -> Value:
    """Minimum or maximum; a NaN on either side is the result."""
    dtype = a.dtype
    if not dtype.is_float:
        name = f"llvm.{'s' if dtype.is_int else 'u'}{'min' if least else 'max'}"
        return self_intrinsic(self, name, a, b)
    if a_is_number and not b_is_number:
        a, b, b_is_number = b, a, True
    if b_is_number:
        # With a NaN in `a` the unordered comparison keeps `a`; the select is then a single instruction on x86.
        chosen = self.assign(_bool(a), f"fcmp {'ule' if least else 'uge'} {a.typed}, {b.text}")
        return self.assign(dtype, f"select {chosen.typed}, {a.typed}, {b.typed}")
    # x86 asks whether the first operand is NaN: of a reduction it is the new value, so that what is held does not wait.
    return self_intrinsic(self, f"llvm.{'minimum' if least else 'maximum'}", b, a, flags="nsz ")


def self_intrinsic(self: ExpressionEmitter, name: str, *arguments: Value, flags: str = "") -> Value:
    """A call of an LLVM intrinsic overloaded on its first argument, with a result of that type."""
    dtype = arguments[0].dtype
    full = f"{name}.{suffix(arguments[0])}"
    kinds = [llvm_type(argument.dtype) for argument in arguments]
    callee = self.writer.module.intrinsic(full, llvm_type(dtype), kinds)
    shown = ", ".join(argument.typed for argument in arguments)
    return self.assign(dtype, f"call {flags}{llvm_type(dtype)} {callee}({shown})")


def suffix(value: Value) -> str:
    """How an overloaded intrinsic spells a type: ``v16f32``."""
    dtype = value.dtype
    scalar = {"float": "f", "bfloat": "bf"}.get(dtype.code, "i") + str(dtype.bits)
    if dtype.scalable:
        return f"nxv{dtype.lanes}{scalar}"
    return f"v{dtype.lanes}{scalar}" if dtype.is_vector else scalar
