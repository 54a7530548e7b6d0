"""cache_read: golden before and after, each refusal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_numbers, check_refusal, check_steps
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.tir.script import parse


def test_local(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.cache_read("C", 1, "local")

    check_steps(golden, p.plain_matmul, steps)


def cache_written(sch: Schedule) -> Any:
    sch.compute_at("C", sch.get_loops("D")[0])
    return sch.cache_read("D", 0, "local")


def test_between_writer_and_reader_in_a_loop_of_both(golden: Golden) -> None:
    check_steps(golden, p.matmul, cache_written)


def looked_up() -> t.PrimFunc:
    """C[i] = B[T[i]] beside the block that makes B: what is read of it cannot be told."""
    return parse("""
@T.prim_func
def main(A: T.Buffer((4,), "float32"), T_: T.Buffer((4,), "int32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,), "float32")
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] * T.float32(2)
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[T_[vi]] + T.float32(1)
""")


def test_a_loop_that_is_longer_than_what_it_reads() -> None:
    """Within the loop that both share, what is copied ends with the block's domain."""
    func = parse("""
@T.prim_func
def main(A: T.Buffer((4, 3), "float32"), C: T.Buffer((4, 3), "float32")):
    B = T.alloc_buffer((4, 3), "float32")
    for i in range(4):
        for j in range(3):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for j in range(5):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.spatial(3, j)
                T.where(j < 3)
                C[vi, vj] = B[vi, vj] + T.float32(1)
""")
    sch = Schedule(func)
    sch.cache_read("C", 0, "local")
    check_numbers(func, sch.func)


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "written": (looked_up, lambda s: s.cache_read("C", "B", "local"), "E-SCHEDULE-CACHE-WRITTEN"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
