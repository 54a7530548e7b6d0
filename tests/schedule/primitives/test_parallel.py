"""parallel: golden before and after, each refusal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.conftest import Golden
from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_numbers, check_refusal, check_replay, check_steps
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import parse
from workbench.tir.transforms.lower_blocks import lower_blocks


def test_rows(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.parallel(sch.get_loops("C")[0])

    check_steps(golden, p.matmul, steps)


def parallel_inside_vector(sch: Schedule) -> Any:
    i, j = sch.get_loops("D")
    sch.vectorize(i)
    return sch.parallel(j)


def parallel_sum_of_threads(sch: Schedule) -> Any:
    """Threads of a group may share a sum; those of the pool may not."""
    k = sch.get_loops("C")[2]
    sch.bind(k, "threadIdx.x")
    return sch.parallel(k)


@pytest.mark.parametrize("before", ["unroll", "vectorize", "parallel"])
@pytest.mark.parametrize("after", ["unroll", "vectorize", "parallel"])
def test_a_loop_of_another_kind_is_made_anew(before: str, after: str) -> None:
    func, plain = p.matmul(), Schedule(p.matmul())
    sch = Schedule(func)
    for schedule, kinds in ((sch, [before, after]), (plain, [after])):
        inner = schedule.get_loops("D")[1]
        for kind in kinds:
            getattr(schedule, kind)(inner)
    assert sch.script() == plain.script()
    check_numbers(func, sch.func)
    check_replay(func, sch)


def rows_of(stride: str, extra: str = "") -> t.PrimFunc:
    """C[i * stride + j] = A[i * stride + j] for n rows of m elements."""
    return parse(f"""
@T.prim_func
def main(a: T.handle, c: T.handle, n: T.int64, m: T.int64{extra}):
    A = T.match_buffer(a, (n * {stride},), "int32")
    C = T.match_buffer(c, (n * {stride},), "int32")
    for i, j in T.grid(n, m):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi * {stride} + vj])
            T.writes(C[vi * {stride} + vj])
            C[vi * {stride} + vj] = A[vi * {stride} + vj] + 1
""")


def test_rows_of_any_length() -> None:
    """The element tells the row, whatever the length is."""
    for loop in (0, 1):
        sch = Schedule(rows_of("m"))
        sch.parallel(sch.get_loops("C")[loop])
        a, c = np.arange(12, dtype=np.int32), np.zeros(12, np.int32)
        interpret(lower_blocks(sch.func), a, c, 3, 4, check_races=True)
        np.testing.assert_array_equal(c, a + 1)


def test_a_symbolic_number_of_parts() -> None:
    sch = Schedule(parse("""
@T.prim_func
def main(a: T.handle, c: T.handle, n: T.int64):
    A = T.match_buffer(a, (n,), "int32")
    C = T.match_buffer(c, (n,), "int32")
    for i in range(n):
        with T.block("C"):
            v = T.axis.spatial(n, i)
            T.reads(A[v])
            T.writes(C[v])
            C[v] = A[v] + 1
"""))
    outer, _ = sch.split(sch.get_loops("C")[0], [2, None])
    sch.parallel(outer)
    for n in (1, 2, 7):
        a, c = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
        interpret(lower_blocks(sch.func), a, c, n, check_races=True)
        np.testing.assert_array_equal(c, a + 1)


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "carried": (p.fused_pair, lambda s: s.parallel(s.get_loops("make")[0]), "E-SCHEDULE-DEPENDENCE"),
    "inside vector": (p.matmul, parallel_inside_vector, "E-SCHEDULE-PARALLEL-INSIDE"),
    "rows that may overlap": (
        lambda: rows_of("k", ", k: T.int64"), lambda s: s.parallel(s.get_loops("C")[0]), "E-SCHEDULE-UNPROVEN",
    ),
    "shared by threads": (p.matmul, parallel_sum_of_threads, "E-SCHEDULE-DEPENDENCE"),
    "opaque": (
        lambda: q.pair(kind=t.IterKind.OPAQUE),
        lambda s: s.parallel(s.get_loops("make")[0]),
        "E-SCHEDULE-OPAQUE",
    ),
    "effects": (q.effects, lambda s: s.parallel(s.get_loops("print")[0]), "E-SCHEDULE-OPAQUE"),
    "statement": (lambda: q.pair(extra="statement"), lambda s: s.parallel(q.loose_loop(s)), "E-SCHEDULE-OPAQUE"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
