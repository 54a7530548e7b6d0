"""Faults that schedules of generated programs found, each as few steps as show it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.schedule.harness import check_numbers
from workbench.driver.build import build
from workbench.schedule import Schedule, ScheduleError
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import parse
from workbench.tir.transforms.lower_blocks import lower_blocks


def function(text: str) -> t.PrimFunc:
    made = parse(text)
    assert isinstance(made, t.PrimFunc)
    return made


def check(func: t.PrimFunc, *arrays: np.ndarray, expected: np.ndarray) -> None:
    """The last array is `expected` after a run, as blocks and lowered."""
    for checks, program in (({"check_regions": True}, func), ({"check_races": True}, lower_blocks(func))):
        arrays[-1].fill(-7)
        interpret(program, *arrays, **checks)
        np.testing.assert_array_equal(arrays[-1], expected)


def looked_up_by_an_int32_table() -> t.PrimFunc:
    """M[i, j] = 2 * X[i % 2, j // 2] and Y[i] = M[I[i], I[i]]: indices in I are of another dtype than iterators."""
    return function("""
@T.prim_func
def main(X: T.Buffer((2, 2), "float32"), I: T.Buffer((3,), "int32"), Y: T.Buffer((3,), "float32")):
    M = T.alloc_buffer((4, 4), "float32")
    for i, j in T.grid(4, 4):
        with T.block("make"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(X[vi % 2, vj // 2])
            T.writes(M[vi, vj])
            M[vi, vj] = X[vi % 2, vj // 2] * T.float32(2)
    for i in T.serial(3):
        with T.block("look"):
            vi = T.axis.spatial(3, i)
            T.reads(M[0:4, 0:4], I[vi])
            T.writes(Y[vi])
            Y[vi] = M[I[vi], I[vi]]
""")


def check_looked_up(schedule: Schedule) -> None:
    x, table, y = np.arange(4, dtype="float32").reshape(2, 2), np.array([3, 0, 2], "int32"), np.zeros(3, "float32")
    check(schedule.func, x, table, y, expected=2 * x[table % 2, table // 2])


def test_a_looked_up_index_takes_the_dtype_of_the_iterator_that_it_replaces() -> None:
    """Inlined, the remainder and the quotient were of two dtypes (program 21, schedule 7)."""
    schedule = Schedule(looked_up_by_an_int32_table())
    schedule.compute_inline("make")
    check_looked_up(schedule)


def test_a_looked_up_index_takes_the_dtype_of_an_index_map() -> None:
    schedule = Schedule(looked_up_by_an_int32_table())
    schedule.transform_layout("make", ("write", 0), lambda i, j: (i // 2, j % 2, i % 2, j // 2))
    check_looked_up(schedule)


def test_a_scattered_index_takes_the_dtype_of_the_iterator_that_it_replaces() -> None:
    """The consumer goes to where the table puts what it reads."""
    schedule = Schedule(
        function("""
@T.prim_func
def main(X: T.Buffer((4,), "float32"), I: T.Buffer((4,), "int32"), Y: T.Buffer((2, 2), "float32")):
    M = T.alloc_buffer((4,), "float32")
    for i in T.serial(4):
        with T.block("put"):
            vi = T.axis.spatial(4, i)
            T.reads(X[vi], I[vi])
            T.writes(M[0:4])
            M[I[vi]] = X[vi] * T.float32(2)
    for i in T.serial(4):
        with T.block("use"):
            vi = T.axis.spatial(4, i)
            T.reads(M[vi])
            T.writes(Y[vi // 2, vi % 2])
            Y[vi // 2, vi % 2] = M[vi] + T.float32(1)
""")
    )
    schedule.reverse_compute_inline("use", unsafe=True)
    x, table, y = np.arange(4, dtype="float32"), np.array([3, 0, 2, 1], "int32"), np.zeros((2, 2), "float32")
    expected = np.zeros(4, "float32")
    expected[table] = 2 * x
    check(schedule.func, x, table, y, expected=expected.reshape(2, 2) + 1)


def doubled_in_parallel(place: str) -> t.PrimFunc:
    """Each of three iterations that run at once, twice, puts a value where `place` says, and takes it from there."""
    return function(f"""
@T.prim_func
def main(X: T.Buffer((6,), "float32"), Y: T.Buffer((6,), "float32")):
    M = T.alloc_buffer((6,), "float32")
    for o in T.serial(2):
        for i in T.parallel(3):
            with T.block("make"):
                vi = T.axis.spatial(6, o * 3 + i)
                T.reads(X[vi])
                T.writes(M[{place}])
                M[{place}] = X[vi] * T.float32(2)
            with T.block("use"):
                vi = T.axis.spatial(6, o * 3 + i)
                T.reads(M[{place}])
                T.writes(Y[vi])
                Y[vi] = M[{place}]
""")


@pytest.mark.parametrize("place", ["vi % 2", "(vi + 1) // 2", "T.max(vi, 4)", "5 - vi // 2", "T.max(vi, 3) // 3"])
def test_iterations_that_meet_later_than_the_first_two_have_places_of_their_own(place: str) -> None:
    """Only the first two iterations were compared: threads shared one buffer (program 24, schedule 5)."""
    x, y = np.arange(6, dtype="float32"), np.zeros(6, "float32")
    check(doubled_in_parallel(place), x, y, expected=2 * x)


def vectorized_twice(body: str) -> t.PrimFunc:
    """A loop of four lanes around a loop of two."""
    return function(f"""
@T.prim_func
def main(X: T.Buffer((4, 2), "float32"), Y: T.Buffer((4, 2), "float32")):
    for i in T.vectorized(4):
        for j in T.vectorized(2):
            with T.block("map"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.where({body})
                T.reads(X[vi, vj])
                T.writes(Y[vi, vj])
                Y[vi, vj] = X[vi, vj] + T.float32(1)
""")


@pytest.mark.parametrize("condition", ["i < 3", "j < 1", "i + j < 4", "i < 8"])
def test_lanes_of_lanes_under_a_condition_stay_a_loop(condition: str) -> None:
    """The stores hold vectors already: that they cannot be masked left the pass as an exception (89.5)."""
    x, y = np.arange(8, dtype="float32").reshape(4, 2), np.full((4, 2), -7, "float32")
    build(vectorized_twice(condition))(x, y)
    rows, columns = np.indices((4, 2))
    chosen = eval(condition, {"i": rows, "j": columns})
    np.testing.assert_array_equal(y, np.where(chosen, x + 1, -7))


def test_a_value_that_has_no_form_in_lanes_stays_a_loop() -> None:
    """Its name was given outside of what is tried."""
    func = function("""
@T.prim_func
def main(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
    for i in T.vectorized(4):
        half: T.let[T.float32] = T.call_pure_extern("fabsf", X[i], dtype="float32")
        Y[i] = half + T.float32(1)
""")
    x, y = np.array([-1, 2, -3, 4], "float32"), np.zeros(4, "float32")
    build(func)(x, y)
    np.testing.assert_array_equal(y, np.abs(x) + 1)


@pytest.mark.parametrize(
    ("loop", "first", "second"),
    [
        ("T.serial(4)", "i", "i"),
        ("T.serial(2, 5)", "i % 4", "0"),
        ("T.serial(4)", "i", "i % 2"),
    ],
)
def test_a_block_that_leaves_elements_out_writes_no_more_elsewhere(loop: str, first: str, second: str) -> None:
    """A diagonal, and loops that begin late, were taken for the whole domain: moved, the block wrote all of it."""
    func = function(f"""
@T.prim_func
def main(X: T.Buffer((4, 4), "float32"), Y: T.Buffer((4,), "float32"), B: T.Buffer((4, 4), "float32")):
    for i in {loop}:
        with T.block("make"):
            vi = T.axis.spatial(4, {first})
            vj = T.axis.spatial(4, {second})
            T.where(i < 4)
            T.reads(X[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = X[vi, vj] * T.float32(2)
    for i in T.serial(4):
        with T.block("use"):
            vi = T.axis.spatial(4, i)
            T.reads(B[0:4, 0:4])
            T.writes(Y[vi])
            Y[vi] = B[vi, 0]
""")
    schedule = Schedule(func)
    with pytest.raises(ScheduleError) as caught:
        schedule.compute_at("make", schedule.get_loops("use")[0])
    assert "make at (" in caught.value.found  # what would run that does not run now


def test_a_block_over_a_part_moves_with_that_part() -> None:
    """Loops that begin late, and end behind a condition: moved, the block wrote all of its domain."""
    func = function("""
@T.prim_func
def main(X: T.Buffer((4, 4), "float32"), Y: T.Buffer((4,), "float32"), B: T.Buffer((4, 4), "float32")):
    for i in T.serial(1, 6):
        with T.block("make"):
            vi = T.axis.spatial(4, i)
            vj = T.axis.spatial(4, 0)
            T.where(i < 4)
            T.reads(X[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = X[vi, vj] * T.float32(2)
    for i in T.serial(4):
        with T.block("use"):
            vi = T.axis.spatial(4, i)
            T.reads(B[0:4, 0:4])
            T.writes(Y[vi])
            Y[vi] = B[vi, 0]
""")
    schedule = Schedule(func)
    schedule.compute_at("make", schedule.get_loops("use")[0])
    check_numbers(func, schedule.func)


def sums_so_far(read: str) -> t.PrimFunc:
    """S = 0 + X[0] + X[1] + ..., R[i] = 2 S after i, and M[i] as `read` says, all in one loop."""
    return function(f"""
@T.prim_func
def main(X: T.Buffer((4,), "float32"), M: T.Buffer((4,), "float32")):
    S = T.alloc_buffer((1,), "float32")
    R = T.alloc_buffer((4,), "float32")
    for i in T.serial(4):
        with T.block("sum"):
            vi = T.axis.reduce(4, i)
            with T.init():
                S[0] = T.float32(0)
            S[0] = S[0] + X[vi]
        with T.block("so_far"):
            vi = T.axis.spatial(4, i)
            R[vi] = S[0] * T.float32(2)
        with T.block("use"):
            vi = T.axis.spatial(4, i)
            M[vi] = {read}
""")


@pytest.mark.parametrize(
    "read", ["R[vi // 2] + R[vi]", "R[vi] - R[0]", "R[vi // 2]", "T.max(R[vi], R[T.max(vi - 1, 0)])"]
)
def test_one_that_reads_an_earlier_sum_too_keeps_it(read: str) -> None:
    """Each value of the producer is asked about for itself: with the whole sum, part of it looked read as well
    (program 414, schedule 9)."""
    schedule = Schedule(sums_so_far(read))
    with pytest.raises(ScheduleError, match="its values depend on when they are computed") as caught:
        schedule.compute_inline("so_far")
    assert "would read S[0] as sum at (" in caught.value.found


def test_one_that_reads_the_sum_of_now_only_computes_it_itself() -> None:
    schedule = Schedule(sums_so_far("R[vi] * R[vi]"))
    schedule.compute_inline("so_far")
    x = np.array([1, 2, 3, 4], "float32")
    check(schedule.func, x, np.zeros(4, "float32"), expected=(2 * np.cumsum(x)) ** 2)
