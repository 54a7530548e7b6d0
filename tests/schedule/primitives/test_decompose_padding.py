"""decompose_padding and can_decompose_padding: golden, machine code, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_refusal, check_steps
from tests.schedule.numpy_checks import check_convolution
from workbench import te
from workbench.arith import build
from workbench.schedule import Schedule
from workbench.tir import nodes as t


def whole(sch: Schedule) -> Any:
    return sch.decompose_padding("pad", sch.get_loops("pad")[0])


def by_rows(sch: Schedule) -> Any:
    return sch.decompose_padding("pad", sch.get_loops("pad")[1])


def one_row(sch: Schedule) -> Any:
    return sch.decompose_padding("pad", sch.get_loops("pad")[2])


def in_tiles(sch: Schedule) -> Any:
    sch.split(sch.get_loops("pad")[2], factors=[None, 3])
    return sch.decompose_padding("pad", sch.get_loops("pad")[3])


def test_whole(golden: Golden) -> None:
    check_steps(golden, p.convolution, whole)


def test_one_row(golden: Golden) -> None:
    check_steps(golden, p.convolution, one_row)


def test_in_tiles(golden: Golden) -> None:
    check_steps(golden, p.convolution, in_tiles)


@pytest.mark.parametrize("steps", [whole, by_rows, one_row, in_tiles])
def test_machine_code_agrees_with_numpy(steps: Any) -> None:
    check_convolution(steps)


def test_whether_it_can_changes_nothing() -> None:
    sch = Schedule(p.convolution())
    pad, conv = sch.get_block("pad"), sch.get_block("conv")
    before = sch.fingerprint()
    assert sch.can_decompose_padding(pad, sch.get_loops("pad")[0])
    assert not sch.can_decompose_padding(conv, sch.get_loops("conv")[0])
    assert sch.script() == Schedule(p.convolution()).script() and sch.fingerprint() != before


def padded(condition: Any, pad: Any = None) -> Any:
    """Y = X shifted by one under a condition of the iterators, zero (or `pad`) elsewhere."""

    def program() -> t.PrimFunc:
        x = te.placeholder((6, 6), name="X")

        def value(i: Any, j: Any) -> Any:
            outside = build.const(0.0) if pad is None else pad(x, i, j)
            return build.if_then_else(condition(i, j), x[i % 6, j % 6], outside)

        return te.create_prim_func([x, te.compute((8, 8), value, name="Y")])

    return program


def attempt(index: int = 0) -> Any:
    return lambda sch: sch.decompose_padding("Y", sch.get_loops("Y")[index])


def together(sch: Schedule) -> Any:
    sch.compute_at("pad", sch.get_loops("conv")[0])
    return sch.decompose_padding("pad", sch.get_loops("conv")[0])


def fused(sch: Schedule) -> Any:
    block = sch.get_block("Y")
    both = sch.fuse(*sch.get_loops(block))
    _, inner = sch.split(both, factors=[None, 3])
    return sch.decompose_padding(block, inner)


def bounded(i: Any, j: Any) -> Any:
    return build.all_of(i >= 1, j < 7)


def in_parallel(sch: Schedule) -> Any:
    sch.parallel(sch.get_loops("pad")[0])
    return sch.decompose_padding("pad", sch.get_loops("pad")[0])


def test_in_a_loop_that_others_share(golden: Golden) -> None:
    """All of it is filled before the loop; where the block stands, what lies inside is copied."""
    check_steps(golden, p.convolution, together)


def test_a_part_of_a_padded_copy(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.loop_partition(sch.get_loops("pad")[1], factors=[3, None])
        sch.decompose_padding("pad_1", sch.get_loops("pad_1")[1])

    check_steps(golden, p.convolution, steps)


REFUSALS: dict[str, tuple[Any, Any, str]] = {
    "a plain copy": (p.chain, lambda s: s.decompose_padding("one", s.get_loops("one")[0]), "E-SCHEDULE-PADDING-FORM"),
    "a value outside": (padded(bounded, lambda x, i, j: x[0, 0]), attempt(), "E-SCHEDULE-PADDING-FORM"),
    "nothing inside": (padded(lambda i, j: i >= 9), attempt(), "E-SCHEDULE-PADDING-FORM"),
    "a triangle": (padded(lambda i, j: i >= j), attempt(), "E-SCHEDULE-PADDING-RANGE"),
    "every second": (padded(lambda i, j: i * 2 >= 3), attempt(), "E-SCHEDULE-PADDING-RANGE"),
    "an or": (padded(lambda i, j: build.any_of(i >= 1, j >= 1)), attempt(), "E-SCHEDULE-PADDING-RANGE"),
    "another loop": (
        p.convolution, lambda s: s.decompose_padding("pad", s.get_loops("conv")[0]), "E-SCHEDULE-NOT-AROUND",
    ),
    "loop of another kind": (p.convolution, in_parallel, "E-SCHEDULE-PADDING-LOOP"),
    "fused": (padded(bounded), fused, "E-SCHEDULE-PARTIAL"),
    "a reduction": (p.matmul, lambda s: s.decompose_padding("C", s.get_loops("C")[0]), "E-SCHEDULE-INLINE-FORM"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    program, action, code = REFUSALS[name]
    check_refusal(golden, program, action, code)


def test_selects_are_paddings_too() -> None:
    x = te.placeholder((6,), name="X")
    y = te.compute((8,), lambda i: build.select(build.all_of(i >= 1, i < 7), x[(i + 5) % 6], 2.0), name="Y")
    sch = Schedule(te.create_prim_func([x, y]))
    sch.decompose_padding("Y", sch.get_loops("Y")[0])
    data, out = np.arange(6, dtype="float32"), np.zeros(8, "float32")
    wb.build(sch.func)["main"](data, out)
    np.testing.assert_array_equal(out, np.pad(data, 1, constant_values=2))
