"""The cache model is exact: equal to a cache of lists on random traces and random programs; and it is fast."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.naive_cache import naive_accesses, naive_misses
from tests.nightly import examples, some
from tests.property.drawing import scheduled
from tests.schedule import programs as p
from workbench.analysis.cache import CacheLevel, CacheReport, level_misses, misses, simulate_cache
from workbench.analysis.programs import scalar
from workbench.analysis.trace import AccessTrace, trace_of
from workbench.core.errors import WorkbenchError
from workbench.schedule import Schedule

HASWELL = "llvm -mcpu=haswell"
levels = st.builds(
    lambda sets, ways, line: CacheLevel("L", sets * ways * line, ways, line),
    st.sampled_from([1, 2, 3, 4, 8]),
    st.integers(1, 5),
    st.sampled_from([8, 16, 64]),
)


@settings(max_examples=examples(150))
@given(st.lists(st.integers(0, 1200), max_size=300), st.lists(levels, min_size=1, max_size=3))
def test_any_trace_as_a_cache_of_lists(addresses: list[int], caches: list[CacheLevel]) -> None:
    found = misses(np.array(addresses, np.int64), caches)
    assert [miss.tolist() for miss in found] == naive_misses(addresses, caches)


def traced(schedule: Schedule, **options) -> AccessTrace | None:
    """The trace; None where an index is kept in a buffer that holds another one each time (rightly refused)."""
    try:
        return trace_of(schedule, **options)
    except WorkbenchError as error:
        assert error.code == "E-ANALYSIS-DATA"
        assert any(site.startswith("index") for site in schedule.state.tree.names())
        return None


@pytest.mark.parametrize("seed", some(range(16), 3))
def test_the_trace_of_a_random_schedule_is_what_a_step_by_step_walk_touches(seed: int) -> None:
    rng = random.Random(seed)
    name = rng.choice(list(p.PROGRAMS))
    schedule = Schedule(p.PROGRAMS[name]())
    scheduled(schedule, rng, rng.randint(0, 6))
    trace = traced(schedule, vectors=False)
    if trace is None:
        return
    buffers = {site.access.buffer.name: site.access.buffer.dtype.bytes for site in trace.sites}
    found = [
        (site.access.buffer.name, (address - trace.places[site.buffer][0]) // buffers[site.access.buffer.name])
        for site, address in ((trace.sites[s], a) for s, a in zip(trace.site, trace.address, strict=True))
    ]
    expected = [(buffer, where[-1]) for buffer, where, _ in naive_accesses(scalar(schedule))]
    assert found == expected, f"seed {seed}, {name}:\n{schedule.code()}"
    assert trace.is_store.tolist() == [store for _, _, store in naive_accesses(scalar(schedule))]


@pytest.mark.parametrize("seed", range(8))
def test_vector_statements_touch_the_lines_that_their_lanes_touch(seed: int) -> None:
    rng = random.Random(seed)
    schedule = Schedule(p.PROGRAMS[rng.choice(list(p.PROGRAMS))]())
    scheduled(schedule, rng, 5)
    vector, single = traced(schedule, line=16), traced(schedule, vectors=False)
    if vector is None or single is None:
        return
    assert set(np.unique(vector.address // 16)) == set(np.unique(single.address // 16))
    assert len(vector) <= len(single)


def test_report(golden) -> None:
    sch = Schedule(p.plain_matmul(16, 16, 16))
    small = [CacheLevel("L1", 512, 2, 64), CacheLevel("L2", 2048, 4, 64)]
    report = simulate_cache(sch, HASWELL, caches=small)
    golden(str(report))
    assert report.by_buffer()["B"][1] == sum(s.misses[0] for s in report.sites if s.buffer == "B")
    assert report.by_loop()["k"][0] == 4 * 16**3
    assert sum(report.set_misses) == report.misses
    assert isinstance(report.to_json()["levels"][0]["misses"], int)


def test_cold_misses_are_the_lines_of_the_data() -> None:
    report = simulate_cache(p.plain_matmul(16, 16, 16), HASWELL)
    assert [level.misses for level in report.levels] == [48, 48, 48]
    assert [level.cold for level in report.levels] == [48, 48, 48]
    assert report.levels[0].written_back == 16


def test_a_tiled_product_misses_less_and_takes_fewer_cycles() -> None:
    func = p.plain_matmul(48, 48, 48)
    small = [CacheLevel("L1", 2048, 4, 64)]

    def tiled(size: int) -> CacheReport:
        sch = Schedule(func)
        i, j, k = sch.get_loops("C")
        io, ii = sch.split(i, factors=[None, size])
        jo, ji = sch.split(j, factors=[None, size])
        sch.reorder(io, jo, k, ii, ji)
        return simulate_cache(sch, HASWELL, caches=small)

    plain = simulate_cache(func, HASWELL, caches=small)
    assert tiled(8).misses < plain.misses / 3
    assert tiled(8).cycles.total < plain.cycles.total


def test_vectors_and_several_sums_take_fewer_cycles() -> None:
    func = p.plain_matmul(16, 16, 16)
    before = simulate_cache(func, HASWELL).cycles
    sch = Schedule(func)
    i, j, k = sch.get_loops("C")
    jo, ji = sch.split(j, factors=[None, 8])
    sch.reorder(i, jo, k, ji)
    sch.vectorize(ji)
    after = simulate_cache(sch, HASWELL).cycles
    assert before.limit == "latency of sums"
    assert after.compute < before.compute / 6


def test_estimates_are_the_same_every_time_and_need_no_host() -> None:
    found = {str(simulate_cache(p.convolution(), "llvm -mcpu=cortex-a72").cycles) for _ in range(2)}
    assert len(found) == 1


def test_values_of_an_input_may_decide_what_is_touched() -> None:
    from workbench import te

    table, chosen = te.placeholder((64, 4), name="table"), te.placeholder((3,), "int64", name="chosen")
    out = te.compute((3, 4), lambda i, j: table[chosen[i], j], name="out")
    func = te.create_prim_func([table, chosen, out])
    with pytest.raises(WorkbenchError, match=r"values in chosen") as caught:
        simulate_cache(func)
    assert caught.value.code == "E-ANALYSIS-DATA" and "inputs=" in caught.value.fix
    report = simulate_cache(func, HASWELL, inputs={"chosen": np.array([0, 63, 0])})
    assert sum(site.misses[0] for site in report.sites if site.buffer == "table") == 2


def test_a_program_too_large_says_how_to_shrink_it() -> None:
    with pytest.raises(WorkbenchError) as caught:
        simulate_cache(p.plain_matmul(512, 512, 512))
    assert caught.value.code == "E-ANALYSIS-SIZE"
    assert "smaller" in caught.value.fix and "537,133,056" in caught.value.message


def test_the_limit_is_what_it_says() -> None:
    count = len(trace_of(p.plain_matmul(8, 8, 8)))
    simulate_cache(p.plain_matmul(8, 8, 8), limit=count)
    with pytest.raises(WorkbenchError, match=f"about {count:,} accesses") as caught:
        simulate_cache(p.plain_matmul(8, 8, 8), limit=count - 1)
    assert caught.value.expected == f"at most {count - 1:,}"


@pytest.mark.parametrize("level", [CacheLevel("L1", 32, 2, 64), CacheLevel("L1", 64, 0, 64)])
def test_a_cache_that_cannot_be(level: CacheLevel) -> None:
    with pytest.raises(WorkbenchError) as caught:
        simulate_cache(p.plain_matmul(), caches=[level])
    assert caught.value.code == "E-ANALYSIS-CACHE"


def test_no_cache_at_all() -> None:
    with pytest.raises(WorkbenchError, match="no cache"):
        simulate_cache(p.plain_matmul(), caches=[])


def test_what_is_not_a_program() -> None:
    with pytest.raises(WorkbenchError) as caught:
        simulate_cache("matmul")
    assert caught.value.code == "E-ANALYSIS-PROGRAM"


def test_a_million_accesses_in_a_few_seconds_of_a_loaded_core() -> None:
    func = p.plain_matmul(64, 64, 64)
    started = time.process_time()
    simulate_cache(func, caches=[CacheLevel("L1", 4096, 4, 64), CacheLevel("L2", 16384, 4, 64)])
    assert time.process_time() - started < 5.0


def test_random_lines_are_fast_too() -> None:
    lines = np.random.default_rng(0).integers(0, 100_000, 1_000_000)
    started = time.process_time()
    missed = level_misses(lines, 64, 8)
    assert time.process_time() - started < 8.0
    assert missed.mean() > 0.9
