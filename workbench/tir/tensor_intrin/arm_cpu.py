"""Dot products of int8 on ARM: four sums of four products each, one instruction of the extension "dotprod" (sdot)."""

from __future__ import annotations

from typing import Final

from .dots import INSTRUCTIONS, of_bytes

ARM_DOT_4x4_i8_SDOT_INTRIN: Final = "dot_4x4_i8i8s32_sdot"

dot_4x4_i8_i8_i32, dot_4x4_sdot = of_bytes(next(dot for dot in INSTRUCTIONS if dot.name == ARM_DOT_4x4_i8_SDOT_INTRIN))
