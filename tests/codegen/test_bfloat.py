"""bfloat16 is bits that are computed with in float32: alike on processors that know it and on those that do not."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest

from tests.codegen.support import artefact, build

BFLOAT = np.dtype(ml_dtypes.bfloat16)
ACROSS_BLOCKS = """
def f(a: T.bfloat16, A: T.Buffer((64,), "bfloat16"), B: T.Buffer((64,), "bfloat16"), I: T.Buffer((64,), "int8")):
    for i in T.serial(64):
        ours: T.let[T.bfloat16] = A[i]
        theirs: T.let[T.bfloat16] = A[63 - i]
        if theirs < ours:
            B[i] = theirs
        else:
            if T.isnan(ours) or not T.isfinite(ours):
                B[i] = a
            else:
                B[i] = T.if_then_else(T.Cast("bool", ours), ours, T.Cast("bfloat16", I[i]))
"""
IN_LANES = """
def f(A: T.Buffer((64,), "bfloat16"), B: T.Buffer((64,), "bfloat16"), C: T.Buffer((1,), "bfloat16")):
    for i in T.serial(8):
        for j in T.vectorized(8):
            B[i * 8 + j] = T.max(T.abs(A[i * 8 + j]) + T.bfloat16(1.5), T.sqrt(T.abs(A[i * 8 + j])))
    C[0] = T.reduce_max(A[T.ramp(0, 1, 64)], dtype="bfloat16")
"""


def values() -> np.ndarray:
    drawn = np.random.default_rng(0).normal(size=64).astype(BFLOAT)
    drawn[:6] = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-39], np.float32).astype(BFLOAT)
    return drawn


@pytest.mark.parametrize("text", [ACROSS_BLOCKS, IN_LANES], ids=["across blocks", "in lanes"])
@pytest.mark.parametrize(
    "target",
    ["x86-64-v2", "x86-64-v3", "znver5", "sapphirerapids", "aarch64"],
)
def test_no_target_calls_a_function_that_rounds(text: str, target: str) -> None:
    """LLVM's __truncsfbf2, linked nowhere, was called for values that cross blocks where AVX512-BF16 is not there."""
    options = f"-mcpu={target}" if target != "aarch64" else "-mtriple=aarch64-linux-gnu -mcpu=neoverse-n1"
    assembly = artefact(text, f"llvm {options}").get_source("asm")
    assert re.findall(r"__\w+bf\w*", assembly) == []


def test_values_that_cross_blocks() -> None:
    given, found = values(), np.zeros(64, BFLOAT)
    whole = np.arange(64).astype("int8")
    build(ACROSS_BLOCKS)(1.0 + 2**-8 + 2**-20, given, found, whole)
    rounded = np.float32(1.0078125)
    wide, wanted = given.astype(np.float32), np.zeros(64, np.float32)
    for i in range(64):
        ours, theirs = wide[i], wide[63 - i]
        if theirs < ours:
            wanted[i] = theirs
        elif not np.isfinite(ours):
            wanted[i] = rounded
        else:
            wanted[i] = ours if ours != 0 else np.float32(i)
    np.testing.assert_array_equal(found.astype(np.float32), wanted)


def test_values_in_lanes() -> None:
    given = np.where(np.isnan(values().astype(np.float32)), 0, values().astype(np.float32)).astype(BFLOAT)
    found, greatest = np.zeros(64, BFLOAT), np.zeros(1, BFLOAT)
    build(IN_LANES)(given, found, greatest)
    size = np.abs(given.astype(np.float32))
    plus, root = (size + np.float32(1.5)).astype(BFLOAT), np.sqrt(size).astype(BFLOAT)
    np.testing.assert_array_equal(found, np.maximum(plus.astype(np.float32), root.astype(np.float32)).astype(BFLOAT))
    assert greatest[0] == given.max()
