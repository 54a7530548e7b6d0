"""What a measurement says; how fast a machine is, is no matter of tests."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from workbench import te, tir
from workbench.core.errors import WorkbenchError
from workbench.driver import given_inputs
from workbench.driver import measure as driver_measure
from workbench.driver.build import build
from workbench.driver.measure import Measurement, measure, measure_kernel, seconds
from workbench.runtime.threads import num_threads
from workbench.target.target import as_target

QUARTER = "25.0% of the peak"


def product(size: int = 32, dtype: str = "float32") -> tir.Schedule:
    a, b = (te.placeholder((size, size), name=name, dtype=dtype) for name in "AB")
    k = te.reduce_axis((0, size), "k")
    c = te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return tir.Schedule(te.create_prim_func([a, b, c]))


def test_a_measurement_holds_time_rate_and_share() -> None:
    found = product().measure()
    assert found.function == "main" and found.operations == 2 * 32**3 and found.threads == 1
    assert 0 < found.seconds < 1 and found.rate == found.operations / found.seconds
    assert found.share == found.rate / found.peak > 0
    assert min(found.means) == found.seconds and len(found.means) == 5 and found.spread >= 0
    assert found.to_json()["share"] == found.share
    assert f"{found.share:.1%} of the peak of 1 thread" in str(found) and found._repr_html_()


def test_no_more_threads_run_than_the_target_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """A share of the peak of one thread is that of one thread's time."""
    used: list[int] = []
    means = driver_measure._means

    def noting(*given: Any) -> Any:
        used.append(num_threads())
        return means(*given)

    monkeypatch.setattr(driver_measure, "_means", noting)
    before = num_threads()
    driver_measure.measure(product(), "llvm -num-cores=1")
    driver_measure.seconds(product(), "llvm -num-cores=1")
    assert used == [1, 1]
    assert num_threads() == before


def test_code_for_one_core_starts_no_threads() -> None:
    sch = product()
    sch.parallel(sch.get_loops(sch.get_block("C"))[0])
    one, all_cores = (wb.build(sch.mod, target=target).get_source("ll") for target in ("llvm -num-cores=1", "llvm"))
    assert ".launch" in all_cores
    assert ".launch" not in one


def test_a_parallel_schedule_is_held_against_all_threads() -> None:
    schedule = product()
    schedule.parallel(schedule.get_loops(schedule.get_block("C"))[0])
    assert schedule.measure().threads == as_target(None).threads


@pytest.mark.parametrize("patience", [0.0, 0.05])
def test_with_little_patience_a_function_runs_at_least_once(patience: float) -> None:
    found = measure(product(), patience=patience)
    assert 0 < found.seconds < 1 and found.peak > 0


def test_measuring_leaves_the_schedule_as_it_is() -> None:
    schedule = product()
    before = schedule.fingerprint()
    schedule.measure()
    assert schedule.fingerprint() == before and not schedule.moves.done


@pytest.mark.parametrize(("dtype", "unit"), [("int32", "Gop/s"), ("float16", "GFLOP/s")])
def test_what_has_no_peak_has_no_share(dtype: str, unit: str) -> None:
    found = product(dtype=dtype).measure()
    assert found.peak == 0 and found.share == 0 and f" {unit}; slowest of 5: " in str(found)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (Measurement("f", 2e-3, 4_000_000, "float32", 1, 8e9), f"2 ms, 2 GFLOP/s: {QUARTER} of 1 thread (8 GFLOP/s)"),
        (Measurement("f", 2e-6, 4_000, "float32", 2, 8e9), f"2 µs, 2 GFLOP/s: {QUARTER} of 2 threads (8 GFLOP/s)"),
        (Measurement("f", 2e-3, 4_000_000, "float32", 1, 0.0), "2 ms, 2 GFLOP/s"),
        (Measurement("f", 2e-3, 0, "", 1, 0.0), "2 ms"),
        (Measurement("f", 2e-3, 4_000_000, "float32", 1, 0.0, (2e-3,)), "2 ms, 2 GFLOP/s"),
        (
            Measurement("f", 2e-3, 4_000_000, "float32", 1, 0.0, (2.5e-3, 2e-3, 2.1e-3)),
            "2 ms, 2 GFLOP/s; slowest of 3: +25%",
        ),
    ],
    ids=["one thread", "two threads", "no peak", "no operations", "one mean", "means"],
)
def test_its_text(made: Measurement, text: str) -> None:
    assert str(made) == text


def test_arrays_of_more_elements_than_are_drawn_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as the memory holds were drawn."""
    monkeypatch.setattr(given_inputs, "_MOST_DRAWN", 3 * 32**2 - 1)
    with pytest.raises(WorkbenchError, match="E-RUN-DRAWN") as caught:
        product().measure()
    error = caught.value
    assert error.where == "parameter A, the largest of 3" and error.found == "3,072 elements"
    assert error.expected and error.fix
    monkeypatch.setattr(given_inputs, "_MOST_DRAWN", 3 * 32**2)
    assert product().measure().seconds > 0


def _symbolic() -> Any:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    return tir.Schedule(te.create_prim_func([a, te.compute((n,), lambda i: a[i] + 1.0, name="B")]))


@pytest.mark.parametrize(
    ("schedule", "target", "code"),
    [(_symbolic, None, "E-MEASURE-SHAPE"), (product, "cuda", "E-BUILD-TARGET")],
    ids=["symbolic shapes", "another machine"],
)
def test_what_cannot_be_measured_is_refused(schedule: Any, target: Any, code: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        schedule().measure(target)
    assert caught.value.code == code


def test_a_kernel_is_measured_as_its_session_compiles_it() -> None:
    session = wb.open(product())
    once = "C[vi, vj] + A[vi, vk] * B[vk, vj]"
    edited = session.edit(tir={"main": session.tir["main"].script().replace(once, f"{once} + A[vi, vk] * B[vk, vj]")})
    plain, twice = measure_kernel(session, "main"), measure_kernel(edited, "main")
    assert twice.operations == 2 * plain.operations and 0 < plain.seconds < 1 and 0 < twice.seconds < 1
    with pytest.raises(WorkbenchError, match="no kernel 'mian'") as caught:
        measure_kernel(session, "mian")
    assert caught.value.code == "E-KERNEL-UNKNOWN" and "main" in caught.value.fix


def test_a_kernel_is_measured_for_the_target_of_its_session() -> None:
    session = wb.open(product(), target="llvm -mtriple=aarch64-linux-gnu")
    with pytest.raises(WorkbenchError, match="aarch64"):
        measure_kernel(session, "main")


def test_a_function_whose_symbol_is_another_name_is_measured_by_the_modules_name() -> None:
    session = wb.open(wb.IRModule({"f": product().func}))
    assert measure_kernel(session, "f").function == "f"


def test_a_schedule_of_a_session_is_measured_for_its_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was measured for this machine, whatever the session was for, and did not say so."""
    built: list[str] = []

    def noted(program: Any, target: Any) -> Any:
        built.append(str(target))
        return build(program, target=target)

    monkeypatch.setattr(driver_measure, "build", noted)
    schedule = wb.open(product(), target="llvm -opt-level=0").schedule("main")
    _, factor = schedule.split(schedule.get_loops("C")[0], [None, 4])
    assert schedule.measure().seconds > 0 and seconds(schedule) > 0
    assert schedule.sweep({factor: [2]}, measure="time")[2].result
    assert built == ["llvm -opt-level=0"] * 3
    assert schedule.measure("llvm").seconds > 0 and built[-1] == "llvm"


def test_a_schedule_for_another_machine_is_not_measured_on_this_one() -> None:
    schedule = wb.open(product(), target="llvm -mtriple=aarch64-linux-gnu").schedule("main")
    _, factor = schedule.split(schedule.get_loops("C")[0], [None, 4])
    ways = (schedule.measure, lambda: seconds(schedule), lambda: schedule.sweep({factor: [2]}, measure="time"))
    for way in ways:
        with pytest.raises(WorkbenchError, match="aarch64") as caught:
            way()
        assert caught.value.code == "E-RUN-FOREIGN"
