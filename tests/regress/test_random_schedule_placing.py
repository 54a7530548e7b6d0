"""Buffers that were allocated where they must not be, found by random schedules, each as few steps as show it."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.property.offset_programs import interleaved, shifted, upsampled
from tests.property.order_programs import backwards, ragged, recomputed
from tests.property.schedule_programs import drawn
from tests.schedule.executing import inputs
from tests.schedule.harness import check_lowered, check_numbers
from tests.schedule.programs import gram, matmul, reshaped, strided_reads
from workbench.schedule import Schedule, ScheduleError
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import parse
from workbench.tir.transforms.lower_blocks import lower_blocks


def test_a_private_buffer_in_a_loop_longer_than_its_domain() -> None:
    func = matmul(1, 1, 6)
    sch = Schedule(func)
    sch.split(sch.get_loops("D")[0], factors=[4, 4])
    sch.compute_at(sch.get_block("C"), sch.get_loops("D")[2])
    sch.parallel(sch.get_loops("D")[1])
    arrays = inputs(func)
    interpret(lower_blocks(sch.func), *arrays, check_races=True)
    check_numbers(func, sch.func)


def test_a_block_that_runs_in_one_iteration_of_a_loop_keeps_its_buffer_outside() -> None:
    """What both iterations of u_0 copy is computed in the first one only: allocated inside, it was lost."""
    func = parse("""
@T.prim_func
def main(X: T.Buffer((3,), "float32"), Y: T.Buffer((3,), "float32")):
    M = T.alloc_buffer((3,), "float32", scope="local")
    for u_0, u_1, i in T.grid(2, 1, 3):
        with T.block("make"):
            vi = T.axis.spatial(3, i)
            T.where(u_0 + u_1 < 1)
            T.reads(X[vi])
            T.writes(M[vi])
            M[vi] = X[vi] * T.float32(2)
        with T.block("copy"):
            vj = T.axis.spatial(3, i)
            T.reads(M[vj])
            T.writes(Y[vj])
            Y[vj] = M[vj]
""")
    assert isinstance(func, t.PrimFunc)
    x, y = inputs(func)
    interpret(lower_blocks(func), x, y)
    assert (y == 2 * x).all()


def test_the_state_of_a_scan_stays_outside_the_loops_that_hand_it_on() -> None:
    """A step and its start under one split loop: the state was allocated anew in each tile (seed 28191)."""
    func = parse("""
@T.prim_func
def main(X: T.Buffer((4, 6), "float32"), O: T.Buffer((4, 6), "float32")):
    S = T.alloc_buffer((4, 6), "float32")
    for o_0, o_1 in T.grid(2, 2):
        for i in T.serial(6):
            with T.block("step"):
                vt = T.axis.spatial((1, 4), o_0 * 2 + o_1)
                vi = T.axis.spatial(6, i)
                T.where(o_0 * 2 + o_1 >= 1)
                T.reads(S[vt - 1, vi], X[vt, vi])
                T.writes(S[vt, vi])
                S[vt, vi] = S[vt - 1, vi] + X[vt, vi]
        for p in T.serial(6):
            with T.block("first"):
                vj = T.axis.spatial(6, p)
                T.reads(X[0, vj])
                T.writes(S[0, vj])
                S[0, vj] = X[0, vj]
            with T.block("last"):
                vo = T.axis.spatial(4, o_0 * 2 + o_1)
                vp = T.axis.spatial(6, p)
                T.reads(S[vo, vp])
                T.writes(O[vo, vp])
                O[vo, vp] = S[vo, vp] * T.float32(2)
""")
    assert isinstance(func, t.PrimFunc)
    x, out = inputs(func)
    interpret(lower_blocks(func), x, out)
    assert np.allclose(out, 2 * np.cumsum(x.astype("float64"), axis=0), rtol=1e-6)


def test_what_is_written_after_it_is_read_stays_for_the_next_iteration() -> None:
    """An element is read, then written: the iteration before has left what is read."""
    func = parse("""
@T.prim_func
def main(X: T.Buffer((4,), "float32"), O: T.Buffer((4,), "float32")):
    S = T.alloc_buffer((1,), "float32")
    for i in T.serial(4):
        with T.block("start"):
            va = T.axis.spatial(1, i)
            T.where(i < 1)
            T.reads()
            T.writes(S[va])
            S[va] = T.float32(5)
        with T.block("use"):
            vi = T.axis.spatial(4, i)
            T.reads(S[0])
            T.writes(O[vi])
            O[vi] = S[0]
        with T.block("keep"):
            vk = T.axis.spatial(4, i)
            T.reads(X[vk])
            T.writes(S[0])
            S[0] = X[vk]
""")
    assert isinstance(func, t.PrimFunc)
    x, out = inputs(func)
    interpret(lower_blocks(func), x, out)
    assert (out == [5, *x[:3]]).all()


def test_a_block_stands_under_the_predicates_of_the_blocks_around_it() -> None:
    """A tile that runs in one of sixteen iterations: its private buffer lay outside of the threads (seed 30222)."""
    func = strided_reads(9)
    sch = Schedule(func)
    outer, inner = sch.split(sch.get_loops("two")[0], factors=[3, None])
    sch.parallel(outer)
    sch.compute_at("one", outer, preserve_unit_loops=True)
    unit = sch.add_unit_loop(outer)
    sch.blockize(inner)
    sch.split(unit, factors=[4, 4])
    check_numbers(func, sch.func)
    check_lowered(sch.func)


def test_iterations_that_write_nothing_leave_the_buffer_outside_two_iterators_on_an_axis() -> None:
    """Where i_0 is 1 only the reader runs: what it reads was made where i_0 is 0 (seed 9390)."""
    func, _ = interleaved(1, 3)
    sch = Schedule(func)
    inner = sch.split(sch.get_loops("spread")[0], factors=[2, None])[1]
    sch.reverse_compute_at("after", inner)
    check_numbers(func, sch.func)
    check_lowered(sch.func)


def test_iterations_that_write_nothing_leave_the_buffer_outside_an_iterator_of_no_axis() -> None:
    """The tile's copy runs in each j_0, what it copies is made in the first (seed 8565)."""
    sch = Schedule(reshaped(3, 1))
    sch.reverse_compute_inline("flat")
    outer = sch.split(sch.get_loops("one")[1], factors=[3, None])[1]
    sch.write_at(outer, "one", 0, "shared")
    check_lowered(sch.func)


def test_a_buffer_that_each_thread_fills_for_itself_is_private() -> None:
    """Threads whose windows overlap: the copy of a window lay outside of them (found with the program `upsampled`)."""
    sch = Schedule(upsampled(2)[0])
    i, r = sch.get_loops("window")
    sch.bind(i, "threadIdx.x")
    sch.read_at(r, "window", 0, "shared")
    check_lowered(sch.func)


def test_parts_of_a_loop_do_not_share_a_private_buffer() -> None:
    """Two parallel loops after one another would meet in the buffer around both (seed 34316)."""
    sch = Schedule(matmul(4, 5, 6))
    i, j, k = sch.get_loops("C")
    sch.parallel(j)
    sch.read_at(k, "C", 0, "local")
    with pytest.raises(ScheduleError, match="cannot go on running j at once after this step"):
        sch.loop_partition(i, [1, None])
    sch.loop_partition(k, [1, None])
    check_lowered(sch.func)


def test_what_threads_make_twice_is_private_whatever_a_loop_around_them_does() -> None:
    """The tail's conditions hide from the outer loop that every thread makes all that it reads."""
    sch = Schedule(shifted(7)[0])
    _, threads, _ = sch.split(sch.get_loops("add")[0], factors=[2, None, 3])
    sch.bind(threads, "threadIdx.x")
    sch.compute_at("make", threads)
    check_lowered(sch.func)


def test_what_parallel_iterations_make_twice_is_private_behind_a_condition() -> None:
    """The row is a loop for what makes it, and 0 for what reads it."""
    sch = Schedule(recomputed(1, 5)[0])
    outer, middle = sch.get_loops("make")[:2]
    sch.reverse_compute_at("after", middle, preserve_unit_loops=True)
    sch.split(outer, factors=[None, 2], preserve_unit_iters=False)
    sch.compute_inline("pair")
    check_lowered(sch.func)


def test_a_last_row_that_is_not_full_leaves_the_buffer_outside() -> None:
    """What completes it is made in the first iteration only (found with the program `ragged`)."""
    func, meaning = ragged(2, 3)
    x, out = inputs(func)
    interpret(lower_blocks(func), x, out)
    assert (out == meaning(x)).all()


def test_an_iteration_that_runs_at_once_with_none_has_nothing_of_its_own() -> None:
    """A parallel loop of one iteration in a serial one, which passes its values on (seed 401581 of other draws)."""
    func, meaning = backwards(5)
    sch = Schedule(func)
    unit = sch.split(sch.get_loops("make")[0], factors=[5, 1])[1]
    sch.parallel(unit)
    x, out = inputs(func)
    out[...] = -7
    interpret(lower_blocks(sch.func), x, out)
    assert (out == meaning(x)).all()


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("factors", [[2, None], [4, 4], [None, 16]])
def test_a_predicate_leaves_the_last_row_not_full_either(factors: list[int | None], nested: bool) -> None:
    """The loops would fill the box, the iterator's domain does not (seeds 605015 and 801905 of other draws)."""
    func, meaning = ragged(3, 4)
    sch = Schedule(func)
    name = "make"
    if nested:
        name = sch.blockize(name, preserve_unit_iters=False)
    sch.split(sch.get_loops(name)[1], factors=factors)
    x, out = inputs(func)
    interpret(lower_blocks(sch.func), x, out)
    assert (out == meaning(x)).all()


def test_a_condition_may_keep_iterations_apart_that_would_meet() -> None:
    """Each thread makes its column of a scan, and nothing of its neighbour's (seed 501222 of other draws)."""
    func = drawn(random.Random(10), "scan").func  # five steps, four columns
    sch = Schedule(func)
    p = sch.get_loops("last")[1]
    sch.parallel(p)
    sch.compute_at("step", p, preserve_unit_loops=True)
    sch.compute_at("first", p, preserve_unit_loops=True)
    sch.split(sch.get_loops("first")[2], factors=[None, 2], preserve_unit_iters=False)
    check_lowered(sch.func)


def test_a_layout_with_gaps_is_private_to_threads() -> None:
    """Every thread copies all of it (seed 600637 of other draws)."""
    sch = Schedule(matmul(6, 3, 6))
    _, j, k = sch.get_loops("C")
    sch.bind(j, "threadIdx.x")
    copy = sch.reindex_cache_read("C", 0, "global", lambda i, j, k: (k, i))
    sch.transform_layout("C", ("own", 0), lambda i, j: (i, j // 4, j % 4), assume_injective_transform=True)
    sch.compute_at(copy, k)
    check_lowered(sch.func)


def test_a_loop_around_both_does_not_make_what_it_has_yet_to_write() -> None:
    """`out` reads row j of what `back` makes row by row in i: the iteration of j before has made it (seed 34737)."""
    sch = Schedule(gram(2, 4))
    i, j = sch.get_loops("out")
    sch.compute_at("gram", j)
    sch.reorder(j, i)
    sch.compute_at("back", sch.get_loops("gram")[2], index=-2)
    check_lowered(sch.func)


def test_two_blocks_of_a_thread_may_meet_in_its_neighbours() -> None:
    """One makes an element, the other the next one, each in a thread of its own (`recomputed`, in parts)."""
    sch = Schedule(recomputed(2, 5)[0])
    sch.transform_layout("make", ("own", 0), lambda i, j: (i, j // 4, j % 4), assume_injective_transform=True)
    sch.loop_partition(sch.get_loops("make")[2], factors=[1, None], preserve_unit_iters=False)
    check_lowered(sch.func)


def test_parts_of_a_number_whose_places_do_not_divide_fill_no_box() -> None:
    """(2, 3) is never written by `make`, as 9 and 19 leave 0 and 1 by three; found on reading what a digit is."""
    func = parse("""
@T.prim_func
def main(X: T.Buffer((3, 20), "float32"), Y: T.Buffer((3, 3, 4), "float32")):
    P = T.alloc_buffer((3, 4), "float32")
    for t in T.serial(3):
        with T.block("once"):
            T.where(t < 1)
            T.reads()
            T.writes(P[2, 3])
            P[2, 3] = T.float32(5)
        for x in T.serial(20):
            with T.block("make"):
                vt, vx = T.axis.remap("SS", [t, x])
                T.reads(X[vt, vx])
                T.writes(P[vx % 3, vx % 10 // 3])
                P[vx % 3, vx % 10 // 3] = X[vt, vx]
        for r, c in T.grid(3, 4):
            with T.block("rows"):
                vt, vr, vc = T.axis.remap("SSS", [t, r, c])
                T.reads(P[vr, vc])
                T.writes(Y[vt, vr, vc])
                Y[vt, vr, vc] = P[vr, vc]
""")
    assert isinstance(func, t.PrimFunc)
    check_lowered(func)
