"""The way of a schedule under the roofline: which steps move it, by which primitive, and what looking at it costs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.schedule import programs as p
from workbench import WorkbenchError, te
from workbench.analysis import roofline_paths
from workbench.analysis.roofline_paths import MOST, PathPoint, RooflinePath, roofline_path
from workbench.schedule import Schedule

TARGET = "llvm -mcpu=haswell -num-cores=4"


def tiled() -> Schedule:
    """A product that the first cache does not hold, in tiles, vectors and threads.

    Its sums go through memory, unrolled or not: that step moves nothing.
    """
    sch = Schedule(p.plain_matmul(256, 256, 256))
    i, j, k = sch.get_loops("C")
    sch.annotate(k, "note", 1)
    outer, lanes = sch.split(j, factors=[None, 16])
    top, rows = sch.split(i, factors=[None, 8])
    sch.reorder(top, outer, k, rows, lanes)
    sch.vectorize(lanes)
    sch.unroll(rows)
    sch.parallel(top)
    return sch


def names(path: RooflinePath) -> list[str]:
    return [point.name for point in path.points]


def test_each_segment_is_named_by_the_primitive_that_caused_it(golden) -> None:
    sch = tiled()
    path = roofline_path(sch, TARGET)
    assert names(path) == ["", "reorder", "vectorize", "parallel"], path
    assert [point.step for point in path.points] == [0, 6, 7, 9], path
    primitives = [step.primitive for step in sch.trace.insts]
    assert all(primitives[point.step - 1] == point.name for point in path.points[1:]), (primitives, path)
    golden(str(path))


def test_tiles_move_it_to_the_right_and_vectors_and_threads_up() -> None:
    begin, reorder, vectorize, parallel = roofline_path(tiled(), TARGET).points
    assert reorder.intensity > 4 * begin.intensity and reorder.bytes * 4 < begin.bytes
    assert vectorize.intensity == reorder.intensity and vectorize.rate > 2 * reorder.rate
    assert parallel.rate == pytest.approx(4 * vectorize.rate) and (parallel.threads, vectorize.threads) == (4, 1)


def test_a_stage_computed_once_for_each_channel_moves_it_to_the_left() -> None:
    sch = Schedule(p.convolution(64, 64, 32, 32))
    sch.compute_at(sch.get_block("pad"), sch.get_loops("conv")[0])
    path = roofline_path(sch, TARGET)
    assert names(path) == ["", "compute_at"] and path.points[1].intensity < path.points[0].intensity, path


def test_the_first_and_the_last_state_are_always_there() -> None:
    sch = tiled()
    sch.annotate(sch.get_loops("C")[0], "another", 2)
    path = roofline_path(sch, TARGET)
    assert (path.points[-1].step, path.points[-1].name) == (len(sch.trace.insts), ""), path
    assert path.points[-1].rate == path.points[-2].rate
    (only,) = roofline_path(Schedule(p.matmul()), TARGET).points
    assert (only.step, only.name) == (0, "")
    assert roofline_path(p.matmul(), TARGET).points == (only,)


def test_what_was_undone_is_no_part_of_the_way() -> None:
    sch = tiled()
    sch.undo(1)
    assert "parallel" not in names(roofline_path(sch, TARGET))


@pytest.mark.parametrize("name", ["matmul", "convolution", "pooling", "softmax", "chain"])
def test_no_point_stands_over_its_roof(name: str) -> None:
    sch = Schedule(getattr(p, name)())
    for block in [one for one in sch.state.tree.blocks if one != "root"]:
        sch.parallel(sch.get_loops(block)[0])
    path = roofline_path(sch, TARGET)
    for point in path.points:
        roof = min(path.peak, point.intensity * path.bandwidth) * point.threads
        assert point.rate <= roof, f"{point} over {roof}"


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the model is asked from now on."""
    asked: list[Any] = []
    ask = roofline_paths.quick_model
    monkeypatch.setattr(roofline_paths, "quick_model", lambda func, target: asked.append(func) or ask(func, target))
    return asked


def test_a_long_trace_costs_no_more_than_a_few_states(monkeypatch: pytest.MonkeyPatch) -> None:
    sch = Schedule(p.plain_matmul(64, 64, 64))
    for _ in range(100):  # there and back: each is another program
        loops = sch.get_loops("C")
        sch.reorder(loops[1], loops[0])
    sch.parallel(sch.get_loops("C")[0])
    assert len(sch.trace.insts) > 200
    asked = counted(monkeypatch)
    path = roofline_path(sch, TARGET)
    assert len(asked) <= MOST and path.states == 102 and path.looked_at == MOST, (len(asked), path)
    assert path.points[-1].name == "parallel", path


def test_states_that_were_not_looked_at_are_named_from_first_to_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofline_paths, "MOST", 2)
    path = roofline_path(tiled(), TARGET)
    assert names(path) == ["", "annotate \u2026 parallel"] and path.looked_at == 2 < path.states
    assert "2 of 8 states were looked at" in str(path)


def test_one_step_more_costs_one_state_more(monkeypatch: pytest.MonkeyPatch) -> None:
    sch = tiled()
    roofline_path(sch, TARGET)
    asked = counted(monkeypatch)
    roofline_path(sch, TARGET)
    assert asked == []
    sch.annotate(sch.get_loops("C")[0], "another", 2)
    roofline_path(sch, TARGET)
    assert len(asked) == 1


def test_a_state_that_the_model_has_no_word_for_is_told_with_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    sch = tiled()
    (vectorized,) = [one.func for one in sch.states if one.steps and one.steps[-1].primitive == "vectorize"]
    ask = roofline_paths.quick_model

    def speechless(func: Any, target: Any) -> Any:
        if func is vectorized:
            raise WorkbenchError("E-ANALYSIS-DATA", "no word")
        return ask(func, target)

    monkeypatch.setattr(roofline_paths, "quick_model", speechless)
    assert names(roofline_path(sch, TARGET)) == ["", "reorder", "vectorize \u2026 unroll", "parallel"]


def test_what_the_model_has_no_word_for_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found is kept, and so is that nothing was; an error of the moment is not."""
    sch = tiled()
    between = [one.func for one in sch.states[1:-1] if one.steps[-1].primitive in ("vectorize", "unroll")]
    asked: list[Any] = []
    ask = roofline_paths.quick_model
    code = "E-ANALYSIS-DATA"

    def speechless(func: Any, target: Any) -> Any:
        asked.append(func)
        if any(func is one for one in between):
            raise WorkbenchError(code, "no word")
        return ask(func, target)

    monkeypatch.setattr(roofline_paths, "quick_model", speechless)
    before = roofline_path(sch, TARGET)
    assert sum(func is one for func in asked for one in between) == 2
    asked.clear()
    again = roofline_path(sch, TARGET)
    assert asked == [] and again == before, "names, points and how many states were looked at"
    sch, code = tiled(), "E-LIMIT-TIME"
    between = [one.func for one in sch.states[1:-1] if one.steps[-1].primitive == "vectorize"]
    assert "vectorize" not in names(roofline_path(sch, TARGET))
    between = []
    assert "vectorize" in names(roofline_path(sch, TARGET))


def moved(*rates: float) -> tuple[dict[int, PathPoint], list[Any]]:
    """Points that were found, one a step, and their states: the first is where a, b, c, ... begin."""
    points = {step: PathPoint(step, (), 64, 1 / rate, 1.0, rate, 1) for step, rate in enumerate(rates)}
    return points, [roofline_paths._State(None, step, " abcdefgh"[step].strip()) for step in points]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ([1.0, 1.02, 1.04, 1.06], [("a", "b"), ()]),
        ([1.0, 1.0, 1.02, 1.04], [("b", "c")]),
        ([1.0, 1.001, 4.0], [("b",)]),
        ([1.0, 1.025, 1.0, 1.0, 1.025, 8.0], [("e",)]),
        ([1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06], [("a", "b", "c", "d"), ()]),
        ([1.0, 2.0, 2.02, 2.04, 2.08], [("a",), ("b", "c", "d")]),
    ],
    ids=str,
)
def test_steps_that_move_it_little_each_are_named_together(rates: list[float], expected: list[Any]) -> None:
    """The last of them was blamed for all."""
    kept = roofline_paths._kept(*moved(*rates))
    assert [point.primitives for point in kept[1:]] == expected


def test_without_arithmetic_bytes_are_told_and_no_rate() -> None:
    a = te.placeholder((64, 64), name="A")
    sch = Schedule(te.create_prim_func([a, te.compute((64, 64), lambda i, j: a[j, i], name="B")]))
    sch.parallel(sch.get_loops("B")[0])
    told = str(roofline_path(sch, TARGET))
    assert told == (
        "no arithmetic, so no roofline of operations: 32 KiB come into L1, from memory at 20 GB/s at best (nominal)"
    ), told


def test_the_clock_of_a_processor_that_is_not_listed_is_called_assumed() -> None:
    assert "at 3 GHz)" in str(roofline_path(p.matmul(), TARGET))
    assert "at 3 GHz, which is assumed)" in str(roofline_path(p.matmul(), "llvm -mcpu=x86-64-v3"))


def test_extents_without_a_value_are_refused_and_with_one_drawn() -> None:
    n = te.var("n")
    a = te.placeholder((n, 64), name="A")
    sch = Schedule(te.create_prim_func([a, te.compute((n, 64), lambda i, j: a[i, j] * 2.0, name="B")]))
    sch.parallel(sch.get_loops("B")[0])
    with pytest.raises(WorkbenchError) as caught:
        roofline_path(sch, TARGET)
    assert caught.value.code == "E-ANALYSIS-SIZE"
    assert names(roofline_path(sch, TARGET, {"n": 64})) == ["", "parallel"]
