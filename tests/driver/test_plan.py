"""The plan of a session: data, captured once, the same for a session, a saved file and a build without a history."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import small_model
from tests.nightly import some
from workbench import WorkbenchError, relay, te
from workbench.core.equal import same
from workbench.core.instrument import PassTimingInstrument
from workbench.core.transform import PassContext, PassInstrument, function_pass
from workbench.driver.build import run
from workbench.driver.plan import options_of, options_text
from workbench.driver.settings import PassSettings, PassWarning
from workbench.frontend.onnx import from_onnx
from workbench.target import Target
from workbench.tir.script import parse


def scaled_relu(alpha: float = 0.125) -> Any:
    """leaky_relu(2 x), with something for every level to do."""
    x = relay.var("x", shape=(4, 8))
    return relay.Function([x], relay.nn.leaky_relu(relay.add(relay.multiply(x, relay.const(1.5)), x), alpha))


class Skips(PassInstrument):
    """Decides that a pass does not run."""

    def __init__(self, name: str) -> None:
        self.name = name

    def should_run(self, mod: Any, info: Any) -> bool:
        return info.name != self.name


CONTEXTS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "none": PassContext,
    "level 0": lambda: PassContext(opt_level=0),
    "level 1": lambda: PassContext(opt_level=1),
    "level 2": lambda: PassContext(opt_level=2),
    "level 3": lambda: PassContext(opt_level=3),
    "without FuseOps": lambda: PassContext(opt_level=3, disabled_pass=["FuseOps"]),
    "without FoldConstant and PackWeights": lambda: PassContext(disabled_pass=["FoldConstant", "PackWeights"]),
    "level 4": lambda: PassContext(opt_level=4),
    "FastMath and CanonicalizeOps required": lambda: PassContext(required_pass=["FastMath", "CanonicalizeOps"]),
    "BoundCheck required": lambda: PassContext(required_pass=["BoundCheck"]),
    "level 1, PackWeights required": lambda: PassContext(opt_level=1, required_pass=["PackWeights", "FoldConstant"]),
    "two operators a kernel": lambda: PassContext(config={"relay.FuseOps.max_depth": 2}),
    "checked, unrolled": lambda: PassContext(
        config={"tir.instrument_bound_checkers": True, "tir.UnrollLoop": {"auto_max_step": 8}}
    ),
    "timed": lambda: PassContext(instruments=[PassTimingInstrument()]),
    "an instrument skips FoldScaleAxis": lambda: PassContext(instruments=[Skips("FoldScaleAxis")]),
    "another target": lambda: Target("llvm -mcpu=x86-64"),
}


@pytest.mark.parametrize("name", some(CONTEXTS, 2))
def test_a_session_and_relay_build_have_the_same_kernels(name: str) -> None:
    module, params = from_onnx(small_model())
    with CONTEXTS[name]():
        built = relay.build(module, params=params)
        opened = wb.open(small_model())
    # Outside of the context: what it said was heard when the session was opened.
    compiled = opened.build()
    assert [call.kernel for call in built.calls] == [call.kernel for call in compiled.calls]
    for form in ("tir", "ll"):
        for function in (*opened.kernels, "main"):
            assert compiled.module.get_source(form, function) == built.module.get_source(form, function), function
    assert compiled.module.get_source("ll") == built.module.get_source("ll")


def test_contexts_make_a_difference() -> None:
    opened = {}
    for name, context in CONTEXTS.items():
        with context():
            opened[name] = wb.open(small_model())
    labels = {name: session.labels for name, session in opened.items()}
    assert labels["none"] == labels["level 3"] == labels["timed"]
    assert "FoldScaleAxis" not in labels["level 2"] and "FoldConstant" in labels["level 2"]
    assert "FastMath" in labels["level 4"] and "CombineParallelDense" in labels["level 4"]
    assert "FastMath" not in labels["none"] and "CanonicalizeOps" not in labels["level 4"]
    assert {"FastMath", "CanonicalizeOps"} < set(labels["FastMath and CanonicalizeOps required"])
    assert "BoundCheck" in labels["BoundCheck required"] and "BoundCheck" not in labels["level 4"]
    assert "FoldConstant" not in labels["level 1"] and "PackWeights" in labels["level 1, PackWeights required"]
    assert "FuseOps" not in labels["without FuseOps"] and "BoundCheck" in labels["checked, unrolled"]
    assert len(opened["two operators a kernel"].kernels) > len(opened["none"].kernels)
    assert len(opened["level 0"].kernels) > len(opened["without FuseOps"].kernels) > len(opened["none"].kernels)
    assert str(opened["another target"].target) == str(Target("llvm -mcpu=x86-64"))
    skipped = opened["an instrument skips FoldScaleAxis"]
    assert not skipped["FoldScaleAxis"].changed and opened["none"]["FoldScaleAxis"].changed


def test_a_required_pass_that_the_pipeline_has_no_place_for_is_said() -> None:
    with PassContext(required_pass=["LambdaLift"]), pytest.warns(PassWarning, match="no place for LambdaLift"):
        opened = wb.open(scaled_relu())
    assert "LambdaLift" not in opened.labels


def test_loops_are_checked_where_a_check_is_required() -> None:
    a = te.placeholder((4,), name="A")
    func = te.create_prim_func([a, te.compute((4,), lambda i: a[te.cast("int64", a[i]) + 9], name="B")])
    assert "report" not in wb.lower(func).script()
    with PassContext(required_pass=["BoundCheck"]):
        assert "report" in wb.lower(func).script()
        with pytest.raises(wb.WorkbenchError, match="E-RUN-BOUNDS"):
            wb.build(func)["main"](np.zeros(4, "float32"), np.zeros(4, "float32"))


def test_a_context_around_a_command_changes_nothing() -> None:
    session = wb.open(scaled_relu())
    expected = session["Lower"].script()
    with PassContext(opt_level=0, disabled_pass=["FuseOps"]), Target("llvm -mcpu=x86-64"):
        again = wb.open(scaled_relu())
        edited = session.edit(relay=session.relay.script().replace("alpha=0.125", "alpha=0.25"))
        with pytest.warns(PassWarning, match="is not heard"):
            edited.build()
    assert edited["Lower"].script().replace("0.25", "0.125") == expected
    assert again.plan.settings == PassSettings(0, (), ("FuseOps",))


def test_an_executor_is_built_under_the_context_in_which_it_was_made() -> None:
    seen: list[str] = []

    class Watch(PassInstrument):
        def run_before_pass(self, mod: Any, info: Any) -> None:
            seen.append(info.name)

    module = wb.IRModule.from_expr(scaled_relu())
    with PassContext(opt_level=3, disabled_pass=["FuseOps"]):
        evaluate = relay.create_executor("graph", module).evaluate()
    x = np.ones((4, 8), np.float32)
    with PassContext(instruments=[Watch()]):
        found = evaluate(x).numpy()
    np.testing.assert_allclose(found, x * 2.5)
    assert "SimplifyExpr" in seen and "FuseOps" not in seen


def test_a_plan_is_data(tmp_path: Path) -> None:
    with PassContext(config={"relay.FuseOps.max_depth": 2}, disabled_pass=["SimplifyExpr"]):
        session = wb.open(scaled_relu())
    kernel = session.kernels[0]
    schedule = session.schedule(kernel)
    schedule.annotate(schedule.get_loops(schedule.get_block(blocks(schedule)[0]))[0], "note", 1)
    session = session.edit(schedule={kernel: schedule}).edit(relay=session.relay.script().replace("0.125", "0.25"))
    assert {session.plan: 1}[session.rerun().plan] and session.plan != session.without("Edit").plan
    json.dumps([row.to_json() for row in session.plan.rows])
    session.save(str(tmp_path / "s.wb.json"))
    back = wb.open(str(tmp_path / "s.wb.json"))
    assert (back.plan.rows, back.plan.settings, back.target) == (
        session.plan.rows, session.plan.settings, session.target,
    )  # fmt: skip
    stage = run(session.plan, session.step(0).stage.module)
    for name, function in session.codegen.module.items():
        assert same(stage.module[name], function) and same(back.codegen.module[name], function), name


def blocks(schedule: Any) -> list[str]:
    from workbench.core.node import pre_order
    from workbench.tir.nodes import Block

    return [node.name for node in pre_order(schedule.func) if isinstance(node, Block) and node.name != "root"]


def test_a_session_that_an_instrument_decides_is_not_saved(tmp_path: Path) -> None:
    with PassContext(instruments=[Skips("FoldConstant")]):
        session = wb.open(scaled_relu())
    assert not session["FoldConstant"].changed
    with pytest.raises(WorkbenchError) as caught:
        session.save(str(tmp_path / "s.wb.json"))
    assert caught.value.code == "E-SAVE-INSTRUMENT" and "Skips" in caught.value.found


def test_options_that_are_no_data_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError) as caught, PassContext(config={"tir.add_lower_pass": [(1, print)]}):
        wb.open(scaled_relu())
    assert caught.value.code == "E-PLAN-CONFIG"
    a = te.placeholder((4,), name="A")
    with pytest.raises(WorkbenchError, match="rerun"), PassContext(config={"tir.add_lower_pass": [(1, "Simplify")]}):
        wb.build([a, te.compute((4,), lambda i: a[i] + 1.0, name="B")])
    fskip = relay.transform.EliminateCommonSubexpr(fskip=lambda expr: False)
    session = wb.open(scaled_relu(), passes=["InferType", fskip, "FuseOps"])
    assert session.kernels
    with pytest.raises(WorkbenchError) as caught:
        session.save(str(tmp_path / "s.wb.json"))
    assert caught.value.code == "E-SAVE-OPTION"


def test_another_target_makes_other_steps_where_a_pass_asks_for_it() -> None:
    x = relay.var("x", shape=(2, 64))
    weights = relay.const(np.ones((64, 64), np.float32))
    function = relay.Function([x], relay.nn.dense(x, weights))
    session = wb.open(function, target="llvm -mcpu=skylake-avx512")
    session.build()
    narrow = session.rerun(target="llvm -mcpu=x86-64")
    assert narrow.relay.script() == wb.open(function, target="llvm -mcpu=x86-64").relay.script()


def test_a_loop_program_has_no_graph_passes() -> None:
    from workbench import te

    a = te.placeholder((8,), name="A")
    tensors = [a, te.compute((8,), lambda i: a[i] * 2.0, name="B")]
    for command in (lambda: wb.open(tensors, passes=["FuseOps"]), lambda: wb.open(tensors).rerun(passes=["FuseOps"])):
        with pytest.raises(WorkbenchError) as caught:
            command()
        assert caught.value.code == "E-PASS-PLACE"


OPTIONS = [
    [1, 2], (1, 2), (1, (2, [3])), {"a": (1,)}, {1: "a"}, {"1": "a"}, {(1, 2): 3}, {"\x00tuple": [1]}, True, 1, 1.0,
    "1", None, "\x00object", {}, [], (),
]  # fmt: skip


def test_other_options_are_other_texts_and_come_back_from_them() -> None:
    texts = [options_text({"option": option}) for option in OPTIONS]
    assert len(set(texts)) == len(texts)
    for option, text in zip(OPTIONS, texts, strict=True):
        (found,) = options_of(json.loads(text)).values()
        assert found == option and type(found) is type(option), (option, text)
        assert options_text({"option": found}) == text


@pytest.mark.parametrize("name", ["Simplify", "Mine"])
def test_a_users_pass_does_not_stand_for_the_pipelines_of_its_name(name: str) -> None:
    @function_pass(name=name)
    def own(func: Any, mod: Any, ctx: Any) -> Any:
        return func

    text = """
    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * T.float32(2)
    """
    session = wb.open(wb.IRModule({"main": parse(text)}), target="llvm").rerun(insert={"Import": own})
    assert session.labels[:3] == ("Import", name, "LowerBlocks")
    assert session.plan.loop_step() == 1 == session.plan.schedule_row()[0] - 1


def test_a_context_that_a_command_does_not_hear_is_told(tmp_path: Path) -> None:
    with PassContext(opt_level=2):
        session = wb.open(scaled_relu())
    session.save(str(tmp_path / "s.wb.json"))
    with PassContext(opt_level=2), warnings.catch_warnings():
        warnings.simplefilter("error")
        session.rerun(disabled_pass=["FuseOps"])
    with PassContext(config={"tir.instrument_bound_checkers": True}):
        with pytest.warns(PassWarning, match="rerun keeps the settings"):
            session.rerun(disabled_pass=["FuseOps"])
        for way in (session.build, lambda: session.run({"x": np.ones((4, 8), np.float32)})):
            with pytest.warns(PassWarning, match="native code keeps the settings") as told:
                way()
            assert {one.filename for one in told} == {__file__}, "it stands at the line that called"
        with pytest.warns(PassWarning, match="a saved session keeps the settings"):
            wb.open(str(tmp_path / "s.wb.json"))
