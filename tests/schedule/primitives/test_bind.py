"""bind: golden before and after, each refusal."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.property import sum_programs
from tests.schedule import programs as p
from tests.schedule.harness import Program, Steps, check_numbers, check_refusal, check_steps
from workbench import te
from workbench.schedule import Schedule
from workbench.tir.script import script
from workbench.tir.transforms.lower_blocks import lower_blocks


def test_thread(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.bind(sch.get_loops("D")[0], "threadIdx.x")

    check_steps(golden, p.matmul, steps, runs=False)


def test_cross_thread(golden: Golden) -> None:
    """A sum over the threads of a group; what stands beside it in the loop is checked as ever."""

    def steps(sch: Schedule) -> None:
        sch.bind(sch.get_loops("C")[0], "blockIdx.x")
        sch.bind(sch.get_loops("C")[2], "threadIdx.x", cross_thread=True)

    sch = check_steps(golden, p.matmul, steps)
    lines = script(lower_blocks(sch.func)).splitlines()
    init = next(number for number, line in enumerate(lines) if "C[i, j] = T.float32(0.0)" in line)
    assert "thread_binding" in lines[init + 1] and "cross_thread" in lines[init + 1]  # once, before the threads
    assert any("across threads" in note for found in sch.notes.values() for note in found)


def test_a_loop_of_a_sum_is_shared_by_its_threads_unasked(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        sch.bind(sch.get_loops("C")[2], "threadIdx.x")

    sch = check_steps(golden, p.matmul, steps)
    assert any("across threads: C" in note for found in sch.notes.values() for note in found)


def test_a_loop_bound_anew() -> None:
    """What the threads combined before, they do not any more."""
    func = p.plain_matmul()
    sch = Schedule(func)
    i, j, k = sch.get_loops("C")
    sch.bind(k, "threadIdx.x")
    sch.unroll(k)
    assert not sch.get(k).annotations
    sch.bind(i, "threadIdx.x")
    sch.bind(i, "blockIdx.y")
    sch.bind(j, "vthread.x")
    assert [sch.get(loop).thread for loop in (i, j)] == ["blockIdx.y", "vthread.x"]
    check_numbers(func, sch.func)


def test_cross_thread_beside_partial_results() -> None:
    """The initialisation stands before the threads, though each makes a value of its own first."""
    x = te.placeholder((4, 12), name="X")
    k = te.reduce_axis((0, 12), name="k")
    y = te.compute((4,), lambda i: te.sum(x[i, k], axis=k), name="Y")
    sch = Schedule(te.create_prim_func([x, y]))
    _, inner = sch.split(sch.get_loops("Y")[1], [None, 4])
    partial = sch.rfactor(inner, 0)
    _, threads = sch.get_loops("Y")
    sch.compute_at(partial, threads)
    sch.bind(threads, "threadIdx.x", cross_thread=True)
    check_numbers(te.create_prim_func([x, y]), sch.func)
    text = script(lower_blocks(sch.func))
    assert text.index("Y[i_1] = T.float32(0.0)") < text.index("thread_binding") and "== 0" not in text.split("Y_rf")[0]


def test_each_thread_has_its_own_copy_whenever_the_loop_is_bound() -> None:
    func = p.plain_matmul()
    made: list[str] = []
    for first in (True, False):
        sch = Schedule(func)
        copy = sch.cache_read("C", 0, "local")
        _, j, k = sch.get_loops("C")
        if first:
            sch.bind(j, "threadIdx.x")
        sch.compute_at(copy, k)
        if not first:
            sch.bind(j, "threadIdx.x")
        check_numbers(func, sch.func)
        made.append(script(lower_blocks(sch.func)))
    assert made[0] == made[1] and made[0].index("thread_binding") < made[0].index("allocate")


def test_a_copy_is_made_in_each_of_the_threads_of_a_sum() -> None:
    """What moves into the threads is asked about; that they combine a sum is not a conflict."""
    func = p.plain_matmul()
    sch = Schedule(func)
    copy = sch.cache_read("C", 0, "local")
    threads = sch.get_loops("C")[2]
    sch.bind(threads, "threadIdx.x", cross_thread=True)
    sch.compute_at(copy, threads)
    check_numbers(func, sch.func)


REFUSALS: dict[str, tuple[Program, Steps, str]] = {
    "axis": (p.matmul, lambda s: s.bind(s.get_loops("D")[0], "threadIdx.q"), "E-SCHEDULE-THREAD"),
    "reduction": (p.matmul, lambda s: s.bind(s.get_loops("C")[2], "blockIdx.x"), "E-SCHEDULE-DEPENDENCE"),
    "cross_thread_data": (
        p.matmul,
        lambda s: s.bind(s.get_loops("C")[0], "threadIdx.x", cross_thread=True),
        "E-SCHEDULE-NOT-REDUCTION-LOOP",
    ),
    "cross_thread_blocks": (
        p.matmul,
        lambda s: s.bind(s.get_loops("C")[2], "blockIdx.x", cross_thread=True),
        "E-SCHEDULE-THREAD",
    ),
    "cross_thread_so_far": (
        lambda: sum_programs.running_sum(2, 4)[0],
        lambda s: s.bind(s.get_loops("sum")[1], "threadIdx.x", cross_thread=True),
        "E-SCHEDULE-DEPENDENCE",
    ),
    "cross_thread_beside": (
        lambda: sum_programs.lagging_sum(2, 4)[0],
        lambda s: s.bind(s.get_loops("sum")[1], "threadIdx.x", cross_thread=True),
        "E-SCHEDULE-DEPENDENCE",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str, golden: Golden) -> None:
    check_refusal(golden, *REFUSALS[name])
