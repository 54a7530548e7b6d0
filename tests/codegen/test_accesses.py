"""Vectors of any number of lanes: the right elements, none beyond, on targets with and without masks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.codegen.support import artefact, build
from tests.codegen.test_statements import at_page_end
from tests.nightly import some

TARGETS = ("llvm", "llvm -mcpu=x86-64-v2")
DTYPES = ("int8", "uint16", "int64", "float16", "float64")
LANES = (3, 5, 6, 7, 9, 13, 15, 28)


def doubled(lanes: int, dtype: str, stride: int = 1) -> str:
    read = (lanes - 1) * stride + 1
    return f"""
    def f(A: T.Buffer(({read},), "{dtype}"), B: T.Buffer(({lanes},), "{dtype}")):
        for i in T.vectorized({lanes}):
            B[i] = A[i * {stride}] + A[i * {stride}]
    """


@pytest.mark.parametrize(("lanes", "stride", "target"), some(product(LANES, [1, 2, 3], TARGETS), 3))
def test_nothing_beyond_is_touched(lanes: int, stride: int, target: str) -> None:
    a, b = at_page_end((lanes - 1) * stride + 1), at_page_end(lanes)
    a[:] = np.arange(a.size)
    build(doubled(lanes, "float32", stride), target)(a, b)
    np.testing.assert_array_equal(b, 2 * a[::stride])


@pytest.mark.parametrize(("lanes", "dtype"), some(product(LANES, DTYPES), 3))
def test_elements_of_any_width(lanes: int, dtype: str) -> None:
    a, b = np.arange(lanes).astype(dtype), np.zeros(lanes + 1, dtype)
    build(doubled(lanes, dtype))(a, b[:lanes])
    np.testing.assert_array_equal(b, [*(2 * a), 0])


@pytest.mark.parametrize("lanes", LANES)
def test_truth_values(lanes: int) -> None:
    text = f"""
    def f(A: T.Buffer(({lanes},), "bool"), B: T.Buffer(({lanes},), "bool")):
        for i in T.vectorized({lanes}):
            B[i] = not A[i]
    """
    a, b = np.arange(lanes) % 3 == 0, np.zeros(lanes, "bool")
    build(text)(a, b)
    np.testing.assert_array_equal(b, ~a)


@pytest.mark.parametrize("lanes", LANES)
def test_bounds_are_checked_as_for_other_vectors(lanes: int) -> None:
    a, b = np.arange(lanes, dtype="float32"), np.zeros(lanes, "float32")
    build(doubled(lanes, "float32"), checked=True)(a, b)
    np.testing.assert_array_equal(b, 2 * a)


def test_seven_lanes_are_one_access_where_there_are_masks() -> None:
    """Without masks they are pieces of four, two and one."""
    masked, pieces = (
        artefact(doubled(7, "float32"), f"llvm -mcpu={cpu}").get_source("asm") for cpu in ("skylake-avx512", "haswell")
    )
    assert moves(masked) == 2 < moves(pieces)


def moves(assembly: str) -> int:
    """Vector moves between registers and the memory of arguments."""
    lines = [line.split("#")[0].split() for line in assembly.splitlines()]
    moved = [line for line in lines if line and line[0].startswith(("vmov", "vextract", "vinsert", "vadd"))]
    return sum("(%r" in "".join(line) for line in moved)


@pytest.mark.parametrize("level", ["llvm", "llvm -opt-level=0", "llvm -opt-level=3"])
@pytest.mark.parametrize("lanes", [20, 28, 60])
def test_vectors_of_several_registers_may_overlap_what_is_stored(lanes: int, level: str) -> None:
    """A mask that is all true in one register is one that LLVM could not compare with a store."""
    text = f"""
    def f(A: T.Buffer((512,), "float32"), B: T.Buffer((512,), "float32")):
        T.func_attr({{"noalias": False}})
        for i in T.serial(4):
            for l in T.vectorized({lanes}):
                B[i * {lanes} + l] = A[i * {lanes} + l] + B[i * {lanes} + l]
            for l in T.vectorized({lanes}):
                A[i * {lanes} + l] = B[i * {lanes} + l] + A[l * 2 + i]
    """
    a, b = np.arange(512, dtype="float32"), np.ones(512, "float32")
    x, y = a.copy(), b.copy()
    for i in range(4):
        here = slice(i * lanes, (i + 1) * lanes)
        y[here] += x[here]
        x[here] = y[here] + x[i : i + 2 * lanes : 2][:lanes]
    build(text, level)(a, b)
    np.testing.assert_array_equal((a, b), (x, y))
