"""Loops that were fused over sizes with names, split again or not: what is shown of them, and that it is so."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import workbench as wb
from workbench.analysis.bindings import binding_facts
from workbench.analysis.tree import Tree
from workbench.analysis.unfused import unfused
from workbench.core.errors import WorkbenchError
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.tir.script import parse

ROWS = """@T.prim_func
def main(A: T.Buffer((n, m), "float32"), C: T.Buffer((n, m), "float32")):
    n = T.int64()
    m = T.int64()
    for i, j in T.grid(n, m):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)
"""


def scheduled(step: Callable[[Schedule], object]) -> Schedule:
    func = parse(ROWS)
    assert isinstance(func, t.PrimFunc)
    sch = Schedule(func)
    step(sch)
    return sch


def parts_of(sch: Schedule, factors: list[int | None]) -> list[object]:
    return [*sch.split(sch.fuse(*sch.get_loops("C")), factors=factors)]


@pytest.mark.parametrize("factors", [[None, 8], [4, None], [None, 2, 4], [2, None, 4]])
@pytest.mark.parametrize("at", [0, 1])
def test_a_fused_loop_that_is_split_again_runs_at_once(factors: list[int | None], at: int) -> None:
    sch = scheduled(lambda sch: sch.parallel(parts_of(sch, factors)[at]))
    run = wb.build(sch.func)["main"]
    for shape in ((3, 5), (1, 1), (8, 8), (0, 3), (7, 1)):
        given, found = np.random.default_rng(0).random(shape, "float32"), np.zeros(shape, "float32")
        run(given, found)
        np.testing.assert_array_equal(found, given + 1)


def test_a_block_that_reads_the_fused_loop_beside_its_iterators_is_not_taken_apart() -> None:
    """With m = 1000 all rows of C[1000 * vi - f + 1000, vj] are one: row 1000 - vj."""
    func = parse("""@T.prim_func
def main(A: T.Buffer((8, m), "float32"), C: T.Buffer((9000, m), "float32")):
    m = T.int64()
    for f in range(8 * m):
        with T.block("C"):
            vi = T.axis.spatial(8, f // m)
            vj = T.axis.spatial(m, f % m)
            C[1000 * vi - f + 1000, vj] = A[vi, vj] + T.float32(1)
""")
    assert isinstance(func, t.PrimFunc)
    sch = Schedule(func)
    with pytest.raises(WorkbenchError) as caught:
        sch.parallel(sch.get_loops("C")[0])
    assert caught.value.code == "E-SCHEDULE-UNPROVEN"


def test_parts_that_do_not_tell_iterations_apart_are_none() -> None:
    """o * 8 + i with i below 9 takes values twice."""
    func = parse("""@T.prim_func
def main(A: T.Buffer((n, m), "float32"), C: T.Buffer((n, m), "float32")):
    n = T.int64()
    m = T.int64()
    for o in range((n * m + 7) // 8):
        for i in range(9):
            with T.block("C"):
                vi = T.axis.spatial(n, (o * 8 + i) // m)
                vj = T.axis.spatial(m, (o * 8 + i) % m)
                T.where(o * 8 + i < n * m)
                C[vi, vj] = C[vi, vj] + A[vi, vj]
""")
    assert isinstance(func, t.PrimFunc)
    sch = Schedule(func)
    with pytest.raises(WorkbenchError) as caught:
        sch.parallel(sch.get_loops("C")[0])
    assert caught.value.code == "E-SCHEDULE-UNPROVEN"


@pytest.mark.parametrize("at", [0, 1])
def test_a_sum_in_parts_of_a_size(at: int) -> None:
    func = parse("""@T.prim_func
def main(A: T.Buffer((7, m), "int32"), C: T.Buffer((7,), "int32")):
    m = T.int64()
    for i, k in T.grid(7, m):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
""")
    assert isinstance(func, t.PrimFunc)
    sch = Schedule(func)
    sch.rfactor(sch.split(sch.get_loops("C")[1], factors=[4, None])[at], 0)
    run = wb.build(sch.func)["main"]
    for m in (0, 1, 3, 4, 9, 23):
        given, found = np.arange(7 * m, dtype="int32").reshape(7, m), np.ones(7, "int32")
        run(given, found)
        np.testing.assert_array_equal(found, given.sum(1))


def test_a_limit_that_moves_with_the_parts_ends_no_loop() -> None:
    """o * 8 + i below o * m: how far it goes is another one for each o."""
    func = parse("""@T.prim_func
def main(C: T.Buffer((n, m), "float32")):
    n = T.int64()
    m = T.int64()
    for o in range((n * m + 7) // 8):
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(n, (o * 8 + i) // m)
                vj = T.axis.spatial(m, (o * 8 + i) % m)
                T.where(o * 8 + i < o * m)
                C[vi, vj] = T.float32(1)
""")
    assert isinstance(func, t.PrimFunc)
    site = Tree.of(func).blocks["C"]
    assert unfused(site) is None
    assert not binding_facts(site).covers
