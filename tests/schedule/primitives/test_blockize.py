"""blockize: golden before and after, each refusal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.conftest import Golden
from tests.property import sum_programs
from tests.schedule import programs as p
from tests.schedule.harness import check_refusal, check_steps
from workbench import te
from workbench.schedule import Schedule
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import parse


def product() -> t.PrimFunc:
    return p.matmul(4, 6, 8)


def tiled(sch: Schedule) -> list[Any]:
    """The loops of a product in tiles of 2 x 3 x 4, those of the tile innermost."""
    i, j, k = sch.get_loops("C")
    pairs = [sch.split(loop, factors=[None, size]) for loop, size in ((i, 2), (j, 3), (k, 4))]
    order = [pair[0] for pair in pairs] + [pair[1] for pair in pairs]
    sch.reorder(*order)
    return order


def test_a_tile_of_a_product(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        loops = tiled(sch)
        outer = sch.blockize(loops[3])
        assert outer.target == "C_o"
        sch.parallel(loops[0])
        sch.unroll(loops[5])

    check_steps(golden, product, steps)


def test_blocks_side_by_side(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        outer, _ = sch.split(sch.get_loops("four")[1], factors=[None, 2])
        sch.compute_at("three", outer)
        made = sch.blockize(["three", "four"])
        assert made.target == "three_four_o"
        sch.unroll(sch.get_loops("three")[-1])

    check_steps(golden, p.chain, steps)


def test_blocks_of_whole_loops(golden: Golden) -> None:
    check_steps(golden, p.chain, lambda sch: sch.blockize([sch.get_block("two"), sch.get_block("one")]))


def test_the_whole_reduction(golden: Golden) -> None:
    check_steps(golden, product, lambda sch: sch.blockize(sch.get_loops("C")[2]))


def test_a_block_by_itself_without_unit_iterators(golden: Golden) -> None:
    check_steps(golden, product, lambda sch: sch.blockize(sch.get_block("C"), preserve_unit_iters=False))


def test_everything_without_unit_iterators(golden: Golden) -> None:
    check_steps(golden, product, lambda sch: sch.blockize(sch.get_loops("D")[0], preserve_unit_iters=False))


def test_a_fused_tile(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        loops = tiled(sch)
        sch.reorder(loops[0], loops[1], loops[2], loops[5], loops[3], loops[4])
        inner = sch.fuse(loops[3], loops[4])
        sch.blockize(inner)

    check_steps(golden, product, steps)


def padded() -> t.PrimFunc:
    a = te.placeholder((20,), name="A")
    b = te.compute((18,), lambda i: a[i] + a[i + 2], name="B")
    return te.create_prim_func([a, b])


def test_two_reads_of_one_buffer_become_one_region(golden: Golden) -> None:
    def steps(sch: Schedule) -> None:
        _, inside = sch.split(sch.get_loops("B")[0], factors=[None, 6])
        sch.blockize(inside)

    check_steps(golden, padded, steps)


def test_refusal_tail(golden: Golden) -> None:
    def attempt(sch: Schedule) -> Any:
        _, inside = sch.split(sch.get_loops("C")[2], factors=[None, 3])
        return sch.blockize(inside)

    check_refusal(golden, product, attempt, "E-SCHEDULE-BLOCKIZE")


def test_refusal_mixed(golden: Golden) -> None:
    def attempt(sch: Schedule) -> Any:
        i, _ = sch.get_loops("D")
        outside, inside = sch.split(i, factors=[2, None])
        sch.reorder(inside, outside)
        return sch.blockize(outside)

    check_refusal(golden, product, attempt, "E-SCHEDULE-BLOCKIZE")


def test_refusal_init_late(golden: Golden) -> None:
    def attempt(sch: Schedule) -> None:
        sch.blockize(sch.get_loops("sum")[1])

    check_refusal(golden, lambda: sum_programs.reversed_sum(2, 4)[0], attempt, "E-SCHEDULE-BLOCKIZE")


def test_refusal_summed_again(golden: Golden) -> None:
    def attempt(sch: Schedule) -> None:
        sch.blockize(sch.get_loops("sum")[0])

    check_refusal(golden, lambda: sum_programs.summed_again(2, 3, 4)[0], attempt, "E-SCHEDULE-BLOCKIZE")


def test_refusal_not_side_by_side(golden: Golden) -> None:
    check_refusal(golden, p.chain, lambda sch: sch.blockize(["one", "three"]), "E-SCHEDULE-BLOCKIZE")


def test_refusal_of_a_reduction_outside(golden: Golden) -> None:
    def attempt(sch: Schedule) -> Any:
        sch.compute_at(sch.cache_read("C", "A", "local"), sch.get_loops("C")[2])
        return sch.blockize(["A_local_copy", "C"])

    check_refusal(golden, product, attempt, "E-SCHEDULE-BLOCKIZE")


def test_refusal_in_different_blocks(golden: Golden) -> None:
    def attempt(sch: Schedule) -> Any:
        sch.blockize(sch.get_loops("C")[2])
        return sch.blockize(["C", "D"])

    check_refusal(golden, product, attempt, "E-SCHEDULE-BLOCKIZE")


def test_no_blocks_at_all(golden: Golden) -> None:
    check_refusal(golden, product, lambda sch: sch.blockize([]), "E-SCHEDULE-BLOCKIZE")


def test_refusal_two_blocks(golden: Golden) -> None:
    def attempt(sch: Schedule) -> Any:
        i, _ = sch.get_loops("D")
        sch.compute_at("C", i)
        return sch.blockize(i)

    check_refusal(golden, product, attempt, "E-SCHEDULE-BLOCKIZE")


def test_refusal_thread(golden: Golden) -> None:
    def attempt(sch: Schedule) -> Any:
        i, j = sch.get_loops("D")
        sch.bind(j, "threadIdx.x")
        return sch.blockize(i)

    check_refusal(golden, product, attempt, "E-SCHEDULE-BLOCKIZE")


def test_refusal_root(golden: Golden) -> None:
    check_refusal(golden, product, lambda sch: sch.blockize(sch.get_block("root")), "E-SCHEDULE-BLOCKIZE")


COPIED = """@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i in T.serial(4):
        for a, b in T.grid(1, 8):
            with T.block("copy"):
                v0 = T.axis.spatial(T.Range(i, 1), i + a)
                v1 = T.axis.spatial(8, b)
                T.reads(A[v0, v1])
                T.writes(B[v0, v1])
                B[v0, v1] = A[v0, v1] * T.float32(2.0)
"""


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_domain_that_begins_with_a_loop_of_the_tile(place: int, keep: bool) -> None:
    """What the tile reads was told by the variable of a loop inside of it: E-TIR-UNDEFINED."""
    func = parse(COPIED)
    assert isinstance(func, t.PrimFunc)
    schedule = Schedule(func)
    tile = schedule.blockize(schedule.get_loops("copy")[place], preserve_unit_iters=keep)
    axis = schedule.get(tile).writes[0].region[0]
    assert getattr(axis.extent, "value", None) == (4 if place == 0 else 1)
    a, b = np.arange(32, dtype="float32").reshape(4, 8), np.zeros((4, 8), "float32")
    interpret(schedule.func, a, b, check_regions=True)
    np.testing.assert_array_equal(b, a * 2)
