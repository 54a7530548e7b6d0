"""float8 and float4: decoding to float32 and encoding from it, as arithmetic on the bits.

bfloat16 is computed in float32 too, step by step, since processors that round to it take denormal numbers for zeros;
and compared, since LLVM selects no instruction for 16-bit masks of it (AVX-512 with its extension for float16).

No processor computes in these formats; they are stored in bytes, and every use of one is a conversion.  Rounding is to
nearest, ties to even, gradual underflow included; what is too large becomes infinity, else NaN, else (float4) the
greatest value, as each format has it.  Formats: OCP 8-bit Floating Point Specification (e4m3fn, e5m2), OCP
Microscaling (e2m1), and the "fnuz" variants, whose one NaN is the code of -0.

>>> decode(n.Var("x", DataType("float8_e5m2"))).dtype
'float32'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...arith import nodes as n
from ...arith.build import call, const
from ...core.dtype import DataType


@dataclass(frozen=True)
class Format:
    """Codes of one format: `mantissa` bits, exponent `bias`, the place of the `sign`, codes without their sign."""

    mantissa: int
    bias: int
    sign: int
    greatest: int
    """Code of the greatest finite value."""
    infinity: int | None
    nan: int | None
    """None: there is none; what is not a number becomes a zero of the other sign."""
    negative_zero: bool = True


FORMATS: Final = {
    "float8_e4m3fn": Format(3, 7, 0x80, 0x7E, None, 0x7F),
    "float8_e4m3fnuz": Format(3, 8, 0x80, 0x7F, None, 0x80, negative_zero=False),
    "float8_e5m2": Format(2, 15, 0x80, 0x7B, 0x7C, 0x7E),
    "float8_e5m2fnuz": Format(2, 16, 0x80, 0x7F, None, 0x80, negative_zero=False),
    "float4_e2m1fn": Format(1, 1, 0x08, 0x07, None, None),
}
"""By dtype."""


def is_small(dtype: DataType) -> bool:
    """Whether values of `dtype` are only stored, never computed with."""
    return dtype.code in FORMATS


def _typed(name: str, like: DataType) -> DataType:
    return DataType(name).with_lanes(like.lanes)


def _binary(op: str, a: n.PrimExpr, b: int) -> n.PrimExpr:
    return call(op, a, const(b, a.dtype))


def _reinterpret(name: str, x: n.PrimExpr) -> n.PrimExpr:
    return n.Call(_typed(name, x.dtype), "reinterpret", (x,))


def decode(x: n.PrimExpr) -> n.PrimExpr:
    """The value as float32, exactly."""
    form = FORMATS[x.dtype.code]
    f32, u32 = _typed("float32", x.dtype), _typed("uint32", x.dtype)
    code = n.Var("code", u32)
    size = n.Var("size", u32)
    sign = _binary("shift_left", _binary("bitwise_and", code, form.sign), 31 - form.sign.bit_length() + 1)
    # The fields, moved to their places in a float32, are off by a power of two, also for denormal numbers.
    placed = _reinterpret("float32", _binary("shift_left", size, 23 - form.mantissa))
    scaled = _reinterpret("uint32", n.Mul(placed, const(2.0 ** (127 - form.bias), f32)))
    bits: n.PrimExpr = scaled
    if form.infinity is not None:
        bits = n.Select(n.EQ(size, const(form.infinity, u32)), const(0x7F800000, u32), bits)
    if form.nan is not None and form.nan != form.sign:
        above = form.greatest if form.infinity is None else form.infinity
        bits = n.Select(n.GT(size, const(above, u32)), const(0x7FC00000, u32), bits)
    bits = call("bitwise_or", bits, sign)
    if form.nan == form.sign:
        bits = n.Select(n.EQ(code, const(form.sign, u32)), const(0x7FC00000, u32), bits)
    value: n.PrimExpr = _reinterpret("float32", bits)
    value = n.Let(size, _binary("bitwise_and", code, form.sign - 1), value)
    return n.Let(code, n.Cast(u32, _reinterpret("uint8", x)), value)


def encode(x: n.PrimExpr, dtype: DataType) -> n.PrimExpr:
    """A float32 as the nearest value of `dtype`."""
    form = FORMATS[dtype.code]
    f32, u32 = x.dtype, _typed("uint32", x.dtype)
    bits, size = n.Var("bits", u32), n.Var("size", u32)
    drop = 23 - form.mantissa
    # Normal results: add half of the last place (less one on even codes), cut, move the exponent.
    last = _binary("bitwise_and", _binary("shift_right", size, drop), 1)
    rounded = n.Add(n.Add(size, const((1 << (drop - 1)) - 1, u32)), last)
    normal = n.Sub(_binary("shift_right", rounded, drop), const((127 - form.bias) << form.mantissa, u32))
    # Denormal ones: adding a number whose last place is the format's last place rounds as hardware does.
    magic = 2.0 ** (24 - form.bias - form.mantissa)
    magic_bits = (127 + 24 - form.bias - form.mantissa) << 23
    moved = _reinterpret("uint32", n.Add(_reinterpret("float32", size), const(magic, f32)))
    denormal = n.Sub(moved, const(magic_bits, u32))
    least_normal = (127 + 1 - form.bias) << 23
    code: n.PrimExpr = n.Select(n.LT(size, const(least_normal, u32)), denormal, normal)
    too_large = form.infinity if form.infinity is not None else form.nan if form.nan is not None else form.greatest
    held = n.Var("rounded", u32)
    code = n.Let(held, code, n.Select(n.GT(held, const(form.greatest, u32)), const(too_large, u32), held))
    not_a_number = form.nan if form.nan is not None else 0
    code = n.Select(n.GT(size, const(0x7F800000, u32)), const(not_a_number, u32), code)
    shift = 31 - form.sign.bit_length() + 1
    sign: n.PrimExpr = _binary("bitwise_and", _binary("shift_right", bits, shift), form.sign)
    if form.nan is None:
        sign = n.Select(n.GT(size, const(0x7F800000, u32)), _binary("bitwise_xor", sign, form.sign), sign)
    whole = n.Var("code", u32)
    signed = call("bitwise_or", whole, sign)
    if not form.negative_zero:
        signed = n.Select(n.EQ(whole, const(0, u32)), whole, signed)
    made: n.PrimExpr = n.Cast(_typed("uint8", u32), n.Let(whole, code, signed))
    made = n.Let(size, _binary("bitwise_and", bits, 0x7FFFFFFF), made)
    made = n.Let(bits, _reinterpret("uint32", x), made)
    return n.Call(dtype, "reinterpret", (made,))


def converted(x: n.PrimExpr, target: DataType) -> n.PrimExpr:
    """A cast from or to a small float; through float32."""
    f32 = _typed("float32", target)
    wide = decode(x) if is_small(x.dtype) else x if x.dtype == f32 else n.Cast(f32, x)
    if is_small(target):
        return encode(wide, target)
    return wide if target == f32 else n.Cast(target, wide)


_ARITHMETIC: Final = (n.Add, n.Sub, n.Mul, n.Div, n.Mod, n.Min, n.Max)
_COMPARE: Final = (n.EQ, n.NE, n.LT, n.LE, n.GT, n.GE)
_TESTS: Final = ("isnan", "isinf")


def lowered(node: n.PrimExpr) -> n.PrimExpr | None:
    """`node` in float32, when it uses a small float otherwise than to move it; else None."""
    if isinstance(node, n.Cast):
        return converted(node.value, node.dtype) if is_small(node.dtype) or is_small(node.value.dtype) else None
    if isinstance(node, _ARITHMETIC) and node.dtype.code == "bfloat":
        f32 = _typed("float32", node.dtype)
        return n.Cast(node.dtype, type(node)(n.Cast(f32, node.a), n.Cast(f32, node.b)))
    if isinstance(node, _COMPARE) and node.a.dtype.code == "bfloat":
        f32 = _typed("float32", node.a.dtype)
        return type(node)(n.Cast(f32, node.a), n.Cast(f32, node.b))
    if isinstance(node, n.Call) and node.op in _TESTS and node.args and node.args[0].dtype.code == "bfloat":
        return n.Call(node.dtype, node.op, (n.Cast(_typed("float32", node.args[0].dtype), node.args[0]),))
    if isinstance(node, (*_ARITHMETIC, *_COMPARE)) and is_small(node.a.dtype):
        made = type(node)(decode(node.a), decode(node.b))
        return encode(made, node.dtype) if isinstance(node, _ARITHMETIC) else made
    if isinstance(node, n.Call) and node.args and is_small(node.args[0].dtype) and node.op in _TESTS:
        return n.Call(node.dtype, node.op, (decode(node.args[0]),))
    return None
