"""The cycles of a core at best: what hides latency, what stands in registers, and what comes from where.

`python -m benchmarks.roofline_rates` holds the same against measured times.
"""

from __future__ import annotations

import pytest

from tests.schedule.programs import plain_matmul
from workbench import te
from workbench.analysis.operations import flops
from workbench.analysis.quick_cycles import quick_model
from workbench.analysis.throughput import FORWARDED, Busy
from workbench.schedule import Schedule
from workbench.target.target import Target

TARGET = Target("llvm -mcpu=skylake-avx512")


def product(rows: int, vectors: int, scope: str = "local", size: int = 64) -> Schedule:
    """A product in tiles of `rows` times `vectors` registers of sums."""
    sch = Schedule(plain_matmul(size, size, size))
    copy = sch.cache_write("C", 0, scope) if scope else None
    i, j, k = sch.get_loops("C")
    jo, jv, lanes = sch.split(j, factors=[None, vectors, 16])
    io, ii = sch.split(i, factors=[None, rows])
    sch.reorder(io, jo, k, ii, jv, lanes)
    sch.vectorize(lanes)
    sch.unroll(ii)
    sch.unroll(jv)
    if copy is not None:
        sch.reverse_compute_at(copy, jo)
        sch.vectorize(sch.split(sch.get_loops(copy)[-1], factors=[None, 16])[1])
    return sch


def busy(sch: Schedule, target: Target = TARGET) -> Busy:
    return quick_model(sch, target).busy


def at_peak(sch: Schedule) -> float:
    """Cycles in which nothing but multiply-adds starts."""
    return flops(sch) / (2 * TARGET.lanes * TARGET.nominal.fma_units)


@pytest.mark.parametrize("rows", [1, 2])
def test_twice_the_independent_sums_double_the_rate_up_to_the_latency(rows: int) -> None:
    one, two = busy(product(rows, 1)), busy(product(2 * rows, 1))
    assert one.limit == two.limit == "latency of sums", (one, two)
    assert one.cycles == pytest.approx(2 * two.cycles, rel=0.05), (one, two)


def test_when_the_latency_is_hidden_more_sums_win_no_more() -> None:
    """Two units with a latency of four: eight sums; loads and copies take the rest."""
    assert busy(product(8, 1)).computing < 2 * busy(product(16, 1)).computing


def test_a_register_tile_is_nearly_at_the_peak() -> None:
    sch = product(8, 2, size=128)
    assert at_peak(sch) <= busy(sch).cycles <= 1.3 * at_peak(sch), busy(sch)


def test_more_sums_than_registers_go_through_memory() -> None:
    assert busy(product(32, 2)).cycles > 1.2 * busy(product(8, 2)).cycles


def test_vectors_of_sums_outside_of_local_buffers_wait_for_their_stores() -> None:
    """LLVM leaves them where they are, and takes single numbers into registers."""
    steps = 64 * 4 * 64
    cycles = busy(product(1, 1, "")).cycles
    assert steps * (4 + FORWARDED) <= cycles <= 1.1 * steps * (4 + FORWARDED), cycles
    plain = busy(Schedule(plain_matmul(64, 64, 64)))
    assert 64**3 * 4 <= plain.computing <= 1.1 * 64**3 * 4, plain


def elementwise(size: int, step: int = 1) -> Schedule:
    a = te.placeholder((size * step,), name="A")
    return Schedule(te.create_prim_func([a, te.compute((size,), lambda i: a[i * step] * 2.0 + 1.0, name="B")]))


def test_a_plain_loop_over_neighbours_is_vectorised_as_llvm_does() -> None:
    plain, in_lanes = elementwise(4096), elementwise(4096)
    in_lanes.vectorize(in_lanes.split(in_lanes.get_loops("B")[0], factors=[None, 16])[1])
    assert busy(plain).computing == pytest.approx(busy(in_lanes).computing), (busy(plain), busy(in_lanes))
    assert busy(elementwise(4096, 3)).computing > 8 * busy(plain).computing


def test_what_a_cache_holds_does_not_come_from_behind_it() -> None:
    """One run of many: 32 KiB stand in the second cache, 4 MiB in the third, 64 MiB in none."""
    nominal, line = TARGET.nominal, 64
    for size, behind in ((1 << 13, 0.0), (1 << 19, line / nominal.shared),
                         (1 << 24, line / nominal.shared + line * nominal.clock / nominal.bandwidth)):  # fmt: skip
        lines = 2 * size * 4 / line
        expected = lines * (line / nominal.fetched + behind) + size / 16
        assert busy(elementwise(size)).moving == pytest.approx(expected, rel=0.02), size


def test_what_stays_in_a_loop_is_computed_before_it() -> None:
    a, b = te.placeholder((64, 256), name="A"), te.placeholder((64,), name="B")
    divided, scaled = (
        Schedule(te.create_prim_func([a, b, te.compute((64, 256), value, name="C")]))
        for value in (lambda i, j: a[i, j] * (1.0 / b[i]), lambda i, j: a[i, j] * b[i])
    )
    assert busy(divided).computing <= busy(scaled).computing + 64 * 12, (busy(divided), busy(scaled))


def test_functions_cost_more_than_sums() -> None:
    a = te.placeholder((4096,), name="A")
    exp = Schedule(te.create_prim_func([a, te.compute((4096,), lambda i: te.exp(a[i]), name="B")]))
    assert busy(exp).limit == "arithmetic" and busy(exp).computing > 3 * busy(elementwise(4096)).computing
