"""Tiles that are shuffled: sizes and numbers, compiled and interpreted; names; what a schedule prints and replays."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import workbench as wb
from tests.nightly import some
from workbench.analysis.operations import flops
from workbench.core.dtype import DataType
from workbench.core.errors import WorkbenchError
from workbench.schedule import Schedule
from workbench.script import tir as T
from workbench.tir.interpret import interpret
from workbench.tir.script import parse, script
from workbench.tir.tensor_intrin import TENSOR_INTRINSICS
from workbench.tir.tensor_intrin.transposes import DTYPES, MOST, name_of

TARGETS = ("llvm", "llvm -mcpu=x86-64-v2")


def moved(rows: int, columns: int, dtype: str) -> Schedule:
    """A transposition of 2 x 3 tiles with an axis between those that change places."""

    @T.prim_func
    def f(A: T.Buffer((3 * columns, 2, 2 * rows), dtype), B: T.Buffer((2, 2 * rows, 3 * columns), dtype)):
        for n, i, j in T.grid(2, 2 * rows, 3 * columns):
            with T.block("B"):
                vn, vi, vj = T.axis.remap("SSS", [n, i, j])
                B[vn, vi, vj] = A[vj, vn, vi]

    schedule = Schedule(f)
    n, i, j = schedule.get_loops("B")
    io, ii = schedule.split(i, factors=[2, rows])
    jo, ji = schedule.split(j, factors=[3, columns])
    schedule.reorder(n, io, jo, ii, ji)
    schedule.tensorize(ii, f"transpose_{rows}x{columns}_{dtype}")
    return schedule


def operands(rows: int, columns: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    drawn = np.random.default_rng(rows * 100 + columns).integers(0, 100, (3 * columns, 2, 2 * rows))
    return drawn.astype(dtype), np.zeros((2, 2 * rows, 3 * columns), dtype)


SIDES = [(16, 16), (8, 16), (7, 8), (16, 7), (14, 12), (2, 4), (4, 2)]


@pytest.mark.parametrize(("rows", "columns", "dtype", "target"), some(
    ((*sides, dtype, target) for dtype in DTYPES for sides in SIDES for target in TARGETS), 5
))  # fmt: skip
def test_tiles_change_rows_and_columns(rows: int, columns: int, dtype: str, target: str) -> None:
    schedule = moved(rows, columns, dtype)
    a, b = operands(rows, columns, dtype)
    wb.build(schedule.func, target=target)["f"](a, b)
    np.testing.assert_array_equal(b, a.transpose(1, 2, 0))


@pytest.mark.parametrize(("rows", "columns"), some(product(range(2, MOST + 1, 3), range(2, MOST + 1, 2)), 5))
def test_the_interpreter_gives_the_same(rows: int, columns: int) -> None:
    schedule = moved(rows, columns, "float32")
    a, b = operands(rows, columns, "float32")
    interpret(schedule.func, a, b)
    np.testing.assert_array_equal(b, a.transpose(1, 2, 0))


def test_a_tile_is_printed_and_read() -> None:
    schedule = moved(14, 7, "uint8")
    assert script(parse(schedule.script())) == schedule.script()
    again = Schedule(schedule.first_state.func)
    schedule.trace.apply_to_schedule(again, remove_postproc=False)
    assert again.script() == schedule.script()


def test_moving_is_no_arithmetic() -> None:
    assert flops(moved(16, 16, "float32").func) == 0


@pytest.mark.parametrize(
    "name",
    ["transpose_17x4_float32", "transpose_1x4_float32", "transpose_4x4_float16", "transpose_04x4_int8",
     "transpose_4x4", "transpose_4x4_float32x2"],
)  # fmt: skip
def test_other_names_are_refused(name: str) -> None:
    assert name not in TENSOR_INTRINSICS
    with pytest.raises(WorkbenchError, match="E-TENSOR-INTRINSIC-UNKNOWN"):
        TENSOR_INTRINSICS[name]


def test_only_what_is_asked_for_is_made() -> None:
    """A table that listed all would show 2,250 of them to who asks what there is."""
    assert name_of(16, 4, DataType("int8")) in TENSOR_INTRINSICS
    assert not any(name.startswith("transpose_") for name in TENSOR_INTRINSICS)
    assert TENSOR_INTRINSICS.is_own("transpose_16x4_int8")


def test_another_computation_is_no_such_tile() -> None:
    @T.prim_func
    def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
        for i, j in T.grid(8, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi] + T.float32(1)

    schedule = Schedule(f)
    with pytest.raises(WorkbenchError, match="is not what tensor intrinsic transpose_8x8_float32 computes"):
        schedule.tensorize(schedule.get_loops("B")[0], "transpose_8x8_float32")
