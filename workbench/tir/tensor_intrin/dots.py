"""Sums of products of bytes by one instruction: four products are added to each int32 of a vector.

Three forms for what the instruction multiplies, each C[i] += A[..] * B[..] over four bytes k:

    bytes   C[i] += A[k] * B[i, k]           four bytes of data for all lanes, weights in rows of four
    word    C[i] += byte k of A[0] * B[i, k] the same, the four bytes in one uint32
    words   C[i] += byte k of A[i] * B[k]    a word of data for each lane, four weights for all of them

`DOTS` holds the names by the dtypes of data and weight (`Target.dot_dtypes`), lanes and form.
"""

# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ..language import T
from .registry import TensorIntrin

PARTS: Final = 4
"""Products in each lane."""


@dataclass(frozen=True)
class Dot:
    """An instruction: its operation in LLVM, lanes of int32, dtype of the data (weights are int8)."""

    name: str
    instruction: str
    lanes: int
    data: str


INSTRUCTIONS: Final = (
    Dot("dot_16x4_vnni", "llvm.x86.avx512.vpdpbusd.512", 16, "uint8"),  # AVX512-VNNI
    Dot("dot_8x4_vnni", "llvm.x86.avx512.vpdpbusd.256", 8, "uint8"),  # AVX-VNNI
    Dot("dot_4x4_i8i8s32_sdot", "llvm.aarch64.neon.sdot.v4i32.v16i8", 4, "int8"),  # ARM dotprod
)


def of_bytes(dot: Dot) -> tuple[Any, Any]:
    """Description and implementation of the form `bytes`."""
    lanes, data, instruction = dot.lanes, dot.data, dot.instruction
    four, sums, products = f"{data}x4", f"int32x{lanes}", f"int8x{4 * lanes}"

    @T.prim_func
    def described(A: T.Buffer((4,), data), B: T.Buffer((lanes, 4), "int8"), C: T.Buffer((lanes,), "int32")):  # type: ignore[no-untyped-def]
        with T.block("root"):
            T.reads(C[0:lanes], A[0:4], B[0:lanes, 0:4])
            T.writes(C[0:lanes])
            for i in T.serial(lanes):
                for k in T.serial(4):
                    with T.block("update"):
                        vi, vk = T.axis.remap("SR", [i, k])
                        C[vi] = C[vi] + T.Cast("int32", A[vk]) * T.Cast("int32", B[vi, vk])

    @T.prim_func
    def implemented(A: T.Buffer((4,), data), B: T.Buffer((lanes, 4), "int8"), C: T.Buffer((lanes,), "int32")):  # type: ignore[no-untyped-def]
        with T.block("root"):
            T.reads(C[0:lanes], A[0:4], B[0:lanes, 0:4])
            T.writes(C[0:lanes])
            C[T.ramp(0, 1, lanes)] = T.call_llvm_pure_intrin(
                instruction,
                C[T.ramp(0, 1, lanes)],
                T.reinterpret(
                    T.broadcast(T.reinterpret(T.vload(T.access_ptr(A[0], "r"), dtype=four), dtype="int32"), lanes),
                    dtype=products,
                ),
                T.vload(T.access_ptr(B[0, 0], "r"), dtype=products),
                dtype=sums,
            )

    return described, implemented


def of_word(dot: Dot) -> tuple[Any, Any]:
    """Of the form `word`."""
    lanes, data, instruction = dot.lanes, dot.data, dot.instruction
    sums, products = f"int32x{lanes}", f"int8x{4 * lanes}"

    @T.prim_func
    def described(A: T.Buffer((1,), "uint32"), B: T.Buffer((lanes, 4), "int8"), C: T.Buffer((lanes,), "int32")):  # type: ignore[no-untyped-def]
        with T.block("root"):
            T.reads(C[0:lanes], A[0:1], B[0:lanes, 0:4])
            T.writes(C[0:lanes])
            for i in T.serial(lanes):
                for k in T.serial(4):
                    with T.block("update"):
                        vi, vk = T.axis.remap("SR", [i, k])
                        C[vi] = C[vi] + T.Cast(
                            "int32", T.Cast(data, T.shift_right(A[0], T.Cast("uint32", vk * 8)))
                        ) * T.Cast("int32", B[vi, vk])

    @T.prim_func
    def implemented(A: T.Buffer((1,), "uint32"), B: T.Buffer((lanes, 4), "int8"), C: T.Buffer((lanes,), "int32")):  # type: ignore[no-untyped-def]
        with T.block("root"):
            T.reads(C[0:lanes], A[0:1], B[0:lanes, 0:4])
            T.writes(C[0:lanes])
            C[T.ramp(0, 1, lanes)] = T.call_llvm_pure_intrin(
                instruction,
                C[T.ramp(0, 1, lanes)],
                T.reinterpret(T.broadcast(A[0], lanes), dtype=products),
                T.vload(T.access_ptr(B[0, 0], "r"), dtype=products),
                dtype=sums,
            )

    return described, implemented


def of_words(dot: Dot) -> tuple[Any, Any]:
    """Of the form `words`."""
    lanes, data, instruction = dot.lanes, dot.data, dot.instruction
    sums, products = f"int32x{lanes}", f"int8x{4 * lanes}"

    @T.prim_func
    def described(A: T.Buffer((lanes,), "uint32"), B: T.Buffer((4,), "int8"), C: T.Buffer((lanes,), "int32")):  # type: ignore[no-untyped-def]
        with T.block("root"):
            T.reads(C[0:lanes], A[0:lanes], B[0:4])
            T.writes(C[0:lanes])
            for i in T.serial(lanes):
                for k in T.serial(4):
                    with T.block("update"):
                        vi, vk = T.axis.remap("SR", [i, k])
                        C[vi] = C[vi] + T.Cast(
                            "int32", T.Cast(data, T.shift_right(A[vi], T.Cast("uint32", vk * 8)))
                        ) * T.Cast("int32", B[vk])

    @T.prim_func
    def implemented(A: T.Buffer((lanes,), "uint32"), B: T.Buffer((4,), "int8"), C: T.Buffer((lanes,), "int32")):  # type: ignore[no-untyped-def]
        with T.block("root"):
            T.reads(C[0:lanes], A[0:lanes], B[0:4])
            T.writes(C[0:lanes])
            C[T.ramp(0, 1, lanes)] = T.call_llvm_pure_intrin(
                instruction,
                C[T.ramp(0, 1, lanes)],
                T.reinterpret(A[T.ramp(0, 1, lanes)], dtype=products),
                T.reinterpret(
                    T.broadcast(T.reinterpret(T.vload(T.access_ptr(B[0], "r"), dtype="int8x4"), dtype="int32"), lanes),
                    dtype=products,
                ),
                dtype=sums,
            )

    return described, implemented


FORMS: Final = {"bytes": of_bytes, "word": of_word, "words": of_words}
DOTS: Final = {
    (dot.data, "int8", dot.lanes, form): dot.name if form == "bytes" else f"{dot.name}_{form}"
    for dot in INSTRUCTIONS
    for form in FORMS
}
for _dot in INSTRUCTIONS:
    for _form, _made in FORMS.items():
        TensorIntrin.register(DOTS[_dot.data, "int8", _dot.lanes, _form], *_made(_dot), module=__name__)
