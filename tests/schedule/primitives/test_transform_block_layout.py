"""transform_block_layout: golden, machine code against NumPy, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_refusal, check_steps
from workbench.arith import build
from workbench.arith.nodes import Var
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.tir.script import parse


def test_blocked(golden: Golden) -> None:
    check_steps(golden, p.matmul, lambda sch: sch.transform_block_layout("D", lambda i, j: (i // 2, j, i % 2)))


def test_flat(golden: Golden) -> None:
    check_steps(golden, p.chain, lambda sch: sch.transform_block_layout("four", lambda i, j: i * 5 + j))


def test_reduction(golden: Golden) -> None:
    check_steps(
        golden,
        p.convolution,
        lambda sch: sch.transform_block_layout("conv", lambda o, y, x, c, ky, kx: (o, x, y, ky * 3 + kx, c)),
    )


def test_machine_code_agrees_with_numpy() -> None:
    sch = Schedule(p.matmul(4, 6, 8))
    sch.transform_block_layout("C", lambda i, j, k: (i * 6 + j, k // 4, k % 4))
    sch.vectorize(sch.get_loops("D")[1])
    random = np.random.default_rng(0)
    a, b = random.standard_normal((4, 8)).astype("float32"), random.standard_normal((8, 6)).astype("float32")
    d = np.zeros((4, 6), "float32")
    wb.build(sch.func)["main"](a, b, d)
    np.testing.assert_allclose(d, a.astype("float64") @ b + 1, rtol=1e-5)


def test_a_sum_that_must_keep_its_order_and_does(golden: Golden) -> None:
    check_steps(golden, p.matmul, wide_reduction("lambda i, j, k: (j, i, k // 5, k % 5)"))


def test_a_recurrence_that_keeps_its_order(golden: Golden) -> None:
    flat = "lambda i, j: (i * 3 + j,)"
    check_steps(golden, lambda: parse(GROWING), lambda sch: sch.transform_block_layout("C", flat))


def test_a_block_whose_buffer_others_write_too(golden: Golden) -> None:
    check_steps(golden, lambda: parse(GROWING), lambda sch: sch.transform_block_layout("B", "lambda i, j: (j, i)"))


GROWING = """
@T.prim_func
def main(A: T.Buffer((4, 3), "float32"), C: T.Buffer((6,), "float32")):
    B = T.alloc_buffer((4, 3), "float32")
    for i, j in T.grid(4, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(4, 3):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi + vj] = C[vi + vj] * 2.0 + B[vi, vj]
    for i in range(4):
        with T.block("D"):
            vi = T.axis.spatial(4, i)
            B[vi, 0] = A[vi, 1]
"""


def partial(sch: Schedule) -> Any:
    sch.compute_at("C", sch.get_loops("D")[0])
    return sch.transform_block_layout("C", lambda i, j, k: (j, i, k))


def wide_reduction(index_map: str, block: str = "C") -> Any:
    def steps(sch: Schedule) -> None:
        sch.unsafe_set_dtype(block, 0, "float64")
        sch.transform_block_layout(block, index_map)

    return steps


def under_a_condition() -> t.PrimFunc:
    """The loops of C stand under an if."""
    func = p.plain_matmul()
    root = func.body.block
    body = t.IfThenElse(build.less(Var("n"), 3), root.body)
    return func.replace(body=func.body.replace(block=root.replace(body=body)))


REFUSALS: dict[str, tuple[Any, Any, str]] = {
    "shared loop": (p.matmul, partial, "E-SCHEDULE-SHARED-LOOP"),
    "under a condition": (
        under_a_condition, lambda s: s.transform_block_layout("C", lambda i, j, k: (j, i, k)), "E-SCHEDULE-SHARED-LOOP",
    ),
    "rank": (p.matmul, lambda s: s.transform_block_layout("C", lambda i, j: (j, i)), "E-SCHEDULE-MAP-RANK"),
    "pads": (p.matmul, lambda s: s.transform_block_layout("D", lambda i, j: (i, j // 4, j % 4)), "E-SCHEDULE-MAP-PADS"),
    "mixes": (
        p.matmul, lambda s: s.transform_block_layout("C", lambda i, j, k: (i, j * 5 + k)), "E-SCHEDULE-MAP-MIXES",
    ),
    "collides": (p.matmul, lambda s: s.transform_block_layout("D", lambda i, j: (i + j,)), "E-SCHEDULE-MAP-COLLIDES"),
    "order": (
        p.convolution, wide_reduction("lambda o, y, x, c, ky, kx: (o, y, x, c, kx, ky)", "conv"),
        "E-SCHEDULE-REDUCTION-ORDER",
    ),
    "another order": (
        lambda: parse(GROWING), lambda s: s.transform_block_layout("C", lambda i, j: (j, i)), "E-SCHEDULE-IRREGULAR",
    ),
    "irregular": (p.stencil, lambda s: s.transform_block_layout("step", lambda i, j: (j, i)), "E-SCHEDULE-IRREGULAR"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    program, attempt, code = REFUSALS[name]
    check_refusal(golden, program, attempt, code)


def test_an_uneven_split_is_no_obstacle() -> None:
    sch = Schedule(p.matmul())
    block = sch.get_block("C")
    sch.split(sch.get_loops(block)[0], factors=[None, 3])
    sch.transform_block_layout(block, lambda i, j, k: (j, i, k))
    assert "for ax0, ax1, ax2 in T.grid(6, 4, 5)" in sch.script()


def test_a_block_without_loops_gets_some() -> None:
    function = parse(
        "@T.prim_func\n"
        'def main(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")):\n'
        '    with T.block("one"):\n'
        "        v = T.axis.spatial(1, 0)\n"
        "        B[v] = A[v] + 1.0\n"
    )
    sch = Schedule(function)
    sch.transform_block_layout("one", lambda i: (i, i - i))
    assert len(sch.get_loops("one")) == 2
    out = np.zeros(1, np.float32)
    wb.build(sch.func)(np.float32([2]), out)
    assert out == 3
