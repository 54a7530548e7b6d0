"""The whole compiler on one model of two operators: open, read, edit, schedule, be refused, save, load, export.

Each test is a stage of the way and can be read by itself; together they are the shortest use of everything.  What is
expected comes from onnxruntime or NumPy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import workbench as wb
from workbench import relay
from workbench.contrib import graph_executor

ROWS, INNER, COLUMNS = 4, 12, 8
WEIGHT = np.random.default_rng(0).standard_normal((INNER, COLUMNS)).astype(np.float32)
X = np.random.default_rng(1).standard_normal((ROWS, INNER)).astype(np.float32)


def model() -> Any:
    """y = LeakyRelu(x @ weight, alpha=0.5)."""
    nodes = [
        helper.make_node("MatMul", ["x", "weight"], ["product"], name="matmul"),
        helper.make_node("LeakyRelu", ["product"], ["y"], name="leaky", alpha=0.5),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [ROWS, INNER])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [ROWS, COLUMNS])
    graph = helper.make_graph(nodes, "tiny", [x], [y], [numpy_helper.from_array(WEIGHT, "weight")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def leaky(alpha: float) -> np.ndarray:
    product = X.astype(np.float64) @ WEIGHT.astype(np.float64)
    return np.where(product > 0, product, alpha * product)


def close(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module")
def session() -> wb.Session:
    return wb.open(model())


@pytest.fixture(scope="module")
def kernel(session: wb.Session) -> str:
    (name,) = session.kernels
    return name


def with_alpha(session: wb.Session, alpha: float) -> wb.Session:
    """The session with another slope, changed in the text of the graph."""
    text = session["SimplifyExpr"].program.script()
    assert "alpha=0.5" in text
    return session.edit(relay=text.replace("alpha=0.5", f"alpha={alpha}"), at="SimplifyExpr")


def by_hand(session: wb.Session, kernel: str) -> Any:
    """A schedule of the kernel: what the default rules chose is left, the outermost loop is marked besides."""
    schedule = session.schedule(kernel)
    outermost = schedule.get_loops(schedule.get_block("leaky_relu"))[0]
    schedule.annotate(outermost, "lesson", "tiny")
    return schedule


def test_a_model_is_opened_and_runs(session: wb.Session) -> None:
    reference = onnxruntime.InferenceSession(model().SerializeToString()).run(None, {"x": X})[0]
    close(session.run({"x": X})["y"], reference)


def test_every_stage_can_be_read(session: wb.Session, kernel: str) -> None:
    assert session.labels[0] == "Import" and session.labels[-1] == "Codegen"
    assert "leaky_relu" in session.relay.script()
    assert session["FuseOps"].diff()
    assert "T.block" in session.tir[kernel].script()
    assert " x float>" in session.codegen[kernel].source("ll")
    assert "ret" in session.codegen[kernel].source("asm")


def test_an_edit_of_the_graph_is_compiled(session: wb.Session) -> None:
    edited = with_alpha(session, 0.125)
    close(edited.run({"x": X})["y"], leaky(0.125))
    close(session.run({"x": X})["y"], leaky(0.5))  # sessions are values


def test_a_pass_is_left_out(session: wb.Session) -> None:
    unfused = session.rerun(disabled_pass=["FuseOps"])
    assert len(unfused.kernels) == 2
    close(unfused.run({"x": X})["y"], leaky(0.5))


def refused_step(session: wb.Session, kernel: str) -> Any:
    """Why the sum's own loop cannot run in parallel."""
    schedule = session.schedule(kernel, default=False)
    *_, reduction = schedule.get_loops(schedule.get_block("dense"))
    return schedule.why_not("parallel", reduction)


def test_an_illegal_step_is_refused_with_two_iterations(session: wb.Session, kernel: str) -> None:
    schedule = session.schedule(kernel, default=False)
    before = schedule.func
    *_, reduction = schedule.get_loops(schedule.get_block("dense"))
    error = refused_step(session, kernel)
    assert error is not None and "iteration" in error.found and error.fix
    with pytest.raises(wb.WorkbenchError, match=error.code):
        schedule.parallel(reduction)
    assert schedule.func is before


def test_a_schedule_by_hand_runs(session: wb.Session, kernel: str) -> None:
    scheduled = session.edit(schedule={kernel: by_hand(session, kernel)})
    assert "lesson" in scheduled.tir[kernel].script()
    close(scheduled.run({"x": X})["y"], leaky(0.5))


def test_an_edit_above_a_schedule_keeps_both(session: wb.Session, kernel: str) -> None:
    both = with_alpha(session.edit(schedule={kernel: by_hand(session, kernel)}), 0.125)
    assert "lesson" in both.tir[kernel].script()
    close(both.run({"x": X})["y"], leaky(0.125))


def test_a_saved_session_is_the_same_session(session: wb.Session, kernel: str, tmp_path: Path) -> None:
    edited = with_alpha(session, 0.125)
    both = edited.edit(schedule={kernel: by_hand(edited, kernel)})
    both.save(str(tmp_path / "tiny.wb.json"))
    again = wb.open(str(tmp_path / "tiny.wb.json"))
    assert again.tir.script() == both.tir.script()
    assert np.array_equal(again.run({"x": X})["y"], both.run({"x": X})["y"])


def first_product(session: wb.Session, kernel: str) -> str:
    """The line of the loop program and the nodes of the file behind the kernel's first multiplication."""
    lines = session.codegen[kernel].source("asm").splitlines()
    number = next(number for number, line in enumerate(lines, 1) if "vfmadd" in line or "mulps" in line)
    place = session.provenance.line(kernel, number)
    return f"line {place.line}: {', '.join(item.name for item in place.onnx)}"


def test_an_instruction_leads_back_to_its_node(session: wb.Session, kernel: str) -> None:
    assert first_product(session, kernel).endswith(": MatMul#0 ('matmul')")


def test_the_numbers_of_every_step_are_checked(session: wb.Session) -> None:
    assert session.check_numerics({"x": X}).first_wrong is None


def test_a_library_is_exported_and_runs(session: wb.Session, tmp_path: Path) -> None:
    path = tmp_path / "tiny.so"
    session.build().export_library(str(path))
    module = graph_executor.GraphModule(wb.runtime.load_module(str(path))["default"](wb.cpu()))
    module.run(x=X)
    close(module.get_output(0).numpy(), leaky(0.5))


def test_the_classic_calls_build_the_same(session: wb.Session) -> None:
    module, params = relay.frontend.from_onnx(model(), {"x": (ROWS, INNER)})
    library = relay.build(module, target="llvm", params=params)
    executor = graph_executor.GraphModule(library["default"](wb.cpu()))
    executor.set_input("x", X)
    executor.run()
    assert np.array_equal(executor.get_output(0).numpy(), session.run({"x": X})["y"])
