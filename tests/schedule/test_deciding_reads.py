"""What decides whether and where a block runs is read, too: predicates, bindings, bounds and conditions around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.schedule.harness import check_numbers
from workbench.schedule import Schedule, ScheduleError
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import parse, script
from workbench.tir.transforms.lower_blocks import lower_blocks

MAKE = """
@T.prim_func
def main(A: T.Buffer((8, 8), "int32"), C: T.Buffer((8, 8), "int32")):
    B = T.alloc_buffer((8, 8), "int32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] % 8
"""
USES = {
    "predicate": """
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(B[i, j] < 4)
            T.reads(B[vi, 0])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, 0]
""",
    "binding": """
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            vj = T.axis.spatial(8, B[i, j])
            T.reads(B[vi, 0])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, 0]
""",
    "bound": """
    for i in range(8):
        for j in range(B[i, 7]):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(B[vi, 0])
                T.writes(C[vi, vj])
                C[vi, vj] = B[vi, 0]
""",
    "condition": """
    for i in range(8):
        if B[i, 7] < 4:
            for j in range(8):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads(B[vi, 0])
                    T.writes(C[vi, vj])
                    C[vi, vj] = B[vi, 0]
""",
}


def program(use: str) -> t.PrimFunc:
    return parse(MAKE + USES[use])


def producer_there(sch: Schedule) -> None:
    sch.compute_at("B", sch.get_loops("C")[0])


def copy_back_there(sch: Schedule) -> None:
    sch.compute_at(sch.cache_write("B", 0, "local"), sch.get_loops("C")[0])


def read_through_a_copy(sch: Schedule) -> None:
    sch.compute_at(sch.cache_read("C", 0, "local"), sch.get_loops("C")[0])


def laid_out_anew(sch: Schedule) -> None:
    sch.transform_layout("B", ("write", 0), lambda i, j: (j, i))


STEPS: list[Callable[[Schedule], None]] = [producer_there, copy_back_there, read_through_a_copy, laid_out_anew]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("steps", STEPS, ids=lambda steps: steps.__name__)
def test_all_that_is_read_is_made_before(use: str, steps: Callable[[Schedule], None]) -> None:
    """Regions told of B[i, 0] only: the rest of a row was not computed."""
    func = program(use)
    sch = Schedule(func)
    steps(sch)
    check_numbers(func, sch.func)


@pytest.mark.parametrize("use", USES)
def test_who_reads_it_is_known(use: str) -> None:
    func = parse(MAKE + USES[use].replace("B[vi, 0]", "A[vi, 0]"))
    sch = Schedule(func)
    assert [sch.get(block).name for block in sch.get_consumers("B")] == ["C"]
    assert [sch.get(block).name for block in sch.get_producers("C")] == ["B"]
    sch.compute_at("B", sch.get_loops("C")[0])
    check_numbers(func, sch.func)


CARRIED = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = A[vi] % 3
        FIRST
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                SECOND
                T.reads(A[vi])
                T.writes(C[vi])
                C[vi] = A[vi]
"""
BEFORE = "B[T.max(i - 1, 0)]"
ASKED = {
    "predicate": ("for k in range(1):", f"T.where({BEFORE} < 2)"),
    "bound": (f"for k in range({BEFORE}):", "pass"),
    "condition": (f"if {BEFORE} < 2:", "pass"),
}


@pytest.mark.parametrize("where", ASKED)
def test_iterations_that_ask_what_others_made_depend_on_them(where: str) -> None:
    first, second = ASKED[where]
    func = parse(CARRIED.replace("FIRST", first).replace("SECOND", second))
    sch = Schedule(func)
    loop = sch.get_loops("B")[0]
    for primitive in ("parallel", "vectorize"):
        assert sch.why_not(primitive, loop) is not None
    with pytest.raises(ScheduleError):
        sch.bind(loop, "threadIdx.x")
    own = Schedule(parse(script(func).replace(BEFORE, "B[i]")))
    own.parallel(own.get_loops("B")[0])
    check_numbers(own.first_state.func, own.func)


@pytest.mark.parametrize("where", ASKED)
def test_what_the_next_iteration_asks_is_kept_for_it(where: str) -> None:
    """The buffer was allocated in each iteration anew: what was read there had never been written."""
    first, second = ASKED[where]
    func = parse(CARRIED.replace("FIRST", first).replace("SECOND", second))
    a = np.arange(8, dtype=np.int32)
    results: list[Any] = []
    for program in (func, lower_blocks(func)):
        c = np.zeros(8, np.int32)
        interpret(program, a, c)
        results.append(c)
    np.testing.assert_array_equal(results[0], results[1])
    assert 0 < np.count_nonzero(results[0]) < 8


def test_a_statement_outside_blocks_keeps_what_it_reads() -> None:
    func = parse(
        MAKE
        + """
    C[0, 0] = B[7, 7]
    for i, j in T.grid(8, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(1 <= i)
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, vj]
"""
    )
    sch = Schedule(func)
    refusal = sch.why_not("compute_at", sch.get_block("B"), sch.get_loops("D")[0])
    assert refusal is not None and refusal.code == "E-SCHEDULE-IRREGULAR" and "outside blocks" in refusal.found
