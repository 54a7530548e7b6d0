"""Loop trees, patterns, vectors, registers, reuse, iterations, rooflines, and the summary."""

from __future__ import annotations

import json
import pickle
import random
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.analysis.naive_cache import naive_accesses
from tests.driver.programs import small_model
from tests.nightly import examples
from tests.property.drawing import scheduled
from tests.schedule import programs as p
from workbench import te, tir
from workbench.analysis.cache import CacheLevel, simulate_cache
from workbench.analysis.footprint import footprints
from workbench.analysis.instances import instances
from workbench.analysis.iterations import iteration_points
from workbench.analysis.loop_trees import loop_tree
from workbench.analysis.operations import estimate_tir_flops, flops
from workbench.analysis.patterns import access_patterns, vector_widths
from workbench.analysis.programs import plain
from workbench.analysis.registers import register_use
from workbench.analysis.reuse import distances, reuse_distance
from workbench.analysis.rooflines import roofline
from workbench.analysis.summary import facts
from workbench.core.errors import WorkbenchError
from workbench.core.node import pre_order
from workbench.schedule import Schedule
from workbench.target import Target
from workbench.tir.script import parse
from workbench.views.lens import lens_of

HASWELL = "llvm -mcpu=haswell"


def micro_kernel(rows: int, columns: int) -> Schedule:
    """rows x columns sums in registers, k outside them."""
    sch = Schedule(p.plain_matmul(24, 32, 16))
    i, j, k = sch.get_loops("C")
    io, ii = sch.split(i, factors=[None, rows])
    jo, ji = sch.split(j, factors=[None, columns])
    sch.reorder(io, jo, k, ii, ji)
    sch.vectorize(ji)
    sch.unroll(ii)
    return sch


# --- operations ---------------------------------------------------------------------------------------------------


def test_a_masked_vector_counts_where_one_of_its_lanes_runs() -> None:
    sch = Schedule(p.plain_matmul(4, 30, 5))
    _, j, _ = sch.get_loops("C")
    sch.vectorize(sch.split(j, factors=[None, 8])[1])
    compiled = wb.open(sch).provenance.compiled.stage.module["main"]
    assert any("Ramp" in type(node).__name__ for node in pre_order(compiled))
    assert 2 * 4 * 30 * 5 <= flops(compiled) <= 2 * 4 * 32 * 5


@pytest.mark.parametrize("seed", range(15))
def test_statements_are_counted_as_they_run(seed: int) -> None:
    rng = random.Random(seed)
    schedule = Schedule(p.PROGRAMS[rng.choice(list(p.PROGRAMS))]())
    scheduled(schedule, rng, rng.randint(0, 6))
    func = plain(schedule)
    stores = sum(store for _, _, store in naive_accesses(func))
    found = [item for item in instances(func) if isinstance(item.stmt, tir.BufferStore)]
    if all(item.exact for item in found):
        assert sum(item.count for item in found) == stores
    else:
        assert sum(item.count for item in found) >= stores and "index" in schedule.script()


def test_operations_of_known_programs() -> None:
    assert flops(p.plain_matmul(8, 9, 10)) == 2 * 8 * 9 * 10
    assert flops(p.matmul(8, 9, 10)) == 2 * 8 * 9 * 10 + 8 * 9
    assert estimate_tir_flops(p.plain_matmul(1024, 1024, 1024)) == 2.0 * 1024**3
    assert wb.tir.analysis.estimate_tir_flops(wb.IRModule({"main": p.plain_matmul(2, 2, 2)})) == 16.0


def test_a_masked_vector_without_loops_around_it_is_counted() -> None:
    """8 of 16 lanes hold: facts of small dense layers were a ValueError."""
    a = te.placeholder((4, 8), name="A")
    sch = Schedule(te.create_prim_func([a, te.compute((4, 8), lambda i, j: a[i, j] + 1.0, name="B")]))
    _, j = sch.get_loops("B")
    sch.vectorize(sch.split(j, factors=[None, 16])[1])
    assert 4 * 8 <= flops(sch.func) <= 4 * 16 and "loops" in str(sch.facts())


@pytest.mark.parametrize("stored", ["3", "i"])
def test_an_index_without_axes_is_followed(stored: str) -> None:
    """A buffer of one element that a loop writes each time: silero's kernels were an error of the screen."""
    func = parse(f"""@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32")):
    chosen = T.alloc_buffer((), "int32")
    for i in T.serial(4):
        chosen[()] = {stored}
        B[i] = A[chosen[()]] + T.float32(1)
""")
    assert flops(func) == 4


def test_a_schedule_computes_as_much_as_its_program() -> None:
    assert flops(micro_kernel(7, 8)) == flops(p.plain_matmul(24, 32, 16))


# --- patterns and vectors -----------------------------------------------------------------------------------------


def test_patterns(golden) -> None:
    golden(str(access_patterns(p.packed_convolution())))


def test_gathers_and_divisions_are_named() -> None:
    table, chosen = te.placeholder((64, 4), name="table"), te.placeholder((6,), "int64", name="chosen")
    out = te.compute((6, 4), lambda i, j: table[chosen[i], j], name="out")
    steps = {pattern.name: pattern.steps for pattern in access_patterns(te.create_prim_func([table, chosen, out]))}
    assert steps["load table"] == {"i": "gather", "j": "unit"}
    a = te.placeholder((4,), name="A")
    halves = te.create_prim_func([a, te.compute((8,), lambda i: a[i // 2], name="B")])
    assert [pattern.steps["i"] for pattern in access_patterns(halves)] == ["irregular", "unit"]


def test_vector_widths(golden) -> None:
    sch = Schedule(p.plain_matmul(16, 12, 16))
    i, j, k = sch.get_loops("C")
    sch.reorder(i, k, j)
    sch.vectorize(j)
    (use, _) = vector_widths(sch, HASWELL)
    assert (use.extent, use.lanes, use.registers, use.full) == (12, 8, 2, False)
    sch = Schedule(p.plain_matmul(16, 16, 16))
    i, j, k = sch.get_loops("C")
    sch.reorder(j, k, i)
    sch.vectorize(i)
    golden(str(vector_widths(sch, HASWELL)))
    assert str(vector_widths(p.plain_matmul(), HASWELL)) == "no vectorised loop"


@pytest.mark.parametrize(
    ("rows", "columns", "sums", "operands", "spills"),
    [(6, 16, 12, 3, False), (4, 24, 12, 4, False), (8, 16, 16, 3, True), (1, 8, 1, 2, False)],
)
def test_registers_of_a_micro_kernel(rows: int, columns: int, sums: int, operands: int, spills: bool) -> None:
    found = register_use(micro_kernel(rows, columns), HASWELL)
    use = next(use for use in found if use.loop == "k")
    assert (use.accumulators, use.operands, use.spills) == (sums, operands, spills)
    assert use.available == 16 and found.spills == spills
    assert ("spills" in str(found)) == spills


# --- reuse --------------------------------------------------------------------------------------------------------


@settings(max_examples=examples(100))
@given(st.lists(st.integers(0, 12), max_size=80))
def test_distances_by_brute_force(lines: list[int]) -> None:
    expected: list[int] = []
    for position, line in enumerate(lines):
        before = [j for j in range(position) if lines[j] == line]
        expected.append(len(set(lines[before[-1] + 1 : position])) if before else -1)
    assert distances(np.array(lines, np.int64)).tolist() == expected


@pytest.mark.parametrize("lines", [1, 2, 4, 8, 16, 32])
def test_one_histogram_gives_the_misses_of_every_size(lines: int) -> None:
    func = p.convolution()
    whole = [CacheLevel("L1", lines * 64, lines, 64)]
    assert reuse_distance(func).misses(lines) == simulate_cache(func, HASWELL, caches=whole).misses


def test_reuse_prints(golden) -> None:
    golden(str(reuse_distance(p.plain_matmul(16, 16, 16))))


# --- iterations ---------------------------------------------------------------------------------------------------


def test_points_are_visited_in_the_order_of_the_schedule() -> None:
    sch = Schedule(p.plain_matmul(4, 4, 3))
    i, j, _ = sch.get_loops("C")
    jo, ji = sch.split(j, factors=[None, 2])
    sch.reorder(jo, i, ji)
    found = iteration_points(sch, "C", ("vj", "vi"))
    expected = [(jo * 2 + ji, i) for jo in range(2) for i in range(4) for ji in range(2)]
    assert [(point.x, point.y) for point in found.points] == expected
    assert [point.order for point in found.points] == list(range(16))
    assert [point.tile for point in found.points] == [0] * 8 + [1] * 8
    assert found.fixed == {"k": 0} and not found.clipped


def test_dependences_of_a_stencil_and_the_two_iterations_of_a_refusal(golden) -> None:
    sch = Schedule(p.skewed())
    i, j = sch.get_loops("wave")
    refusal = sch.why_not("reorder", j, i)
    assert refusal is not None and refusal.witness is not None
    found = iteration_points(sch, "wave", witness=refusal.witness)
    assert len(found.lit) == 2
    assert all(arrow.kind == "flow" for arrow in found.arrows)
    assert ((1, 0), (0, 1)) in {(arrow.earlier, arrow.later) for arrow in found.arrows}
    chosen = SimpleNamespace(first_at={"i": 3, "j": 4}, second_at={"i": 4, "j": 3})
    golden(str(iteration_points(sch, "wave", witness=chosen)))


def test_sums_follow_each_other() -> None:
    found = iteration_points(p.plain_matmul(2, 2, 4), "C", ("vk", "vj"))
    kinds = {arrow.kind for arrow in found.arrows}
    assert kinds == {"output"} and len(found.arrows) == 2 * 3


def test_large_spaces_are_cut_and_larger_ones_refused() -> None:
    found = iteration_points(p.plain_matmul(100, 100, 4), "C", ("vj", "vi"))
    assert found.clipped and len(found.points) == 16 * 16
    with pytest.raises(WorkbenchError) as caught:
        iteration_points(p.plain_matmul(2048, 2048, 4), "C", ("vj", "vi"))
    assert caught.value.code == "E-ANALYSIS-SIZE"


@pytest.mark.parametrize(
    ("block", "axes", "code"),
    [("Z", None, "E-ANALYSIS-BLOCK"), ("C", ("vi", "z"), "E-ANALYSIS-AXIS"), ("C", (), "E-ANALYSIS-AXIS"),
     ("C", ("vi", "vj", "vk"), "E-ANALYSIS-AXIS")],
)  # fmt: skip
def test_unknown_blocks_and_axes(block: str, axes: tuple[str, ...] | None, code: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        iteration_points(p.plain_matmul(), block, axes)
    assert caught.value.code == code


def test_a_function_without_blocks_shows_its_loops() -> None:
    found = iteration_points(plain(p.plain_matmul(3, 4, 2)))
    assert found.axes == ("j", "i") and len(found.points) == 12


# --- trees, rooflines, the whole ----------------------------------------------------------------------------------


def test_loop_tree(golden) -> None:
    golden(str(loop_tree(micro_kernel(6, 16))))


def test_loop_tree_of_a_convolution(golden) -> None:
    golden(str(loop_tree(p.convolution())))


def test_loop_tree_of_lowered_loops(golden) -> None:
    golden(str(loop_tree(plain(p.matmul()))))


def test_roofline_counts_by_hand() -> None:
    point = roofline(p.plain_matmul(64, 64, 64), HASWELL)
    assert (point.flops, point.bytes, point.exact, point.threads) == (2 * 64**3, 3 * 4 * 64**2, True, 1)
    assert point.intensity == pytest.approx(2 * 64 / 12)
    assert point.peak == 3.0e9 * 2 * 2 * 8 and point.bound == "arithmetic"
    added = roofline(p.chain(64, 64), HASWELL)
    assert added.bound == "memory" and added.attainable < added.peak
    sch = Schedule(p.plain_matmul(64, 64, 64))
    sch.parallel(sch.get_loops("C")[0])
    assert roofline(sch, "llvm -mcpu=haswell -num-cores=4").peak == 4 * point.peak


def test_nominal_figures_of_targets() -> None:
    first = Target("llvm -mcpu=znver5").cache_levels[0]
    assert (first.size, first.ways, first.line, first.sets) == (48 * 1024, 12, 64, 64)
    assert Target("llvm -mcpu=znver3").nominal_flops(64) == Target("llvm -mcpu=znver3").nominal_flops() / 2
    assert all(level.sets >= 1 for level in Target("llvm").cache_levels)
    tiny = Target("llvm -mcpu=haswell -l1-cache=128").cache_levels[0]
    assert (tiny.ways, tiny.sets) == (2, 1)


def test_facts_at_a_glance(golden) -> None:
    found = facts(micro_kernel(6, 16), HASWELL)
    golden(str(found))
    assert json.loads(json.dumps(found.to_json()))["roofline"]["bound"] == found.roofline.bound


@pytest.mark.parametrize("name", list(p.PROGRAMS))
def test_facts_of_every_program(name: str) -> None:
    rng = random.Random(name)
    sch = Schedule(p.PROGRAMS[name]())
    scheduled(sch, rng, 4)
    found = facts(sch, HASWELL)
    assert json.dumps(found.to_json()) and str(found)


def test_facts_of_large_shapes_leave_the_caches_out() -> None:
    found = facts(p.plain_matmul(512, 512, 512), HASWELL)
    assert found.cache is None and "shrink the shape" in str(found)


def test_symbolic_extents_print_as_trees_and_want_sizes_for_numbers() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    func = te.create_prim_func([a, te.compute((n,), lambda i: a[i] + 1.0, name="B")])
    assert "A[0:n]" in str(loop_tree(func))
    assert facts(func, HASWELL, sizes={"n": 16}).roofline.flops == 16


def test_te_schedules_and_tensors_have_facts() -> None:
    a = te.placeholder((16, 8), name="A")
    b = te.compute((16, 8), lambda i, j: a[i, j] + 1.0, name="B")
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[0], 4)
    assert facts(s, HASWELL).roofline.flops == facts([a, b], HASWELL).roofline.flops == 128
    assert "block B" in str(loop_tree(s))


def test_allocated_bytes() -> None:
    assert tir.analysis.calculate_allocated_bytes(p.matmul(4, 6, 5)) == {"main": {"global": 96}}
    assert tir.analysis.calculate_allocated_bytes(wb.IRModule({"f": p.plain_matmul()})) == {"f": {}}


@pytest.mark.parametrize("program", ["model", "loops"])
@pytest.mark.parametrize("default", [True, False])
def test_a_schedule_of_a_session_speaks_of_what_the_session_compiles_for(program: str, default: bool) -> None:
    """It spoke of this machine; what is asked for by name still is, and a schedule of its own has none."""
    session = wb.open(small_model() if program == "model" else p.plain_matmul(), target=HASWELL)
    sch = session.schedule(session.kernels[0], default=default)
    assert sch.target == sch.copy().target == Target(HASWELL)
    found, other = sch.facts(), sch.facts("llvm -mcpu=znver4")
    assert found.target == HASWELL == facts(sch).target and other.target == "llvm -mcpu=znver4"
    assert str(simulate_cache(sch)) == str(simulate_cache(sch, HASWELL))
    assert found.footprints.caches == footprints(sch).caches != footprints(sch, "llvm -mcpu=znver4").caches
    assert roofline(sch) == roofline(sch, HASWELL) != roofline(sch, "llvm -mcpu=znver4")
    with Target("llvm -mcpu=znver4"):
        assert sch.facts().target == HASWELL and Schedule(p.plain_matmul()).facts().target == "llvm -mcpu=znver4"
    assert Schedule(p.plain_matmul()).target is None
    again = pickle.loads(pickle.dumps(sch))
    assert again.target == Target(HASWELL) and again.facts().target == HASWELL
    assert [(level.name, level.size) for level in lens_of(sch).caches] == [
        (level.name, level.size) for level in Target(HASWELL).cache_levels
    ]


def test_facts_of_a_module_are_for_the_target_of_its_function() -> None:
    kernel = wb.open(small_model(), target="llvm -mcpu=znver4").kernels[0]
    module = wb.open(small_model(), target="llvm -mcpu=znver4")["Lower"].after
    assert facts(wb.IRModule({kernel: module[kernel]})).target == facts(module[kernel]).target == "llvm -mcpu=znver4"


def test_a_sweep_of_a_sessions_schedule_models_the_caches_of_its_target() -> None:
    session = wb.open(p.plain_matmul(), target=HASWELL)
    sch = session.schedule(session.kernels[0])
    _, inner = sch.split(sch.get_loops(sch.get_block("C"))[2], factors=[None, 8])
    targets: list[str] = []

    def asked(made: Schedule) -> float:
        targets.append(made.facts().target)
        return 1.0

    sch.sweep({inner: [2, 4]}, measure=asked)
    assert targets == [HASWELL, HASWELL]
    cycles = [trial.result for trial in sch.sweep({inner: [2, 4]}).trials]
    assert cycles == [trial.result for trial in sch.sweep({inner: [2, 4]}, target=HASWELL).trials]
