"""What LLVM's intrinsics compute, for the interpreter: those of the tensor intrinsics, and mathematics.

Source: the LLVM language reference, and the architecture manuals of Intel (VPDPBUSD) and ARM (SDOT).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...arith import nodes as n
from ...core.errors import WorkbenchError
from . import numbers


def _dot_in_fours(first: type, second: type) -> Callable[..., Any]:
    """acc[i] + the sum over k < 4 of a[4 i + k] * b[4 i + k], wrapping to int32."""

    def meaning(accumulator: Any, a: Any, b: Any) -> Any:
        left = np.asarray(a).view(first).astype(np.int64)
        right = np.asarray(b).view(second).astype(np.int64)
        sums = (left * right).reshape(-1, 4).sum(axis=1)
        return (np.asarray(accumulator, np.int64) + sums).astype(np.int32)

    return meaning


def _interleaved(first: Any, second: Any) -> Any:
    """a[0], b[0], a[1], b[1], ..."""
    return np.stack([first, second], axis=-1).reshape(-1)


def _inserted(vector: Any, part: Any, at: Any) -> Any:
    """A vector with other elements from a place on."""
    made = np.array(vector)
    made[int(at) : int(at) + len(part)] = part
    return made


def _part_of(node: n.Call) -> Callable[..., Any]:
    """As many elements of a vector as the call's result has, from a place on."""

    def meaning(vector: Any, at: Any) -> Any:
        return numbers.plain(np.asarray(vector)[int(at) :][: node.dtype.lanes], node.dtype)

    return meaning


_MEANINGS: Final[tuple[tuple[str, Callable[..., Any]], ...]] = (
    ("llvm.x86.avx512.vpdpbusd.", _dot_in_fours(np.uint8, np.int8)),
    ("llvm.aarch64.neon.sdot.", _dot_in_fours(np.int8, np.int8)),
    ("llvm.aarch64.neon.udot.", _dot_in_fours(np.uint8, np.uint8)),
    ("llvm.sqrt.", np.sqrt),
    ("llvm.exp.", np.exp),
    ("llvm.log.", np.log),
    ("llvm.sin.", np.sin),
    ("llvm.cos.", np.cos),
    ("llvm.floor.", np.floor),
    ("llvm.ceil.", np.ceil),
    ("llvm.trunc.", np.trunc),
    ("llvm.fabs.", np.abs),
    ("llvm.pow.", np.power),
    ("llvm.fma.", numbers.fused_multiply_add),
    ("llvm.ldexp.", np.ldexp),
    ("llvm.vector.interleave2.", _interleaved),
    ("llvm.vector.insert.", _inserted),
)
"""By the beginning of a name."""


def llvm_meaning(name: str, node: n.Call) -> Callable[..., Any]:
    """The Python function of an intrinsic.  Raises `WorkbenchError` E-TIR-INTERPRET for one that is not known here."""
    if name.startswith("llvm.vector.extract."):
        return _part_of(node)
    for prefix, function in _MEANINGS:
        if name.startswith(prefix):
            return lambda *values: numbers.plain(function(*values), node.dtype)
    raise WorkbenchError(
        "E-TIR-INTERPRET", f"the interpreter does not know {name}", fix="compile and run the program", nodes=(node,)
    )
