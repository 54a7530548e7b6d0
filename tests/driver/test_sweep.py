"""Sweeps: variants replayed and measured, refusals with their reason, parameters by every name."""

from __future__ import annotations

import json

import pytest

from tests.schedule import programs as p
from workbench.core.errors import WorkbenchError
from workbench.driver.sweep import sweep
from workbench.schedule import Schedule

HASWELL = "llvm -mcpu=haswell"


def tiled() -> tuple[Schedule, dict]:
    sch = Schedule(p.plain_matmul(16, 24, 16))
    i, j, k = sch.get_loops("C")
    io, ii = sch.split(i, factors=[None, 4])
    jo, ji = sch.split(j, factors=[None, 8])
    sch.reorder(io, jo, k, ii, ji)
    sch.vectorize(ji)
    return sch, {"ii": ii, "ji": ji, "jo": jo, "k": k}


def test_a_loop_is_given_itself_or_by_a_name_of_ones_own(golden) -> None:
    sch, loops = tiled()
    ji, ii = loops["ji"], loops["ii"]
    before = sch.fingerprint()
    found = sch.sweep({"ii": [1, 4, 32], "ji": [8, 24]}, target=HASWELL, names=loops)
    golden(str(found))
    assert sch.fingerprint() == before
    assert found[4, 8].result == sch.sweep({ji: [8], ii: [4]}, target=HASWELL)[8, 4].result
    assert found.best.schedule.script() == _by_hand(found.best.values).script()
    assert json.loads(json.dumps(found.to_json()))["names"] == ["ii", "ji"]


def _by_hand(values: tuple[int, int]) -> Schedule:
    sch = Schedule(p.plain_matmul(16, 24, 16))
    i, j, k = sch.get_loops("C")
    io, ii = sch.split(i, factors=[None, values[0]])
    jo, ji = sch.split(j, factors=[None, values[1]])
    sch.reorder(io, jo, k, ii, ji)
    sch.vectorize(ji)
    return sch


def test_a_sweep_does_not_read_its_callers_variables() -> None:
    sch, loops = tiled()
    ji = loops["ji"]
    with pytest.raises(WorkbenchError) as caught:
        sch.sweep({"ji": [8]}, target=HASWELL)
    assert caught.value.code == "E-SWEEP-PARAMETER"
    assert sch.sweep({ji: [8]}, target=HASWELL)[8].result


@pytest.mark.parametrize("key", ["l6", "j_1", "5.factors"])
def test_other_names_of_a_parameter(key: str) -> None:
    sch, _ = tiled()
    step = next(n for n, s in enumerate(sch.trace.steps, 1) if s.primitive == "split" and "l6" in s.results)
    values = [(None, 4), (None, 8)] if key == "5.factors" else [4, 8]
    found = sch.sweep({key.replace("5", str(step)): values}, target=HASWELL)
    assert [trial.result for trial in found.trials] == [
        trial.result for trial in sch.sweep({"l6": [4, 8]}, target=HASWELL).trials
    ]


def test_refused_variants_stand_with_their_reason() -> None:
    sch = Schedule(p.plain_matmul(16, 24, 16))
    loops = sch.get_loops("C")
    sch.split(loops[1], factors=[3, 8])
    found = sch.sweep({"j_1": [4, 8]}, target=HASWELL)
    assert found[4].result is None and "step 3 of the trace: l3, l4 = sch.split" in found[4].reason
    assert found[8].result is not None and found.best.values == (8,)
    assert "refused because" in str(found) and "refused" not in str(sch.sweep({"j_1": [8]}, target=HASWELL))
    nothing = sch.sweep({"j_1": [1, 2]}, target=HASWELL)
    with pytest.raises(WorkbenchError) as caught:
        _ = nothing.best
    assert caught.value.code == "E-SWEEP-NONE" and "step 3" in caught.value.found
    assert "-" in str(nothing)


def test_any_measure() -> None:
    sch, loops = tiled()
    found = sweep(sch, {loops["ji"]: [4, 8]}, lambda made: len(made.script()))
    assert all(trial.result == len(trial.schedule.script()) for trial in found.trials)
    assert sweep(sch, {loops["ji"]: [8]}, "misses", target=HASWELL)[8].result > 0
    timed = sweep(sch, {loops["ji"]: [8, 16]}, "time")
    assert all(0 < trial.result < 1 for trial in timed.trials)


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"jo": [1]}, "E-SWEEP-PARAMETER"),
        ({"k": [1]}, "E-SWEEP-PARAMETER"),
        ({"nothing": [1]}, "E-SWEEP-PARAMETER"),
        ({"99.factors": [1]}, "E-SWEEP-PARAMETER"),
        ({"x.factors": [1]}, "E-SWEEP-PARAMETER"),
        ({}, "E-SWEEP-SIZE"),
        ({"ji": []}, "E-SWEEP-SIZE"),
        ({"ji": range(1, 300)}, "E-SWEEP-SIZE"),
    ],
)
def test_what_cannot_be_swept(parameters: dict, code: str) -> None:
    sch, loops = tiled()
    with pytest.raises(WorkbenchError) as caught:
        sweep(sch, parameters, target=HASWELL, names=loops)
    assert caught.value.code == code and caught.value.expected and caught.value.fix


def test_an_unknown_measure_and_value() -> None:
    sch, loops = tiled()
    with pytest.raises(WorkbenchError, match="no measure 'cycle'") as caught:
        sweep(sch, {loops["ji"]: [8]}, "cycle")
    assert "cycles" in caught.value.fix
    with pytest.raises(WorkbenchError) as caught:
        _ = sweep(sch, {loops["ji"]: [8]}, target=HASWELL)[9]
    assert caught.value.code == "E-SWEEP-VALUE"


def test_time_wants_constant_shapes() -> None:
    from workbench import te

    n = te.var("n")
    a = te.placeholder((n,), name="A")
    sch = Schedule(te.create_prim_func([a, te.compute((n,), lambda i: a[i] + 1.0, name="B")]))
    _, inner = sch.split(sch.get_loops("B")[0], factors=[None, 4])
    with pytest.raises(WorkbenchError) as caught:
        sweep(sch, {inner: [4]}, "time")
    assert caught.value.code == "E-MEASURE-SHAPE"
