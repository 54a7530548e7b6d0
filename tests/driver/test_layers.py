"""What a session says of its layers, before and after they are computed."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from tests.driver.programs import small_model, small_session
from workbench import relay, te, tir
from workbench.core.transform import module_pass
from workbench.driver.layers import TITLES, SessionLayer
from workbench.driver.measure import measure_kernel


def by_name(session: Any) -> dict[str, SessionLayer]:
    return {layer.name: layer for layer in session.layers}


def test_a_model_comes_through_all_layers() -> None:
    session = small_session()
    session.build()
    layers = by_name(session)
    assert tuple(layers) == tuple(TITLES)
    assert {layer.state for layer in layers.values()} == {"ran"}
    assert (layers["onnx"].count, layers["onnx"].unit) == (10, "nodes")
    assert layers["te"].count == len(session.kernels)
    assert layers["schedule"].count == sum(len(session.schedule(name).trace.steps) for name in session.kernels)
    functions = [line for line in session.relay.script().split("\n") if line.strip().startswith("def fused_")]
    assert layers["fused"].count == len(functions)


def test_every_step_is_in_one_layer_and_in_order() -> None:
    session = small_session()
    steps = [label for layer in session.layers if layer.name != "asm" for label in layer.steps]
    assert steps == list(session.labels)


def test_looking_runs_nothing() -> None:
    session = wb.open(small_model())
    layers = by_name(session)
    assert {layer.state for layer in layers.values()} == {"not run"} and len(session.history) == 0
    assert layers["fused"].count is None and layers["tir"].count == 9
    session.step("FuseOps")
    assert [layer.state for layer in session.layers] == ["ran"] * 3 + ["not run"] * 5


def test_native_code_that_was_looked_at_is_there_in_part() -> None:
    """Assembly was on the screen, and the summary said that it had not run."""
    session = wb.open(small_model())
    session.step(session.labels[-2])
    assert {by_name(session)[name].state for name in ("llvm", "asm")} == {"not run"}
    first, second = session.kernels[:2]
    session.provenance.text(first, "asm")
    for name in ("llvm", "asm"):
        found = by_name(session)[name]
        assert (found.state, found.count, found.unit) == ("in part", 1, "kernels")
    measure_kernel(session, second)
    assert by_name(session)["asm"].count == 2
    session.step("Codegen")
    assert {by_name(session)[name].state for name in ("llvm", "asm")} == {"ran"}


def test_a_program_that_was_changed_has_none_of_it() -> None:
    session = small_session()
    session.provenance.text(session.kernels[0], "asm")
    changed = session.rerun(disabled_pass=["FoldConstant"])
    changed.step(changed.labels[-2])
    assert by_name(changed)["asm"].state == "not run"


def test_a_graph_without_a_file_begins_with_relay() -> None:
    x = relay.var("x", shape=(2, 3))
    assert by_name(wb.open(relay.Function([x], relay.nn.relu(x))))["relay"].steps[0] == "Import"


@pytest.mark.parametrize("scheduled", [False, True])
def test_a_loop_program_begins_with_tensor_expressions(scheduled: bool) -> None:
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[i, j] * 2.0, name="B")
    schedule = tir.Schedule(te.create_prim_func([a, b]))
    if scheduled:
        schedule.vectorize(schedule.get_loops(schedule.get_block("B"))[1])
    session = wb.open(schedule)
    session.build()
    layers = by_name(session)
    assert tuple(layers) == tuple(TITLES)[3:]
    assert layers["schedule"].count == len(schedule.trace.steps)
    assert layers["schedule"].state == ("changed" if scheduled else "ran")


def _of_ones_own() -> Any:
    @module_pass(opt_level=0, name="Unchanged")
    def unchanged(module: Any, context: Any) -> Any:
        return module

    return unchanged


@pytest.mark.parametrize(
    ("change", "layer"),
    [
        (lambda s: s.rerun(disabled_pass=["FoldScaleAxis"]), "relay"),
        (lambda s: s.rerun(insert={"FoldScaleAxis": _of_ones_own()}), "relay"),
        (lambda s: s.rerun(disabled_pass=["FuseOps"]), "relay"),
        (lambda s: s.rerun(disabled_pass=["UnrollLoop"]), "tir"),
        (lambda s: s["Import"].edit(s["Import"].script().replace("v10, axis=1", "v10, axis=0")), "relay"),
        (lambda s: s.edit(schedule={s.kernels[0]: s.schedule(s.kernels[0], default=False)}), "schedule"),
    ],
    ids=["pass left out", "own pass", "no fusion", "loop pass left out", "edited graph", "schedule by hand"],
)
def test_what_was_changed_by_hand_is_marked(change: Any, layer: str) -> None:
    session = change(small_session())
    session.step(session.layers[-1].steps[-1])
    assert [found.name for found in session.layers if found.by_hand] == [layer]
    assert by_name(session)[layer].state == "changed"


def test_a_step_that_stopped_is_named_and_what_comes_after_it_has_not_run() -> None:
    def stops(module: Any, context: Any) -> Any:
        raise wb.WorkbenchError("E-TEST", "it stops here")

    session = small_session().rerun(insert={"FoldScaleAxis": module_pass(stops, opt_level=0, name="Stops")})
    session.step("Codegen")
    layers = by_name(session)
    assert layers["relay"].failed == "Stops" and layers["relay"].state == "failed"
    assert [layers[name].state for name in ("onnx", "fused", "te", "asm")] == ["ran", *["not run"] * 3]
    text = session._repr_mimebundle_()["text/plain"]
    assert "✗ Relay" in text and "failed at Stops" in text
