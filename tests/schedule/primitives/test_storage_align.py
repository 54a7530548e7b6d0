"""storage_align: the annotation, the strides it becomes, machine code against NumPy, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_refusal, check_steps
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.tir.script import script
from workbench.tir.transforms.align_storage import align_storage
from workbench.tir.transforms.lower_blocks import lower_blocks


def aligned(sch: Schedule) -> None:
    sch.storage_align("C", 0, 0, factor=8, offset=1)


def test_annotates(golden: Golden) -> None:
    check_steps(golden, p.matmul, aligned)


def test_a_second_call_replaces_the_first_on_its_axis() -> None:
    sch = Schedule(p.matmul())
    aligned(sch)
    sch.storage_align("C", 0, -2, factor=16, offset=0)
    assert sch.get(sch.get_block("C")).annotations["buffer_dim_align"] == ((0, 0, 16, 0),)


@pytest.mark.parametrize(("factor", "offset", "stride"), [(8, 1, 9), (8, 0, 8), (4, 2, 6), (1, 0, 6), (4, 3, 7)])
def test_lowering_gives_strides(factor: int, offset: int, stride: int) -> None:
    sch = Schedule(p.matmul(4, 6, 5))
    sch.storage_align("C", 0, 0, factor, offset)
    text = script(align_storage(lower_blocks(sch.func).body))
    assert f"strides=({stride}, 1)" in text


def test_lowered(golden: Golden) -> None:
    sch = Schedule(p.matmul())
    aligned(sch)
    sch.compute_at("C", sch.get_loops("D")[0])
    body = lower_blocks(sch.func).body
    golden(f"{script(body)}\n\n{script(align_storage(body))}\n")


@pytest.mark.parametrize("move", [False, True])
def test_machine_code_agrees_with_numpy(move: bool) -> None:
    sch = Schedule(p.matmul(5, 7, 9))
    aligned(sch)
    if move:
        sch.compute_at("C", sch.get_loops("D")[0])
    random = np.random.default_rng(0)
    a, b = random.standard_normal((5, 9)).astype("float32"), random.standard_normal((9, 7)).astype("float32")
    d = np.zeros((5, 7), "float32")
    wb.build(sch.func)["main"](a, b, d)
    np.testing.assert_allclose(d, a.astype("float64") @ b + 1, rtol=1e-5)


def test_rows_that_fit_nothing_are_left_out() -> None:
    sch = Schedule(p.matmul())
    sch.annotate("C", "buffer_dim_align", [[3, 0, 8, 1], [0, 9, 8, 1], [0, 0, 8], "x"])
    assert not any(len(node.annotations) for node in _allocations(lower_blocks(sch.func).body))


def _allocations(root: t.Stmt) -> list[t.AllocBuffer]:
    from workbench.core.node import pre_order

    return [node for node in pre_order(root) if isinstance(node, t.AllocBuffer)]


def test_refuses_a_parameter(golden: Golden) -> None:
    check_refusal(golden, p.matmul, lambda s: s.storage_align("D", 0, 0, 8, 1), "E-SCHEDULE-ALIGN-PARAMETER")


def test_refuses_an_axis_that_is_not_there(golden: Golden) -> None:
    check_refusal(golden, p.matmul, lambda s: s.storage_align("C", 0, 2, 8, 1), "E-SCHEDULE-ALIGN-AXIS")


def test_refuses_an_offset_beyond_the_factor(golden: Golden) -> None:
    check_refusal(golden, p.matmul, lambda s: s.storage_align("C", 0, 0, 8, 9), "E-SCHEDULE-ALIGN-OFFSET")
