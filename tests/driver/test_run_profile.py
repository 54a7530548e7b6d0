"""One run of a model, call by call: times, and the parts of the model that the calls carry out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import small_session
from tests.schedule.programs import plain_matmul
from workbench.core.errors import WorkbenchError
from workbench.driver.given_inputs import drawn_inputs
from workbench.runtime.executor import DebugExecutor


def test_each_call_of_the_entry_has_its_time_and_its_classes() -> None:
    session = small_session()
    inputs = drawn_inputs(session.history.step(session.actions, 0).stage.module)
    found = session.profile(inputs)
    links = session.provenance.links
    assert [call.kernel for call in found.calls] == [site.kernel for site in links.sites]
    assert [call.classes for call in found.calls] == [tuple(sorted(links.at(site.number))) for site in links.sites]
    assert all(call.seconds > 0 and call.classes for call in found.calls) and 1 <= found.runs <= 10
    assert found.seconds == sum(call.seconds for call in found.calls)
    assert found.calls[-1].gives.startswith("float32[")


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
    assert all(call.seconds > 0 for call in found.calls)
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
