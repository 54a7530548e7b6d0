"""pad_einsum: golden, machine code, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_refusal, check_steps
from tests.schedule.numpy_checks import check_matmul
from workbench import te
from workbench.arith.nodes import Var
from workbench.schedule import Schedule
from workbench.tir import nodes as t


def test_matmul(golden: Golden) -> None:
    check_steps(golden, p.matmul, lambda sch: sch.pad_einsum("C", [4, 4, 4]))


def test_only_the_sum(golden: Golden) -> None:
    check_steps(golden, p.plain_matmul, lambda sch: sch.pad_einsum("C", [1, 1, 8]))


def test_machine_code_agrees_with_numpy() -> None:
    def steps(sch: Schedule) -> None:
        sch.pad_einsum("C", [4, 8, 1])
        block = sch.get_block("C")
        i, j, k = sch.get_loops(block)
        sch.reorder(i, k, j)
        sch.vectorize(j)

    check_matmul(steps)
    check_matmul(lambda sch: sch.pad_einsum("C", [4, 4, 4]), plain=True)


def test_infinities_stay_where_they_are() -> None:
    sch = Schedule(p.plain_matmul(3, 3, 3))
    sch.pad_einsum("C", [4, 4, 4])
    a, b, c = np.ones((3, 3), "float32"), np.ones((3, 3), "float32"), np.zeros((3, 3), "float32")
    a[0, 0] = np.inf
    wb.build(sch.func)["main"](a, b, c)
    expected = np.full((3, 3), 3.0)
    expected[0] = np.inf
    np.testing.assert_array_equal(c, expected)


def scaled() -> t.PrimFunc:
    """C[i] = sum over k of A[i, k] * S[i]"""
    a, s = te.placeholder((5, 7), name="A"), te.placeholder((5,), name="S")
    k = te.reduce_axis((0, 7), name="k")
    return te.create_prim_func([a, s, te.compute((5,), lambda i: te.sum(a[i, k] * s[i], axis=k), name="C")])


def totals() -> t.PrimFunc:
    """C[i] = sum over k of A[i, k] + 1"""
    a = te.placeholder((5, 7), name="A")
    k = te.reduce_axis((0, 7), name="k")
    return te.create_prim_func([a, te.compute((5,), lambda i: te.sum(a[i, k] + 1.0, axis=k), name="C")])


def maxima() -> t.PrimFunc:
    a = te.placeholder((5, 7), name="A")
    k = te.reduce_axis((0, 7), name="k")
    return te.create_prim_func([a, te.compute((5,), lambda i: te.max(a[i, k], axis=k), name="C")])


def roots() -> t.PrimFunc:
    a = te.placeholder((5,), name="A")
    return te.create_prim_func([a, te.compute((5,), lambda i: te.sqrt(a[i]), name="C")])


def split_first(sch: Schedule) -> Any:
    sch.split(sch.get_loops("C")[0], factors=[None, 2])
    return sch.pad_einsum("C", [4, 4, 4])


def unit_loop(sch: Schedule) -> Any:
    sch.split(sch.get_loops("C")[0], factors=[5, 1])
    return sch.pad_einsum("C", [2])


REFUSALS: dict[str, tuple[Any, Any, str]] = {
    "count": (p.matmul, lambda s: s.pad_einsum("C", [4, 4]), "E-SCHEDULE-PAD-COUNT"),
    "split": (p.matmul, split_first, "E-SCHEDULE-PAD-LOOPS"),
    "unit loop": (roots, unit_loop, "E-SCHEDULE-PAD-LOOPS"),
    "windows": (p.pooling, lambda s: s.pad_einsum("pool", [1, 1, 1, 2, 2]), "E-SCHEDULE-EINSUM"),
    "infinities": (scaled, lambda s: s.pad_einsum("C", [1, 4]), "E-SCHEDULE-EINSUM"),
    "not a product": (totals, lambda s: s.pad_einsum("C", [1, 4]), "E-SCHEDULE-EINSUM"),
    "not a sum": (maxima, lambda s: s.pad_einsum("C", [1, 4]), "E-SCHEDULE-EINSUM"),
    "not arithmetic": (roots, lambda s: s.pad_einsum("C", [4]), "E-SCHEDULE-EINSUM"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    program, action, code = REFUSALS[name]
    check_refusal(golden, program, action, code)


def test_spatial_iterators_of_other_reductions_may_be_padded(golden: Golden) -> None:
    check_steps(golden, maxima, lambda sch: sch.pad_einsum("C", [4, 1]))


def test_symbolic_extents(golden: Golden) -> None:
    def program() -> t.PrimFunc:
        n, k = Var("n"), Var("k")
        a, b = te.placeholder((n, k), name="A"), te.placeholder((k, 20), name="B")
        r = te.reduce_axis((0, k), name="k")
        c = te.compute((n, 20), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
        return te.create_prim_func([a, b, c])

    check_steps(golden, program, lambda sch: sch.pad_einsum("C", [16, 1, 8]), runs=False)
