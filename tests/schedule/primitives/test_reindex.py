"""reindex: golden, machine code, refusals."""

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


def test_read(golden: Golden) -> None:
    check_steps(golden, p.chain, lambda sch: sch.reindex("four", ("read", 0)))


def test_read_of_windows(golden: Golden) -> None:
    check_steps(golden, p.convolution, lambda sch: sch.reindex("conv", ("read", 0)))


def test_write(golden: Golden) -> None:
    check_steps(golden, p.plain_matmul, lambda sch: sch.reindex("C", "C"))


def test_machine_code_agrees_with_numpy() -> None:
    check_convolution(lambda sch: sch.reindex("conv", ("read", 0)))
    check_matmul(lambda sch: [sch.reindex("C", ("write", 0)), sch.reindex("C", ("read", 1))])


def reading_by_value() -> t.PrimFunc:
    """O[i] = X[J[i]]"""
    x, j, o = decl_buffer((6,), name="X"), decl_buffer((4,), "int64", name="J"), decl_buffer((4,), name="O")
    i, vi = Var("i"), Var("vi")
    whole = t.BufferRegion(x, (t.Range(build.const(0), build.const(6)),))
    block = t.Block(
        "gather", (t.IterVar(vi, t.Range(build.const(0), build.const(4)), t.IterKind.SPATIAL),),
        (whole, point_region(j, (vi,))), (point_region(o, (vi,)),), (), None,
        store(o, t.BufferLoad(x, (load(j, vi),)), vi),
    )  # fmt: skip
    return p.in_root((x, j, o), (), nest([(i, 4)], t.BlockRealize((i,), build.const(True), block)))


def reading_one() -> t.PrimFunc:
    """O[i] = X[3]"""
    x, o = decl_buffer((6,), name="X"), decl_buffer((4,), name="O")
    i, vi = Var("i"), Var("vi")
    block = t.Block(
        "fill", (t.IterVar(vi, t.Range(build.const(0), build.const(4)), t.IterKind.SPATIAL),),
        (point_region(x, (build.const(3),)),), (point_region(o, (vi,)),), (), None, store(o, load(x, 3), vi),
    )  # fmt: skip
    return p.in_root((x, o), (), nest([(i, 4)], t.BlockRealize((i,), build.const(True), block)))


def written_late(sch: Schedule) -> Any:
    sch.compute_at("C", sch.get_loops("D")[0])
    return sch.reindex("D", "C")


def shared(sch: Schedule) -> Any:
    sch.compute_at("C", sch.get_loops("D")[0])
    return sch.reindex("C", "C")


def test_what_is_written_in_the_loops(golden: Golden) -> None:
    check_steps(golden, p.matmul, written_late)


def test_what_is_read_in_the_loops(golden: Golden) -> None:
    check_steps(golden, p.matmul, shared)


REFUSALS: dict[str, tuple[Any, Any, str]] = {
    "several places": (p.chain, lambda s: s.reindex("three", ("read", 0)), "E-SCHEDULE-REINDEX-ACCESS"),
    "guarded": (p.convolution, lambda s: s.reindex("pad", ("read", 0)), "E-SCHEDULE-REINDEX-BOUNDS"),
    "in place": (p.stencil, lambda s: s.reindex("step", "X"), "E-SCHEDULE-REINDEX-ACCESS"),
    "by value": (reading_by_value, lambda s: s.reindex("gather", "X"), "E-SCHEDULE-REINDEX-ACCESS"),
    "one element": (reading_one, lambda s: s.reindex("fill", "X"), "E-SCHEDULE-REINDEX-ACCESS"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    program, attempt, code = REFUSALS[name]
    check_refusal(golden, program, attempt, code)
