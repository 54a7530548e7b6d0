"""Dot products of int8 on x86: sums of four products each, C[i] += A[k] * B[i, k] with B in rows of four.

`dot_16x4_vnni` (AVX512-VNNI) and `dot_8x4_vnni` (AVX-VNNI) are one instruction, vpdpbusd; `dot_16x4_plain` is vector
arithmetic that any x86 has.
"""

from __future__ import annotations

from typing import Final

from ..language import T
from .registry import TensorIntrin

VNNI_DOT_16x4_INTRIN: Final = "dot_16x4_vnni"
VNNI_DOT_8x4_INTRIN: Final = "dot_8x4_vnni"
PLAIN_DOT_16x4_INTRIN: Final = "dot_16x4_plain"


@T.prim_func
def dot_16x4_u8_i8_i32(A: T.Buffer((4,), "uint8"), B: T.Buffer((16, 4), "int8"), C: T.Buffer((16,), "int32")):  # type: ignore[no-untyped-def]
    with T.block("root"):
        T.reads(C[0:16], A[0:4], B[0:16, 0:4])
        T.writes(C[0:16])
        for i in T.serial(16):
            for k in T.serial(4):
                with T.block("update"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    C[vi] = C[vi] + T.Cast("int32", A[vk]) * T.Cast("int32", B[vi, vk])


@T.prim_func
def dot_16x4_vnni(A: T.Buffer((4,), "uint8"), B: T.Buffer((16, 4), "int8"), C: T.Buffer((16,), "int32")):  # type: ignore[no-untyped-def]
    with T.block("root"):
        T.reads(C[0:16], A[0:4], B[0:16, 0:4])
        T.writes(C[0:16])
        C[T.ramp(0, 1, 16)] = T.call_llvm_pure_intrin(
            "llvm.x86.avx512.vpdpbusd.512",
            C[T.ramp(0, 1, 16)],
            T.reinterpret(
                T.broadcast(T.reinterpret(T.vload(T.access_ptr(A[0], "r"), dtype="uint8x4"), dtype="int32"), 16),
                dtype="int8x64",
            ),
            T.vload(T.access_ptr(B[0, 0], "r"), dtype="int8x64"),
            dtype="int32x16",
        )


@T.prim_func
def dot_8x4_u8_i8_i32(A: T.Buffer((4,), "uint8"), B: T.Buffer((8, 4), "int8"), C: T.Buffer((8,), "int32")):  # type: ignore[no-untyped-def]
    with T.block("root"):
        T.reads(C[0:8], A[0:4], B[0:8, 0:4])
        T.writes(C[0:8])
        for i in T.serial(8):
            for k in T.serial(4):
                with T.block("update"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    C[vi] = C[vi] + T.Cast("int32", A[vk]) * T.Cast("int32", B[vi, vk])


@T.prim_func
def dot_8x4_vnni(A: T.Buffer((4,), "uint8"), B: T.Buffer((8, 4), "int8"), C: T.Buffer((8,), "int32")):  # type: ignore[no-untyped-def]
    with T.block("root"):
        T.reads(C[0:8], A[0:4], B[0:8, 0:4])
        T.writes(C[0:8])
        C[T.ramp(0, 1, 8)] = T.call_llvm_pure_intrin(
            "llvm.x86.avx512.vpdpbusd.256",
            C[T.ramp(0, 1, 8)],
            T.reinterpret(
                T.broadcast(T.reinterpret(T.vload(T.access_ptr(A[0], "r"), dtype="uint8x4"), dtype="int32"), 8),
                dtype="int8x32",
            ),
            T.vload(T.access_ptr(B[0, 0], "r"), dtype="int8x32"),
            dtype="int32x8",
        )


@T.prim_func
def dot_16x4_plain(A: T.Buffer((4,), "uint8"), B: T.Buffer((16, 4), "int8"), C: T.Buffer((16,), "int32")):  # type: ignore[no-untyped-def]
    with T.block("root"):
        T.reads(C[0:16], A[0:4], B[0:16, 0:4])
        T.writes(C[0:16])
        for k in T.unroll(4):
            C[T.ramp(0, 1, 16)] = C[T.ramp(0, 1, 16)] + T.broadcast(T.Cast("int32", A[k]), 16) * T.Cast(
                "int32x16",
                T.reinterpret(
                    T.Cast(
                        "uint8x16",
                        T.shift_right(
                            T.vload(T.access_ptr(B[0, 0], "r"), dtype="uint32x16"),
                            T.broadcast(T.Cast("uint32", k * 8), 16),
                        ),
                    ),
                    dtype="int8x16",
                ),
            )


TensorIntrin.register(VNNI_DOT_16x4_INTRIN, dot_16x4_u8_i8_i32, dot_16x4_vnni, module=__name__)
TensorIntrin.register(VNNI_DOT_8x4_INTRIN, dot_8x4_u8_i8_i32, dot_8x4_vnni, module=__name__)
TensorIntrin.register(PLAIN_DOT_16x4_INTRIN, dot_16x4_u8_i8_i32, dot_16x4_plain, module=__name__)
