"""Inputs whose values decide shapes: specialised under guards, which are checked at each run, also after export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.contrib import graph_executor
from workbench.core.errors import WorkbenchError
from workbench.frontend.onnx import import_model
from workbench.runtime.guards import Guard, guards_of


def reshaping() -> Any:
    """y = reshape(x, shape) * scale, shape and scale inputs."""
    from onnx import TensorProto, helper

    return helper.make_model(
        helper.make_graph(
            [helper.make_node("Reshape", ["x", "shape"], ["r"]), helper.make_node("Mul", ["r", "scale"], ["y"])],
            "reshaping",
            [
                helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 6)),
                helper.make_tensor_value_info("shape", TensorProto.INT64, ("rank",)),
                helper.make_tensor_value_info("scale", TensorProto.FLOAT, ()),
            ],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )


X = np.arange(12, dtype=np.float32).reshape(2, 6)
GIVEN = {"x": X, "shape": np.array([3, 4]), "scale": np.float32(2)}


def wrong_shape_refused(run: Any) -> WorkbenchError:
    with pytest.raises(WorkbenchError, match="input 'shape' has another value") as caught:
        run({**GIVEN, "shape": np.array([4, 3])})
    error = caught.value
    assert error.code == "E-RUN-GUARD" and "[4, 3]" in error.found and "[3, 4]" in error.expected
    assert "assume={'shape'" in error.fix
    return error


def test_the_value_is_asked_for() -> None:
    with pytest.raises(WorkbenchError, match="known only at run time") as caught:
        import_model(reshaping(), {"rank": 2})
    assert caught.value.code == "E-ONNX-VALUE" and "assume={name: array}" in caught.value.fix


def test_the_guard_is_in_the_module_and_the_input_stays() -> None:
    found = import_model(reshaping(), assume={"shape": [3, 4]})
    assert found.input_names == ("x", "shape", "scale")
    assert guards_of(found.module.attrs) == (Guard.of("shape", np.array([3, 4])),)
    assert found.module["main"].body.checked_type.concrete_shape == (3, 4)


def test_a_session_checks_it() -> None:
    session = wb.open(reshaping(), assume={"shape": [3, 4]})
    (found,) = session.run(GIVEN).values()
    np.testing.assert_array_equal(found, X.reshape(3, 4) * 2)
    wrong_shape_refused(session.run)


def test_builds_executors_and_exported_libraries_check_it(tmp_path: Path) -> None:
    module, params = wb.relay.frontend.from_onnx(reshaping(), assume={"shape": [3, 4]})
    lib = wb.relay.build(module, target="llvm", params=params)
    wrong_shape_refused(lib.run)
    executor = graph_executor.GraphModule(lib["default"](wb.cpu(0)))
    executor.run(**GIVEN)
    np.testing.assert_array_equal(executor.get_output(0).numpy(), X.reshape(3, 4) * 2)
    wrong_shape_refused(lambda inputs: executor.run(**inputs))
    lib.export_library(str(tmp_path / "guarded.so"))
    loaded = wb.runtime.load_module(str(tmp_path / "guarded.so"))
    wrong_shape_refused(loaded.run)


@pytest.mark.parametrize(
    ("assume", "message"),
    [
        ({"shap": [3, 4]}, "assume= names 'shap', which is not an input"),
        ({"scale": [1.0, 2.0]}, "does not fit"),
        ({"shape": [1.5, 2.0]}, "does not fit the input"),
    ],
)
def test_wrong_assumptions_are_refused(assume: Any, message: str) -> None:
    with pytest.raises(WorkbenchError, match=message):
        import_model(reshaping(), {"rank": 2}, assume={"shape": [3, 4], **assume})


def test_data_is_not_assumed() -> None:
    with pytest.raises(WorkbenchError, match="too large") as caught:
        Guard.of("x", np.zeros(5000))
    assert caught.value.code == "E-GUARD-SIZE"


def test_other_programs_take_no_assumptions() -> None:
    with pytest.raises(WorkbenchError, match="models from files") as caught:
        wb.open(import_model(reshaping(), assume={"shape": [3, 4]}).module, assume={"shape": [3, 4]})
    assert caught.value.code == "E-OPEN-ASSUME"


def test_a_saved_session_keeps_it(tmp_path: Path) -> None:
    path = str(tmp_path / "guarded.wb.json")
    wb.open(reshaping(), assume={"shape": [3, 4]}).save(path)
    session = wb.open(path)
    np.testing.assert_array_equal(next(iter(session.run(GIVEN).values())), X.reshape(3, 4) * 2)
    wrong_shape_refused(session.run)


@pytest.mark.parametrize(
    "text", ["", "[]", '["x", "float33", [1], [1]]', '["x", "int64", [2], [1]]', '["x", "int64", [-1], 3]']
)
def test_damaged_guards_are_refused(text: str) -> None:
    with pytest.raises(WorkbenchError, match="guard of this program") as caught:
        guards_of({"guards": (text,)})
    assert caught.value.code == "E-GUARD-TEXT"
