"""reindex_cache_read: golden, machine code, refusals."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import check_refusal, check_steps
from tests.schedule.numpy_checks import check_convolution, check_matmul
from workbench.arith import build
from workbench.arith.nodes import Var
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.tir.build import decl_buffer, load, nest, point_region, store

PACKED = "lambda i, j, k: (j // 2, k, j % 2)"


def test_packed(golden: Golden) -> None:
    check_steps(golden, p.matmul, lambda sch: sch.reindex_cache_read("C", 1, "local", PACKED))


def test_windows_laid_out(golden: Golden) -> None:
    check_steps(
        golden,
        p.convolution,
        lambda sch: sch.reindex_cache_read("conv", 0, "global", lambda o, y, x, c, ky, kx: (y * 6 + x, c, ky * 3 + kx)),
    )


def test_machine_code_agrees_with_numpy() -> None:
    def steps(sch: Schedule) -> None:
        copy = sch.reindex_cache_read("C", 1, "global", lambda i, j, k: (j // 4, k, j % 4))
        sch.vectorize(sch.get_loops(copy)[0])

    check_matmul(lambda sch: sch.reindex_cache_read("C", 1, "global", PACKED))
    check_matmul(steps, m=8)
    check_convolution(
        lambda sch: sch.reindex_cache_read("conv", 0, "global", lambda o, y, x, c, ky, kx: (y, x, c, ky * 3 + kx))
    )


def from_one() -> t.PrimFunc:
    """O[i] = X[i] for i in 1 ... 4"""
    x, o = decl_buffer((6,), name="X"), decl_buffer((6,), name="O")
    i, vi = Var("i"), Var("vi")
    block = t.Block(
        "copy", (t.IterVar(vi, t.Range(build.const(1), build.const(4)), t.IterKind.SPATIAL),),
        (point_region(x, (vi,)),), (point_region(o, (vi,)),), (), None, store(o, load(x, vi), vi),
    )  # fmt: skip
    return p.in_root((x, o), (), nest([(i, 4)], t.BlockRealize((i + 1,), build.const(True), block)))


def attempt(block: str, index: int, index_map: Any) -> Any:
    return lambda sch: sch.reindex_cache_read(block, index, "local", index_map)


REFUSALS: dict[str, tuple[Any, Any, str]] = {
    "left out": (p.matmul, attempt("C", 0, lambda i, j, k: i), "E-SCHEDULE-REINDEX-MAP"),
    "collides": (p.matmul, attempt("C", 0, lambda i, j, k: i + k), "E-SCHEDULE-MAP-COLLIDES"),
    "rank": (p.matmul, attempt("C", 0, lambda i, k: (k, i)), "E-SCHEDULE-MAP-RANK"),
    "from one": (from_one, attempt("copy", 0, lambda i: i), "E-SCHEDULE-PARTIAL"),
    "in place": (p.stencil, attempt("step", 0, lambda s, i: (s, i)), "E-SCHEDULE-REINDEX-ACCESS"),
    "no scope": (p.matmul, lambda s: s.reindex_cache_read("C", 0, "", PACKED), "E-SCHEDULE-SCOPE"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    program, action, code = REFUSALS[name]
    check_refusal(golden, program, action, code)


def test_reindex_reads_domains_that_begin_elsewhere(golden: Golden) -> None:
    check_steps(golden, from_one, lambda sch: sch.reindex("copy", "X"), runs=False)
