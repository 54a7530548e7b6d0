"""A copy of a sum that is not finished holds another value each time: what reads it does not move where it reads once.

Found by a generated program: `reverse_compute_at` took the copy for a block that writes one value, since its iterators
do; a loop around it that they do not mention runs it again.
"""

from __future__ import annotations

import pytest

from tests.schedule.harness import check_numbers
from workbench.schedule import Schedule, ScheduleError
from workbench.tir.script import parse

PROGRAM = """
@T.prim_func
def main(X: T.Buffer((2, 5), "int32"), S: T.Buffer((2,), "int32"), R: T.Buffer((2, 5), "int32")):
    K = T.alloc_buffer((2,), "int32")
    for i, k in T.grid(2, 5):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = 0
            S[vi] = S[vi] + X[vi, vk]
        with T.block("keep"):
            vi = T.axis.spatial(2, i)
            K[vi] = S[vi]
        with T.block("so_far"):
            vi, vj = T.axis.remap("SS", [i, k])
            R[vi, vj] = K[vi] * 2
"""


def test_who_reads_a_copy_of_what_is_not_finished_stays() -> None:
    sch = Schedule(parse(PROGRAM))
    sch.add_unit_loop("keep")
    with pytest.raises(ScheduleError) as caught:
        sch.reverse_compute_at("so_far", sch.get_loops("keep")[-1])
    assert caught.value.code == "E-SCHEDULE-IRREGULAR"


def test_who_reads_a_copy_made_again_of_what_is_finished_moves() -> None:
    func = parse(PROGRAM.replace("K[vi] = S[vi]", "K[vi] = X[vi, 0]"))
    sch = Schedule(func)
    sch.add_unit_loop("keep")
    sch.reverse_compute_at("so_far", sch.get_loops("keep")[-1])
    check_numbers(func, sch.func)
