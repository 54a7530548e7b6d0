"""Dot products of int8 on x86: sixteen sums of four products each, C[i] += A[k] * B[i, k] with B in rows of four.

`dot_16x4_vnni` is one instruction (AVX512-VNNI, vpdpbusd; see `dots`), `dot_16x4_plain` vector arithmetic that any x86
has.
"""

from __future__ import annotations

from typing import Final

from ..language import T
from .dots import INSTRUCTIONS, of_bytes
from .registry import TensorIntrin

VNNI_DOT_16x4_INTRIN: Final = "dot_16x4_vnni"
PLAIN_DOT_16x4_INTRIN: Final = "dot_16x4_plain"

dot_16x4_u8_i8_i32, dot_16x4_vnni = of_bytes(next(dot for dot in INSTRUCTIONS if dot.name == VNNI_DOT_16x4_INTRIN))


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


TensorIntrin.register(PLAIN_DOT_16x4_INTRIN, dot_16x4_u8_i8_i32, dot_16x4_plain, module=__name__)
