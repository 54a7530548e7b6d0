"""One run of a model, call by call: times, and the parts of the model that the calls carry out."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import small_session
from tests.schedule.programs import plain_matmul
from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.driver.given_inputs import drawn_inputs
from workbench.driver.run_profile import CallTime, RunProfile
from workbench.runtime import executor as executor_module
from workbench.runtime.executor import DebugExecutor


def test_each_call_of_the_entry_has_its_time_and_its_classes() -> None:
    session = small_session()
    inputs = drawn_inputs(session.history.step(session.actions, 0).stage.module)
    found = session.profile(inputs)
    links = session.provenance.links
    assert [call.kernel for call in found.calls] == [site.kernel for site in links.sites]
    assert [call.classes for call in found.calls] == [tuple(sorted(links.at(site.number))) for site in links.sites]
    # A time is without what an empty call takes: of kernels this small it may be 0 on a busy machine.
    assert all(call.seconds >= 0 and call.classes for call in found.calls) and 1 <= found.runs <= 10
    assert found.seconds == sum(call.seconds for call in found.calls)
    assert found.calls[-1].gives.startswith("float32[")


def profiled(*calls: tuple[str, float, int, int]) -> RunProfile:
    """Of (kernel, microseconds, operations, bytes)."""
    rows = [
        CallTime(number, kernel, "", spent * 1e-6, "float32[1]", (), operations, moved)
        for number, (kernel, spent, operations, moved) in enumerate(calls)
    ]
    return RunProfile(tuple(rows), 10, 4.4e-3, 0.4e-6)


def test_a_profile_prints_as_a_table_of_kernels_the_hottest_first(golden: Any) -> None:
    cold = [("cold", spent, 0, 10_000) for spent in (5.0, 7.0)]
    found = profiled(cold[0], ("hot", 500.0, 10**7, 10**6), cold[1], ("<b>", 1.0, 0, 0))
    golden(str(found))
    assert repr(found) == str(found) == found._repr_mimebundle_()["text/plain"]
    html = found._repr_mimebundle_()["text/html"]
    ElementTree.fromstring(html)
    assert "<b>" not in html and "<th" in html


def test_a_long_profile_counts_its_tail() -> None:
    lines = str(profiled(*((f"kernel_{number}", 100.0 - number, 0, 0) for number in range(90)))).splitlines()
    assert len(lines) == 1 + 20 + 1 + 3 and lines[1].startswith("kernel_0 "), lines
    assert lines[21].startswith("… 70 kernels more") and " 70 " in lines[21][20:], lines[21]
    assert lines[22].startswith("90 kernel calls, 4.99 ms together"), lines[22]


def test_work_and_bytes_of_the_calls_are_known() -> None:
    session = small_session()
    found = session.profile(drawn_inputs(session.history.step(session.actions, 0).stage.module))
    assert any(call.operations for call in found.calls) and all(call.moved > 0 for call in found.calls)
    assert found.whole > 0 and found.empty > 0


def test_of_a_table_the_rows_that_are_taken_are_counted() -> None:
    """All of it was: an embedding's rows came at 4,000 GB/s."""
    rows = relay.var("rows", shape=(3,), dtype="int32")
    table = relay.const(np.arange(1000 * 16, dtype="float32").reshape(1000, 16))
    session = wb.open(relay.Function([rows], relay.take(table, rows, axis=0)))
    found = session.profile({"rows": np.array([1, 999, 1], dtype="int32")})
    assert [call.moved for call in found.calls] == [3 * 16 * 4 + 3 * 16 * 4 + 3 * 4], "read, written, asked"


def test_a_call_is_told_without_what_an_empty_one_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock to which every kernel takes 1000 ns, and an empty call 10."""
    session = small_session()

    def called(function: Any, arguments: Any) -> int:
        function(*arguments)
        return 10 if function.name == "nothing" else 1000

    monkeypatch.setattr(executor_module, "_nanoseconds", called)
    found = session.profile(drawn_inputs(session.history.step(session.actions, 0).stage.module))
    assert {call.seconds for call in found.calls} == {990e-9} and found.empty == 10e-9
    report = DebugExecutor(session.build()).profile()
    assert {row.seconds for row in report} == {990e-9}, "one function times calls"


def passed_on(*outputs: str) -> Any:
    """An ONNX model that computes y of x, and gives x on under its own name."""
    from onnx import TensorProto, helper

    def tensors(*names: str) -> list[Any]:
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in names]

    graph = helper.make_graph([helper.make_node("Exp", ["x"], ["y"])], "g", tensors("x"), tensors(*outputs))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("outputs", [("x", "y"), ("y", "x"), ("x",)])
def test_an_input_that_is_an_output_too_is_profiled(outputs: tuple[str, ...], tmp_path: Path) -> None:
    """Input and output had one name, and were taken for one array: E-CALL-OVERLAP, and `exp` read the output."""
    session = wb.open(passed_on(*outputs))
    x = np.linspace(0, 1, 6, dtype="float32").reshape(2, 3)
    found = session.profile({"x": x})
    assert [call.kernel for call in found.calls] == [site.kernel for site in session.provenance.links.sites]
    assert all(call.seconds >= 0 for call in found.calls)  # without what an empty call takes: 0 on a busy machine
    session.build().export_library(tmp_path / "model.so")
    for model in (session.build(), wb.runtime.load_module(tmp_path / "model.so")):
        debug = DebugExecutor(model)
        debug.run(x=x)
        for place, name in enumerate(outputs):
            expected = np.exp(x) if name == "y" else x
            np.testing.assert_allclose(debug.get_output(place).numpy(), expected, rtol=1e-6)
        assert (debug.value("x") == x).all() and (debug.value(model.output_values[outputs.index("x")]) == x).all()


def test_a_loop_program_has_no_calls() -> None:
    with pytest.raises(WorkbenchError, match="one kernel") as caught:
        wb.open(plain_matmul()).profile({})
    assert caught.value.code == "E-RUN-CALLS"


def test_what_is_no_input_is_refused() -> None:
    with pytest.raises(WorkbenchError) as caught:
        small_session().profile([1, 2])  # type: ignore[arg-type]
    assert caught.value.code == "E-RUN-INPUT"
