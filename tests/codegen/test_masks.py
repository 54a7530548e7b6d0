"""Vectors that are cut short: tails of rows copied lane by lane or all at once, at every level of LLVM."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.tir.script import parse

ROWS = 64


def copied(width: int, lanes: int, kind: str) -> str:
    """Rows of `width` numbers into rows of whole vectors, zeros behind them."""
    whole = -(-width // lanes) * lanes
    place = f"T.ramp(p * {lanes}, 1, {lanes})"
    value = f"A[T.ramp(c * {width} + p * {lanes}, 1, {lanes})]"
    return f"""@T.prim_func
def main(A: T.Buffer(({ROWS * width},), "float32"), B: T.Buffer(({ROWS * whole},), "float32")):
    T.func_attr({{"noalias": True}})
    for c in T.{kind}({ROWS}):
        for p in T.serial({whole // lanes}):
            B[T.ramp(c * {whole} + p * {lanes}, 1, {lanes})] = T.if_then_else(
                {place} < T.broadcast({width}, {lanes}), {value}, T.broadcast(T.float32(0), {lanes}))
"""


@pytest.mark.parametrize("target", ["llvm", *(f"llvm -opt-level={level}" for level in range(4))])
@pytest.mark.parametrize(("width", "lanes"), [(49, 16), (40, 16), (60, 16), (100, 32), (7, 8), (64, 16)])
def test_rows_are_filled_up(width: int, lanes: int, target: str) -> None:
    """Masks are constants once the loop over vectors is written out: LLVM 22 ended the process at all-true ones."""
    whole = -(-width // lanes) * lanes
    given = np.arange(1, ROWS * width + 1, dtype="float32")
    for kind in ("serial", "parallel"):
        found = np.full(ROWS * whole, -1, "float32")
        wb.build(parse(copied(width, lanes, kind)), target=target)(given, found)
        expected = np.zeros((ROWS, whole), "float32")
        expected[:, :width] = given.reshape(ROWS, width)
        np.testing.assert_array_equal(found.reshape(ROWS, whole), expected)


@pytest.mark.parametrize("processor", ["x86-64", "haswell", "skylake-avx512", "znver5"])
def test_other_processors(processor: str) -> None:
    for lanes in (4, 8, 16, 32):
        for width in (lanes + 1, 3 * lanes + 1, 4 * lanes - 1):
            text = parse(copied(width, lanes, "serial"))
            made = wb.build(text, target=f"llvm -mcpu={processor}")
            assert "main" in made.get_source("asm")
