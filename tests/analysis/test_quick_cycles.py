"""The estimate of cycles by formulas against the one that runs every access through the caches."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.schedule.programs import plain_matmul
from workbench import WorkbenchError, te
from workbench.analysis.cache import simulate_cache
from workbench.analysis.quick_cycles import quick_cycles
from workbench.schedule import Schedule

TARGET = "llvm -mcpu=znver3"


def plain(size: int = 48) -> Schedule:
    return Schedule(plain_matmul(size, size, size))


def interchanged() -> Schedule:
    sch = plain()
    i, j, k = sch.get_loops("C")
    sch.reorder(i, k, j)
    return sch


def in_lanes() -> Schedule:
    sch = interchanged()
    sch.vectorize(sch.split(sch.get_loops("C")[2], factors=[None, 16])[1])
    return sch


def tiled() -> Schedule:
    sch = plain()
    i, j, k = sch.get_loops("C")
    outer, lanes = sch.split(j, factors=[None, 16])
    top, rows = sch.split(i, factors=[None, 8])
    sch.reorder(top, outer, k, rows, lanes)
    sch.vectorize(lanes)
    sch.unroll(rows)
    return sch


@pytest.mark.parametrize("make", [plain, interchanged, in_lanes, tiled])
def test_small_programs_cost_what_the_exact_run_says(make: Callable[[], Schedule]) -> None:
    quick, exact = quick_cycles(make(), TARGET), simulate_cache(make(), TARGET).cycles
    assert quick.compute == exact.compute and quick.limit == exact.limit
    assert abs(quick.memory - exact.memory) <= 0.25 * exact.memory, f"{quick}, exactly {exact}"


def test_an_order_that_the_caches_hate_costs_more_however_large() -> None:
    cost = []
    for order in ((0, 2, 1), (1, 2, 0)):
        sch = plain(2048)
        loops = sch.get_loops("C")
        sch.reorder(*(loops[place] for place in order))
        cost.append(quick_cycles(sch, TARGET).memory)
    assert cost[1] > 4 * cost[0], f"{cost}"


def test_what_fits_is_fetched_once() -> None:
    lines = 3 * 48 * 48 * 4 // 64
    memory = quick_cycles(plain(), TARGET).memory
    assert memory == simulate_cache(plain(), TARGET).cycles.memory and memory % lines == 0


def test_a_shape_without_numbers_is_refused_unless_given() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    func = te.create_prim_func([a, te.compute((n,), lambda i: a[i] * 2.0, name="B")])
    with pytest.raises(WorkbenchError) as caught:
        quick_cycles(func)
    assert caught.value.code == "E-ANALYSIS-SIZE"
    assert quick_cycles(func, sizes={"n": 64}).total > 0
