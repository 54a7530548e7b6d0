"""Calls that programs make: of library functions, of C functions, of intrinsics by name; and pointers to give them.

    call_packed("tvm.contrib.sort", A, B)                  # a PackedFunc by name; buffers go as tensors
    call_extern("int32", "gemv", C.access_ptr("w"), A.access_ptr("r"), 16)      # a C function by symbol

A call of a PackedFunc raises the callee's error; a C function answers a value, which is the caller's to look at.
"""

from __future__ import annotations

from typing import Any

from ..arith import build as b
from ..arith.nodes import Call, PrimExpr, Ramp, StringImm, literal
from ..core.dtype import DataType
from ..core.errors import WorkbenchError
from . import nodes as t
from .build import indices, listed

HANDLE = DataType("handle")


def writes_through(address: Call) -> bool:
    """Whether an address (``T.address_of``, ``T.access_ptr``) may be written through."""
    return address.op == "address_of" or "w" in literal(address.args[1], "w")


def address_of(load: Any) -> PrimExpr:
    """The address of an element: ``address_of(A[i, j])``; of a buffer's first, given the buffer."""
    element = _first(load) if isinstance(load, t.Buffer) else load
    if not isinstance(element, t.BufferLoad):
        raise WorkbenchError(
            "E-TIR-ADDRESS", "an address is that of an element of a buffer", found=repr(load)[:80],
            expected="A[i, j], or a buffer",
        )  # fmt: skip
    return Call(HANDLE, "address_of", (element,))


def access_ptr(buffer: t.Buffer, access_mask: str | int = "rw", offset: Any = 0) -> PrimExpr:
    """The address of a buffer's first element (`offset` elements on), and whether it is read ("r"), written, or both.

    The classic mask as a number is understood too: 1 read, 2 written, 3 both.
    """
    masks = {1: "r", 2: "w", 3: "rw", "r": "r", "w": "w", "rw": "rw", "wr": "rw"}
    if access_mask not in masks:
        raise WorkbenchError(
            "E-TIR-ADDRESS", "a pointer is for reading, writing or both", found=repr(access_mask)[:40],
            expected='"r", "w" or "rw"',
        )  # fmt: skip
    element = _first(buffer, offset)
    return Call(HANDLE, "access_ptr", (element, StringImm(masks[access_mask])))


def vector_element(buffer: t.Buffer, begin: Any, dtype: str | None = None) -> PrimExpr:
    """`Buffer.vload`: along the last axis while it is long enough, else over the elements as they lie in memory."""
    where = indices(listed(begin))
    kind = buffer.dtype if dtype is None else DataType(dtype)
    if kind == buffer.dtype:
        return t.BufferLoad(buffer, where)
    last = literal(buffer.shape[-1], None) if buffer.shape else None
    if kind.element_of == buffer.dtype and (last is None or kind.lanes <= last):
        return t.BufferLoad(buffer, (*where[:-1], Ramp(where[-1], b.const(1), kind.lanes)))
    pointer = Call(HANDLE, "access_ptr", (t.BufferLoad(buffer, where), StringImm("r")))
    return Call(kind, "vload", (pointer,))


def vector_store(buffer: t.Buffer, begin: Any, value: Any) -> t.BufferStore:
    """`Buffer.vstore`."""
    where = indices(listed(begin))
    made = b.convert(value, buffer.dtype)
    if made.dtype.lanes > 1:
        where = (*where[:-1], Ramp(where[-1], b.const(1), made.dtype.lanes))
    return t.BufferStore(buffer, made, where)


def _first(buffer: t.Buffer, offset: Any = 0) -> t.BufferLoad:
    """The element of a buffer at a flat offset."""
    return t.BufferLoad(buffer, unravelled(buffer, offset))


def unravelled(buffer: t.Buffer, offset: Any) -> tuple[PrimExpr, ...]:
    """The indices of the element of a compact buffer that stands at a flat offset."""
    rest = b.cast("int64", b.convert(offset))
    found: list[PrimExpr] = []
    for axis in range(len(buffer.shape) - 1, 0, -1):
        extent = b.cast("int64", buffer.shape[axis])
        found.append(b.floormod(rest, extent))
        rest = b.floordiv(rest, extent)
    return (*([rest] if buffer.shape else []), *reversed(found))


def tensor_argument(buffer: t.Buffer, offset: Any = 0) -> PrimExpr:
    """A buffer as an argument of a PackedFunc: address, shape, strides, rank, dtype."""
    strides: Any = _extents(buffer.strides) if buffer.strides else 0
    return b.call(
        "tvm_stack_make_array",
        address_of(_first(buffer, offset)),
        _extents(buffer.shape),
        strides,
        len(buffer.shape),
        b.const(0, buffer.dtype),
        0,
    )


def _extents(values: tuple[PrimExpr, ...]) -> PrimExpr:
    return b.call("tvm_stack_make_shape", *values)


def call_packed(*args: Any, span: Any = None) -> PrimExpr:
    """The call of a PackedFunc by name; buffers among the arguments go as tensors.  An error it raises is raised.

    Its result is not used: as an int32 it is 0.
    """
    name, *rest = _named(args, "call_packed")
    values = [tensor_argument(value) if isinstance(value, t.Buffer) else _argument(value) for value in rest]
    return Call(DataType("int32"), "call_packed", (StringImm(name), *values))


call_cpacked = call_packed


def call_extern(dtype: str, func_name: str, *args: Any, span: Any = None) -> PrimExpr:
    """The call of a C function by symbol, which answers `dtype`; buffers go as pointers."""
    return _external("call_extern", dtype, func_name, args)


def call_pure_extern(dtype: str, func_name: str, *args: Any, span: Any = None) -> PrimExpr:
    """The call of a C function that computes a value of its arguments and has no effect: ``("float32", "expf", x)``."""
    return _external("call_pure_extern", dtype, func_name, args)


def call_llvm_intrin(dtype: str, name: str, *args: Any, span: Any = None) -> PrimExpr:
    """The call of an intrinsic of LLVM with effects, by its full name: ``"llvm.x86.sse.sfence"``."""
    return _external("call_llvm_intrin", dtype, name, _without_count(args))


def call_llvm_pure_intrin(dtype: str, name: str, *args: Any, span: Any = None) -> PrimExpr:
    """The call of a pure intrinsic of LLVM, by its full name: ``("float32x4", "llvm.sqrt.v4f32", x)``."""
    return _external("call_llvm_pure_intrin", dtype, name, _without_count(args))


def _without_count(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Classic calls give the number of the signature's arguments first, as a uint32 constant."""
    first = args[0] if args else None
    return args[1:] if getattr(first, "dtype", "") == "uint32" and hasattr(first, "value") else args


def call_intrin(dtype: str, func_name: str, *args: Any, span: Any = None) -> PrimExpr:
    """The call of an intrinsic by name (also one of `register_op`), answering `dtype`."""
    name = func_name.removeprefix("tir.")
    made = b.call(name, *args, dtype=dtype)
    return made if made.dtype == dtype else Call(DataType(dtype), name, made.args)  # type: ignore[attr-defined]


def _external(op: str, dtype: str, name: str, args: tuple[Any, ...]) -> PrimExpr:
    _named((name,), op)
    values = [address_of(value) if isinstance(value, t.Buffer) else _argument(value) for value in args]
    return Call(DataType(dtype), op, (StringImm(name), *values))


def _named(args: tuple[Any, ...], op: str) -> tuple[Any, ...]:
    if not args or not isinstance(args[0], str) or not args[0]:
        raise WorkbenchError(
            "E-TIR-CALL", f"{op} begins with the name of a function", found=repr(args[0])[:60] if args else "nothing",
            expected="a text",
        )  # fmt: skip
    return args


def _argument(value: Any) -> PrimExpr:
    return StringImm(value) if isinstance(value, str) else b.convert(value)


def decl_buffer(
    shape: Any,
    dtype: str | None = None,
    name: str = "buffer",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "",
    data_alignment: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Any = None,
    span: Any = None,
) -> t.Buffer:
    """A buffer of `shape` (ints or expressions, in elements), with the classic parameters.

    Variables among `strides`, and an `elem_offset`, stand for those of the buffer that it is bound to (`te.extern`,
    `te.decl_tensor_intrin`).  `data`, `data_alignment`, `offset_factor` and `buffer_type` are taken and not needed:
    pointers are made of elements, and bound buffers keep their own alignment.
    """
    return t.Buffer(
        name,
        indices(listed(shape)),
        DataType(dtype or "float32"),
        scope or "global",
        indices(strides or ()),
        None if elem_offset is None else indices([elem_offset])[0],
        tuple(axis_separators or ()),
    )


def reinterpret(dtype: str, value: Any, span: Any = None) -> PrimExpr:
    """The bits of a value as another dtype of equal width."""
    return b.call("reinterpret", value, dtype=dtype)


def likely(cond: Any, span: Any = None) -> PrimExpr:
    """A condition that is expected to hold."""
    return b.call("likely", cond)


def ret(val: Any, span: Any = None) -> PrimExpr:
    """Leave the function; its packed call answers `val` (None where all that a function returns is 0)."""
    return b.call("ret", val)


def div(a: Any, c: Any, span: Any = None) -> PrimExpr:
    """a / c as in C: of integers towards zero, of floats exact."""
    left, right = b.convert(a), b.convert(c)
    return b.truncdiv(a, c) if left.dtype.is_integer and right.dtype.is_integer else b.true_divide(a, c)


def ceildiv(lhs: Any, rhs: Any, span: Any = None) -> PrimExpr:
    """lhs / rhs rounded up, of integers; rhs is positive."""
    return b.floordiv(b.add(lhs, b.subtract(rhs, 1)), rhs)


def infinity(dtype: str, span: Any = None) -> PrimExpr:
    """The positive infinity of a float dtype."""
    return b.const(float("inf"), dtype)


def copysign(x1: Any, x2: Any) -> PrimExpr:
    """|x1| with the sign of x2."""
    return b.call("copysign", x1, x2)


def nextafter(x1: Any, x2: Any) -> PrimExpr:
    """The next float from x1 towards x2."""
    return b.call("nextafter", x1, x2)


def exp10(x: Any) -> PrimExpr:
    """10 to the power x."""
    value = b.convert(x)
    return b.call("pow", b.const(10.0, value.dtype if value.dtype.is_float else "float32"), x)


def hypot(x1: Any, x2: Any) -> PrimExpr:
    """The length of the vector (x1, x2); its square must be representable."""
    return b.call("sqrt", b.add(b.multiply(x1, x1), b.multiply(x2, x2)))
