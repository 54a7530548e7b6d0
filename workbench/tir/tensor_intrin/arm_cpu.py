"""Dot products of int8 on ARM: four sums of four products each, one instruction of the extension "dotprod" (sdot)."""

from __future__ import annotations

from typing import Final

from ..language import T
from .registry import TensorIntrin

ARM_DOT_4x4_i8_SDOT_INTRIN: Final = "dot_4x4_i8i8s32_sdot"


@T.prim_func
def dot_4x4_i8_i8_i32(A: T.Buffer((4,), "int8"), B: T.Buffer((4, 4), "int8"), C: T.Buffer((4,), "int32")):  # type: ignore[no-untyped-def]
    with T.block("root"):
        T.reads(C[0:4], A[0:4], B[0:4, 0:4])
        T.writes(C[0:4])
        for i in T.serial(4):
            for k in T.serial(4):
                with T.block("update"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    C[vi] = C[vi] + T.Cast("int32", A[vk]) * T.Cast("int32", B[vi, vk])


@T.prim_func
def dot_4x4_sdot(A: T.Buffer((4,), "int8"), B: T.Buffer((4, 4), "int8"), C: T.Buffer((4,), "int32")):  # type: ignore[no-untyped-def]
    with T.block("root"):
        T.reads(C[0:4], A[0:4], B[0:4, 0:4])
        T.writes(C[0:4])
        C[T.ramp(0, 1, 4)] = T.call_llvm_pure_intrin(
            "llvm.aarch64.neon.sdot.v4i32.v16i8",
            C[T.ramp(0, 1, 4)],
            T.reinterpret(
                T.broadcast(T.reinterpret(T.vload(T.access_ptr(A[0], "r"), dtype="int8x4"), dtype="int32"), 4),
                dtype="int8x16",
            ),
            T.vload(T.access_ptr(B[0, 0], "r"), dtype="int8x16"),
            dtype="int32x4",
        )


TensorIntrin.register(ARM_DOT_4x4_i8_SDOT_INTRIN, dot_4x4_i8_i8_i32, dot_4x4_sdot, module=__name__)
