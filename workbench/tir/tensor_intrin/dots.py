"""Which intrinsic multiplies the bytes of a target (`Target.dot_dtypes`): four products added to each int32."""

from __future__ import annotations

from typing import Final

from . import arm_cpu, x86

DOTS: Final = {
    ("uint8", "int8", 16): x86.VNNI_DOT_16x4_INTRIN,
    ("uint8", "int8", 8): x86.VNNI_DOT_8x4_INTRIN,
    ("int8", "int8", 4): arm_cpu.ARM_DOT_4x4_i8_SDOT_INTRIN,
}
"""By the dtypes of data and weight, and the lanes of int32."""
PARTS: Final = 4
"""Products in each lane."""
