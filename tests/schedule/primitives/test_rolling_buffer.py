"""rolling_buffer: golden, machine code against NumPy, what later steps may not do, refusals."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_refusal, check_steps
from tests.schedule.numpy_checks import check_convolution
from workbench import te
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.tir.script import script
from workbench.tir.transforms.lower_blocks import lower_blocks


def rows(sch: Schedule) -> None:
    sch.compute_at("pad", sch.get_loops("conv")[1])
    sch.rolling_buffer("pad", 0)


def columns(sch: Schedule) -> None:
    sch.compute_at("pad", sch.get_loops("conv")[2])
    sch.rolling_buffer("pad", 0)


def rows_of_a_parallel_channel(sch: Schedule) -> None:
    sch.parallel(sch.get_loops("conv")[0])
    rows(sch)


def test_rows(golden: Golden) -> None:
    check_steps(golden, p.convolution, rows)


def test_columns(golden: Golden) -> None:
    check_steps(golden, p.convolution, columns)


@pytest.mark.parametrize("steps", [rows, columns, rows_of_a_parallel_channel])
def test_machine_code_agrees_with_numpy(steps: Any) -> None:
    check_convolution(steps)


def test_the_buffer_outlives_the_iterations(golden: Golden) -> None:
    sch = Schedule(p.convolution())
    rows(sch)
    golden(script(lower_blocks(sch.func)) + "\n")


def strided(kernel: int, stride: int) -> Any:
    """B[y] is the sum of `kernel` elements of A, `stride` apart from one y to the next; A = X + 1."""

    def program() -> t.PrimFunc:
        size = 4 * stride + kernel
        x = te.placeholder((size,), name="X")
        a = te.compute((size,), lambda i: x[i] + 1.0, name="A")
        k = te.reduce_axis((0, kernel), name="k")
        return te.create_prim_func([x, te.compute((5,), lambda y: te.sum(a[y * stride + k], axis=k), name="B")])

    return program


def rolled(sch: Schedule) -> Any:
    sch.compute_at("A", sch.get_loops("B")[0])
    return sch.rolling_buffer("A", 0)


def test_a_stride(golden: Golden) -> None:
    check_steps(golden, strided(5, 2), rolled)


def test_the_loop_stays_serial() -> None:
    sch = Schedule(strided(3, 1)())
    rolled(sch)
    y = sch.get_loops("B")[0]
    assert sch.why_not("parallel", y) is not None and sch.why_not("vectorize", y) is not None


def test_a_split_rolling_loop_still_rolls(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        rolled(sch)
        sch.split(sch.get_loops("B")[0], factors=[None, 2])

    check_steps(golden, strided(3, 1), steps)


def parallel_first(sch: Schedule) -> Any:
    y = sch.get_loops("B")[0]
    sch.compute_at("A", y)
    sch.parallel(y)
    return sch.rolling_buffer("A", 0)


def both_axes(sch: Schedule) -> Any:
    y, x = sch.get_loops("conv")[1:3]
    fused = sch.fuse(y, x)
    sch.compute_at("pad", fused)
    return sch.rolling_buffer("pad", 0)


def unmoved(sch: Schedule) -> Any:
    sch.compute_at("top", sch.get_loops("shifted")[0])
    return sch.rolling_buffer("top", 0)


def declared_wider(sch: Schedule) -> Any:
    sch.compute_at("A", sch.get_loops("B")[0])
    sch.annotate_buffer_access("B", 0, "read", lambda y, k: ((0, 9),))
    return sch.rolling_buffer("A", 0)


REFUSALS: dict[str, tuple[Any, Any, str]] = {
    "not moved": (p.convolution, lambda s: s.rolling_buffer("pad", 0), "E-SCHEDULE-ROLLING-LOOP"),
    "a parallel loop": (strided(3, 1), parallel_first, "E-SCHEDULE-ROLLING-LOOP"),
    "no overlap": (strided(2, 3), rolled, "E-SCHEDULE-ROLLING-OVERLAP"),
    "both axes": (p.convolution, both_axes, "E-SCHEDULE-ROLLING-OVERLAP"),
    "single rows": (p.softmax, unmoved, "E-SCHEDULE-ROLLING-OVERLAP"),
    "beyond the window": (strided(3, 1), declared_wider, "E-SCHEDULE-ROLLING-READ"),
    "an output": (p.convolution, lambda s: s.rolling_buffer("relu", 0), "E-SCHEDULE-OUTPUT"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    program, action, code = REFUSALS[name]
    check_refusal(golden, program, action, code)
