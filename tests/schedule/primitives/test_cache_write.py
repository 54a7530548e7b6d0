"""cache_write: golden before and after, each refusal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Golden
from tests.schedule import odd_programs as q
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_refusal, check_steps
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.tir.script import parse


def test_local(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.cache_write("C", 0, "local")

    check_steps(golden, p.plain_matmul, steps)


def test_one_part_of_a_partitioned_producer(golden: Golden) -> None:
    """Its copy is of the rows that it writes; the other part's are not touched."""

    def steps(sch: Schedule) -> None:
        sch.loop_partition(sch.get_loops("one")[0], factors=[2, None])
        sch.cache_write("one_1", 0, "local")

    check_steps(golden, p.chain, steps)


def shared_cache(sch: Schedule) -> Any:
    sch.compute_at("C", sch.get_loops("D")[0])
    return sch.cache_write("C", 0, "local")


def triangles() -> t.PrimFunc:
    """Rows of growing length are made and read in one loop: what an iteration of that makes has no constant size."""
    return parse("""
@T.prim_func
def main(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    B = T.alloc_buffer((4, 4), "float32")
    for i in range(4):
        for j in range(i + 1):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.spatial(4, j)
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for j in range(i + 1):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.spatial(4, j)
                C[vi, vj] = B[vi, vj] + T.float32(1)
""")


def test_within_the_loop_in_which_it_has_a_constant_size(golden: Golden) -> None:
    check_steps(golden, triangles, lambda sch: sch.cache_write("B", 0, "local"))


def test_between_writer_and_reader_in_a_loop_of_both(golden: Golden) -> None:
    check_steps(golden, p.matmul, shared_cache)


def test_a_loop_of_both_that_is_split_with_a_rest(golden: Golden) -> None:
    """The copy's domain began with the loop's variable: nothing said that it must not go beyond the buffer."""

    def steps(sch: Schedule) -> None:
        shared_cache(sch)
        sch.split(sch.get_loops("C_local_copy")[0], factors=[2, 3])

    check_steps(golden, p.matmul, steps)


def test_a_buffer_that_another_block_writes_afterwards(golden: Golden) -> None:
    check_steps(golden, lambda: parse(WRITTEN_AGAIN), lambda sch: sch.cache_write("first", 0, "local"))


def test_sums_so_far(golden: Golden) -> None:
    check_steps(golden, lambda: parse(SO_FAR), lambda sch: sch.cache_write("so_far", 0, "local"))


WRITTEN_AGAIN = """
@T.prim_func
def main(A: T.Buffer((5, 4), "float32"), C: T.Buffer((5,), "float32")):
    for i in range(5):
        with T.block("first"):
            vi = T.axis.spatial(5, i)
            C[vi] = A[vi, 0] * 2.0
    for i, k in T.grid(5, 3):
        with T.block("others"):
            vi = T.axis.spatial(5, i)
            vk = T.axis.reduce(4, k + 1)
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk]
"""
SO_FAR = """
@T.prim_func
def main(A: T.Buffer((3, 4), "float32"), C: T.Buffer((3, 4), "float32")):
    S = T.alloc_buffer((3,), "float32")
    for i, k in T.grid(3, 4):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = 0.0
            S[vi] = S[vi] + A[vi, vk]
        with T.block("so_far"):
            vi, vk = T.axis.remap("SS", [i, k])
            C[vi, vk] = S[vi] * 2.0
"""


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "no buffer": (p.matmul, lambda s: s.cache_write("C", 1, "local"), "E-SCHEDULE-BUFFER"),
    "region": (q.shifted_store, lambda s: s.cache_write("make", 0, "local"), "E-SCHEDULE-CACHE-REGION"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])


def test_of_what_is_written_in_part(golden: Golden) -> None:
    """A copy of the whole would lay what nobody has computed over what is to stay as it is."""
    source = """
@T.prim_func
def main(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    for i in range(4):
        for j in range(i + 1):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.spatial(4, j)
                C[vi, vj] = A[vi, vj] * T.float32(2)
"""
    check_steps(golden, lambda: parse(source), lambda sch: sch.cache_write("C", 0, "local"))
