"""Sessions: steps by name, commands that give other sessions, edits in every form."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import onnxruntime_outputs, small_inputs, small_model, small_session
from workbench import WorkbenchError, relay, te
from workbench.core.equal import same
from workbench.core.module import IRModule
from workbench.core.node import pre_order, rewrite
from workbench.core.transform import PASSES, function_pass, module_pass
from workbench.driver.text import parse
from workbench.relay.ir import expr as r
from workbench.tir.nodes import Block, ForKind


@pytest.fixture
def own_passes() -> Any:
    """Passes that a test registers are taken out again."""
    known = set(PASSES)
    yield
    for name in set(PASSES) - known:
        PASSES.remove(name)


def outputs(session: Any) -> np.ndarray:
    return session.run(small_inputs())["y"]


# --- looking ---


def test_it_computes_what_onnxruntime_computes() -> None:
    (expected,) = onnxruntime_outputs(small_model(), small_inputs())
    np.testing.assert_allclose(outputs(small_session()), expected, rtol=1e-4, atol=1e-5)


def test_steps_are_found_by_name_label_and_position() -> None:
    session = small_session()
    assert session["FuseOps"].name == "FuseOps"
    assert session[0].name == "Import" and session[-1].name == "Codegen"
    assert session["FoldConstant#2"].index == session.labels.index("FoldConstant#2")
    assert [step.name for step in session.steps] == list(session.labels) and len(session) == len(session.labels)


@pytest.mark.parametrize(
    ("which", "hint"), [("FoldConstants", "FoldConstant"), ("Fuse", "FuseOps"), (99, ""), (-99, "")]
)
def test_an_unknown_step_is_refused(which: Any, hint: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        small_session()[which]
    assert caught.value.code == "E-STEP-UNKNOWN" and hint in caught.value.fix


def test_a_difference_shows_the_lines_that_a_step_changed() -> None:
    session = small_session()
    difference = session["FuseOps"].diff()
    assert difference and "+         " in str(difference) and "Primitive" in str(difference)
    assert str(difference).startswith("FuseOps: ")
    assert not session["InferType"].diff() and str(session["InferType"].diff()) == ""


def test_stages_are_programs_by_function() -> None:
    session = small_session()
    assert "main" in session.relay and session.relay["main"].script().startswith("@R.function")
    assert set(session.kernels) == set(session.tir) - {"main"}
    kernel = session.kernels[0]
    assert "@T.prim_func" in session.tir[kernel].script()
    assert "define" in session.codegen[kernel].source("ll") and session.codegen[kernel].source("asm")
    with pytest.raises(WorkbenchError) as caught:
        session.tir[kernel].source("asm")
    assert caught.value.code == "E-VIEW-NATIVE"
    with pytest.raises(WorkbenchError) as caught:
        session.tir["fused"]
    assert caught.value.code == "E-MODULE-FUNCTION"


def test_everything_has_plain_text_and_html() -> None:
    session = small_session()
    kernel = session.kernels[0]
    for thing in (session, session["FuseOps"], session.relay, session.tir[kernel], session["FuseOps"].diff()):
        bundle = thing._repr_mimebundle_()
        assert bundle["text/plain"] and bundle["text/html"], f"{thing!r} shows nothing"


# --- commands ---


def test_sessions_are_values() -> None:
    session = small_session()
    before = (session.plan, session["FuseOps"].script(), outputs(session))
    session.rerun(disabled_pass=["FoldScaleAxis"])
    session.edit(relay=session.relay.script())
    schedule = session.schedule(session.kernels[0])
    schedule.unroll(_serial_loop(schedule))
    assert session.plan == before[0] and session["FuseOps"].script() == before[1]
    np.testing.assert_array_equal(outputs(session), before[2])


def _serial_loop(schedule: Any) -> Any:
    """Some serial loop of more than one iteration; None where there is none."""
    for node in pre_order(schedule.func):
        if isinstance(node, Block) and node.name != "root":
            for loop in schedule.get_loops(schedule.get_block(node.name)):
                found = schedule.get(loop)
                if found.kind is ForKind.SERIAL and found.extent.value > 1:
                    return loop
    return None


def test_a_cell_run_twice_gives_equal_results() -> None:
    def cell() -> Any:
        session = wb.open(small_model())
        changed = session.edit(relay=session.relay.script().replace("R.nn.relu", "R.tanh"))
        return changed.labels, changed.relay.script(), outputs(changed), session["Lower"].script()

    first, second = cell(), cell()
    assert first[0] == second[0] and first[1] == second[1] and first[3] == second[3]
    np.testing.assert_array_equal(first[2], second[2])


def test_a_pass_is_left_out() -> None:
    session = small_session()
    without = session.rerun(disabled_pass=["FoldConstant", "FoldScaleAxis", "UnrollLoop", "Simplify"])
    assert not {"FoldConstant", "FoldConstant#2", "FoldScaleAxis", "UnrollLoop", "Simplify"} & set(without.labels)
    np.testing.assert_allclose(outputs(without), outputs(session), rtol=1e-4, atol=1e-5)


def test_leaving_out_a_pass_that_native_code_needs_is_a_step_with_a_reason() -> None:
    without = small_session().rerun(disabled_pass=["LowerBlocks"])
    error = without["Codegen"].error
    assert error is not None and error.code == "E-TIR-VERIFY" and error.fix, f"{error}"


def test_without_fusion_every_operator_is_a_kernel() -> None:
    session = small_session()
    without = session.rerun(disabled_pass=["FuseOps"])
    assert len(without.kernels) > len(session.kernels)
    np.testing.assert_allclose(outputs(without), outputs(session), rtol=1e-4, atol=1e-5)


def test_other_passes_and_another_target() -> None:
    session = small_session()
    short = session.rerun(passes=["SimplifyInference", "FuseOps"])
    assert short.labels[:4] == ("Import", "SimplifyInference", "FuseOps", "Lower")
    np.testing.assert_allclose(outputs(short), outputs(session), rtol=1e-4, atol=1e-5)
    plain = session.rerun(target="llvm -mcpu=x86-64")
    assert str(plain.target) != str(session.target)
    assert plain.step(3) is session.step(3) or plain.step(3).id != "", "another target is another plan"


def test_a_pass_of_ones_own_is_edited_and_run_again(own_passes: Any) -> None:
    def cell(number: float) -> Any:
        @function_pass(opt_level=0, name="AddNumber")
        def AddNumber(func: Any, mod: Any, ctx: Any) -> Any:
            """Adds a number to the result."""
            body = relay.op.add(func.body, relay.const(number))
            return relay.Function(func.params, body, body.checked_type)

        return AddNumber

    session = small_session()
    names = [action.name for action in session.actions if action.kind == "pass" and action.level == "relay"]
    for number in (1.0, 2.0, 1.0):
        changed = session.rerun(passes=[cell(number), *names])
        assert changed.labels[1] == "AddNumber" and changed["AddNumber"].changed
        np.testing.assert_allclose(outputs(changed), outputs(session) + number, rtol=1e-4, atol=1e-5)


def test_an_edit_of_a_called_name_is_another_step(own_passes: Any) -> None:
    @module_pass(opt_level=0, name="Mine")
    def first(mod: Any, ctx: Any) -> Any:
        return mod.with_functions({"main": _result(mod, relay.op.exp)})

    session = small_session()
    one = session.rerun(passes=[first, "FuseOps"])

    @module_pass(opt_level=0, name="Mine")
    def first(mod: Any, ctx: Any) -> Any:
        return mod.with_functions({"main": _result(mod, relay.op.tanh)})

    other = session.rerun(passes=[first, "FuseOps"])
    assert one.actions[1].key != other.actions[1].key, "an edited pass was taken for the old one"
    assert "tanh" in other["Mine"].script() and "tanh" not in one["Mine"].script()


def _result(mod: Any, make: Any) -> Any:
    function = mod["main"]
    body = make(function.body)
    return relay.Function(function.params, body, body.checked_type)


def test_unknown_passes_are_refused() -> None:
    session = small_session()
    for command in (
        lambda: session.rerun(disabled_pass=["FuseOp"]),
        lambda: session.rerun(passes=["FuseOp"]),
        lambda: session.rerun(replace={"Lower": "FuseOps"}),
    ):
        with pytest.raises(WorkbenchError) as caught:
            command()
        assert caught.value.code == "E-PASS-UNKNOWN"
    with pytest.raises(WorkbenchError) as caught:
        session.rerun(replace={"FuseOp": "FuseOps"})
    assert caught.value.code == "E-STEP-UNKNOWN"


# --- edits ---


def tanh_of(function: Any) -> Any:
    """The function with tanh for relu."""

    def post(node: Any) -> Any:
        if isinstance(node, r.Call) and getattr(node.op, "name", "") == "nn.relu":
            return relay.op.tanh(node.args[0])
        return None

    return rewrite(function, post)


@pytest.mark.parametrize("form", ["script", "module", "functions", "texts"])
def test_relay_is_edited_as_text_module_and_functions(form: str) -> None:
    session = small_session()
    at = "EliminateCommonSubexpr"
    module = session[at].after
    text = session[at].script().replace("R.nn.relu", "R.tanh")
    changed_main = tanh_of(module["main"])
    change: Any = {
        "script": text,
        "module": IRModule({"main": changed_main}),
        "functions": {"main": changed_main},
        "texts": {"main": session[at].program["main"].script().replace("R.nn.relu", "R.tanh")},
    }[form]
    edited = session.edit(relay=change, at=at)
    assert edited.labels[session.labels.index(at) + 1] == "Edit"
    assert "tanh" in edited.relay.script() and "relu" not in edited.relay.script()
    assert np.abs(outputs(edited) - outputs(session)).max() > 1e-4
    assert edited.check_numerics(small_inputs()).first_wrong == "Edit", "an edit that changes the numbers is named"


def test_an_edit_that_changes_nothing_computes_the_same() -> None:
    session = small_session()
    edited = session.edit(relay=session.relay.script())
    assert not edited["Edit"].changed
    assert same(edited["Lower"].after["main"], session["Lower"].after["main"])


def test_tir_is_edited_as_text() -> None:
    session = small_session()
    kernel = next(name for name in session.kernels if "relu" in name)
    text = session.tir[kernel].script()
    assert "T.max(" in text, f"the relu of {kernel} is a maximum:\n{text}"
    edited = session.edit(tir={kernel: text.replace("T.float32(0.0))", "T.float32(0.25))")})
    assert "0.25" in edited.tir[kernel].script()
    assert np.abs(outputs(edited) - outputs(session)).max() > 1e-5
    assert edited.check_numerics(small_inputs()).first_wrong == "Edit"


def test_te_replaces_a_kernel_before_it_is_scheduled() -> None:
    session = small_session()
    (name,) = [kernel for kernel in session.kernels if "pool" in kernel]
    data = te.placeholder((1, 5, 7, 7), name="data")
    i, j = te.reduce_axis((0, 7), "i"), te.reduce_axis((0, 7), "j")
    largest = te.compute((1, 5, 1, 1), lambda n, c, y, x: te.max(data[n, c, i, j], axis=[i, j]), name="largest")
    edited = session.edit(te={name: [data, largest]})
    assert edited.labels[edited.labels.index("Lower") + 1] == "Edit"
    assert np.abs(outputs(edited) - outputs(session)).max() > 1e-3


def test_a_schedule_is_changed_and_handed_back() -> None:
    session = small_session()
    kernel = next(name for name in session.kernels if _serial_loop(session.schedule(name)) is not None)
    schedule = session.schedule(kernel)
    schedule.split(_serial_loop(schedule), factors=[None, 2])
    edited = session.edit(schedule={kernel: schedule})
    assert edited.tir[kernel].script() != session.tir[kernel].script()
    np.testing.assert_allclose(outputs(edited), outputs(session), rtol=1e-4, atol=1e-5)
    again = edited.edit(schedule={kernel: schedule})
    assert again.plan == edited.plan


def test_an_edited_kernel_keeps_its_parameters() -> None:
    a = te.placeholder((1, 5, 7, 6), name="a")
    edited = small_session().edit(
        te={"fused_nn_global_avg_pool2d": [a, te.compute((1, 5, 1, 1), lambda n, c, y, x: a[n, c, y, x])]}
    )
    error = edited["Edit"].error
    assert error is not None and error.code == "E-EDIT-SIGNATURE"
    assert "float32[1, 5, 7, 6]" in error.found and "float32[1, 5, 7, 7]" in error.expected


def test_a_program_that_a_stopped_step_should_have_made_is_not_shown(own_passes: Any) -> None:
    """What stood before that step has its text; shown as the session's it would be another program."""

    @module_pass(name="Broken")
    def Broken(mod: Any, ctx: Any) -> Any:
        raise WorkbenchError("E-BROKEN", "as planned")

    graph = small_session().rerun(insert={"FuseOps": Broken})
    loops = small_session().rerun(insert={"Schedule": Broken})
    looks = (lambda: graph.relay, lambda: graph.tir, lambda: graph.codegen, lambda: loops.tir, lambda: loops.codegen)
    for look in looks:
        with pytest.raises(WorkbenchError, match="E-BROKEN") as caught:
            look()
        assert caught.value.where == "pass Broken"
    assert loops.relay.script() == small_session().relay.script()
    assert graph["Broken"].script() == graph["FuseOps"].script()


def test_a_pass_is_left_out_twice_as_once() -> None:
    session = small_session()
    once = session.rerun(disabled_pass=["FuseOps", "PartitionGraph"])
    assert "FuseOps" not in once.labels and once.rerun(disabled_pass=["FuseOps"]).plan == once.plan


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"relay": 3}, "E-EDIT-KIND"),
        ({"relay": "@R.function\ndef main(x"}, "E-"),
        ({"tir": {"main": "for"}}, "E-"),
        ({"schedule": {"conv": None}}, "E-EDIT-KIND"),
        ({"relay": "x", "at": "Nowhere"}, "E-STEP-UNKNOWN"),
    ],
)
def test_unfit_edits_are_refused(change: dict[str, Any], code: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        small_session().edit(**change)
    assert caught.value.code.startswith(code), f"{caught.value}"


def members(text: str) -> list[str]:
    """The texts of a module's functions, the head of the class first."""
    parts = text.split("    @T.prim_func")
    return [parts[0], *("    @T.prim_func" + part for part in parts[1:])]


def test_an_edit_that_adds_a_function_is_refused_at_once() -> None:
    session = small_session()
    kernel = session.kernels[0]
    head, *functions = members(session.tir.script())
    helper = functions[-1].replace(f"def {session.tir.module.names()[-1]}(", "def helper(")
    text = "".join([head, *functions, "\n" + helper])
    line = text[: text.index("def helper(")].count("\n")
    for change, where in (
        ({"fused_nothing": session.tir[kernel].function}, "function fused_nothing"),
        ({"helper": session.tir[kernel].script()}, "line 1"),
        (text, f"line {line}"),
        (wb.IRModule({**session.tir.module.functions, "helper": session.tir[kernel].function}), "function helper"),
    ):
        with pytest.raises(WorkbenchError) as caught:
            session.edit(tir=change)
        assert caught.value.code == "E-EDIT-FUNCTION" and caught.value.where == where and caught.value.kept
    with pytest.raises(WorkbenchError, match="E-EDIT-FUNCTION"):
        session.edit(te={"nowhere": session["Lower"].after[kernel]})
    with pytest.raises(WorkbenchError, match="E-EDIT-FUNCTION"):
        session.edit(relay={"helper": session.relay.module["main"]})


def test_an_edit_that_removes_a_function_is_refused_at_once() -> None:
    session = small_session()
    head, *functions = members(session.tir.script())
    gone = session.tir.module.names()[-1]
    rest = {name: function for name, function in session.tir.module.functions.items() if name != gone}
    for change in ("".join([head, *functions[:-1]]), wb.IRModule(rest)):
        with pytest.raises(WorkbenchError) as caught:
            session.edit(tir=change)
        assert caught.value.code == "E-EDIT-FUNCTION" and gone in caught.value.message and gone in caught.value.where
    kept = session.edit(tir=rest)
    assert not kept["Edit"].changed, "functions by name are those that change; the others stay"


def test_an_edit_that_changes_types_is_refused_at_once() -> None:
    text = """@I.ir_module
class Module:
    @R.type
    class Colour:
        R.constructor("Red")
        R.constructor("Blue")

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        v0 = R.nn.relu(x)
        return v0
"""
    session = wb.open(parse(text))
    script = session["Import"].script()
    assert "Blue" in script
    for change in (script.replace("Blue", "Green"), wb.IRModule.from_expr(session["Import"].after["main"])):
        with pytest.raises(WorkbenchError) as caught:
            session.edit(relay=change, at="Import")
        assert caught.value.code == "E-EDIT-TYPES" and "Colour" in caught.value.where


def test_an_unknown_kernel_has_no_schedule() -> None:
    with pytest.raises(WorkbenchError) as caught:
        small_session().schedule("fused_conv")
    assert caught.value.code == "E-KERNEL-UNKNOWN" and "did you mean" in caught.value.fix


# --- running ---


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({}, "E-RUN-INPUT"),
        ({"x": np.zeros((1, 3, 7, 8), np.float32)}, "E-"),
        ({"x": np.zeros((1, 3, 7, 7), "datetime64[s]")}, "E-"),
        ({"x": small_inputs()["x"], "z": np.zeros(1)}, "E-RUN-INPUT"),
    ],
)
def test_unfit_inputs_are_refused(inputs: dict[str, Any], code: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        small_session().run(inputs)
    assert caught.value.code.startswith(code)


# --- programs other than models ---


def test_a_prim_func_and_te_tensors_open_as_sessions() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] * 2.0, name="B")
    x = np.arange(8, dtype=np.float32)
    for opened in ([a, b], te.create_prim_func([a, b], name="twice")):
        session = wb.open(opened)
        assert session.labels[0] == "Import" and "FuseOps" not in session.labels
        np.testing.assert_array_equal(session.run({"A": x})["B"], 2 * x)
        assert session.check_numerics({"A": x}), f"{session.check_numerics({'A': x})}"
        with pytest.raises(WorkbenchError) as caught:
            session.relay  # noqa: B018
        assert caught.value.code == "E-SESSION-LEVEL"


def _scaled(factor: float) -> list[Any]:
    """te tensors: A, then exp(A) * factor."""
    a = te.placeholder((8, 16), name="A")
    b = te.compute((8, 16), lambda i, j: te.exp(a[i, j]), name="B")
    return [a, te.compute((8, 16), lambda i, j: b[i, j] * factor, name="C")]


@pytest.mark.parametrize("name", ["main", "twice"])
def test_te_tensors_are_scheduled_and_edited_like_kernels(name: str, tmp_path: Path) -> None:
    opened = _scaled(2.0) if name == "main" else te.create_prim_func(_scaled(2.0), name=name)
    session = wb.open(opened)
    x = {"A": np.linspace(-1, 1, 128, dtype=np.float32).reshape(8, 16)}
    assert session.kernels == (name,) and "Schedule" not in session.labels
    schedule = session.schedule(name)
    assert not schedule.trace.steps
    schedule.compute_inline(schedule.get_block("B"))
    schedule.vectorize(schedule.get_loops(schedule.get_block("C"))[1])
    scheduled = session.edit(schedule={name: schedule})
    assert scheduled.labels[:2] == ("Import", "Schedule") and "T.vectorized(16)" in scheduled.tir[name].script()
    assert len(scheduled.schedule(name).trace.steps) == len(schedule.trace.steps)
    edited = scheduled.edit(tir={name: scheduled.tir[name].script().replace("2.0", "4.0")})
    other = scheduled.edit(te={name: _scaled(3.0)})
    assert other.labels[:3] == ("Import", "Edit", "Schedule") and "T.vectorized(16)" in other.tir[name].script()
    edited.save(str(tmp_path / "s.wb.json"))
    for made, factor in ((edited, 4.0), (wb.open(str(tmp_path / "s.wb.json")), 4.0), (other, 3.0)):
        np.testing.assert_allclose(made.run(x)["C"], np.exp(x["A"]) * factor, rtol=1e-5)
    assert "sch = s.schedule" in edited.to_python()
    assert edited.check_numerics(x).first_wrong == "Edit"
    assert scheduled.check_numerics(x), f"{scheduled.check_numerics(x)}"
    compared = wb.compare(session, edited, x, repeat=1)
    assert compared.kernels == (1, 1) and compared.differing_kernels == (name,)


def test_a_relay_function_opens_with_parameters() -> None:
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    function = relay.Function([x, w], relay.nn.dense(x, w))
    weights = np.arange(12, dtype=np.float32).reshape(4, 3)
    session = wb.open(function, params={"w": weights})
    data = np.ones((2, 3), np.float32)
    (found,) = session.run({"x": data}).values()
    np.testing.assert_allclose(found, data @ weights.T)


def test_comparing_two_sessions() -> None:
    session = small_session()
    compared = wb.compare(session, session.rerun(disabled_pass=["FuseOps"]), inputs=small_inputs(), repeat=1)
    assert compared.kernels[0] < compared.kernels[1]
    assert compared.greatest_difference < 1e-5 and "FuseOps" in compared.differing_steps
    assert min(compared.milliseconds) > 0 and "kernels" in str(compared)


@pytest.mark.parametrize(("one", "other", "gap"), [
    ([1.0, np.nan], [1.0, np.nan], 0.0), ([np.inf, -np.inf], [np.inf, -np.inf], 0.0), ([1.0, 2.0], [1.5, 2.0], 0.5),
    ([1.0, 2.0], [np.nan, 2.0], np.inf), ([np.inf], [-np.inf], np.inf), ([], [], 0.0),
])  # fmt: skip
def test_what_is_no_number_differs_from_one(one: list[float], other: list[float], gap: float) -> None:
    def constant(values: list[float]) -> Any:
        return wb.open(relay.Function([], relay.add(relay.const(np.float32(values)), relay.const(np.float32(0)))))

    compared = wb.compare(constant(one), constant(other), {}, repeat=1)
    assert compared.greatest_difference == gap and f"an output: {gap:.3g}" in str(compared)


def test_threads_may_use_one_session_and_one_context() -> None:
    """The target and the settings that a session enters are no thread's own."""
    from concurrent.futures import ThreadPoolExecutor

    session = wb.open(small_model(), target="llvm -mcpu=x86-64")
    inputs = small_inputs()
    expected = wb.open(small_model(), target="llvm -mcpu=x86-64").run(inputs)

    def work(_: int) -> tuple[Any, Any]:
        found = session.rerun(disabled_pass=["FuseOps"]).run(inputs), session.run(inputs)
        return found, wb.Target.current()

    with ThreadPoolExecutor(4) as pool:
        for (unfused, found), target in pool.map(work, range(8)):
            assert target is None
            for name, value in expected.items():
                np.testing.assert_allclose(found[name], value, rtol=1e-6)
                np.testing.assert_allclose(unfused[name], value, rtol=1e-4)


def test_an_edit_after_code_generation_is_refused() -> None:
    session = small_session()
    kernel = session.kernels[0]
    with pytest.raises(wb.WorkbenchError, match="E-PASS-PLACE"):
        session.edit(tir={kernel: session["Codegen"].program[kernel].script()}, at="Codegen")


def test_an_edit_goes_where_it_is_said_also_to_the_first_step() -> None:
    session = small_session()
    text = session["Import"].program.script().replace("R.nn.relu", "R.nn.leaky_relu")
    assert session.edit(relay=text, at=0).labels[:2] == ("Import", "Edit")
    with pytest.raises(wb.WorkbenchError, match="E-STEP-UNKNOWN"):
        session.edit(relay=text, at="")


MISUSED: dict[str, tuple[str, Any]] = {
    "a pass that is none": ("E-PASS-KIND", lambda s, k: s.rerun(insert={"FuseOps": None})),
    "a plain function": ("E-PASS-KIND", lambda s, k: s.rerun(passes=["InferType", len])),
    "a number as a kernel": ("E-EDIT-KIND", lambda s, k: s.edit(te={k: 3})),
    "no step": ("E-STEP-UNKNOWN", lambda s, k: s[None]),
    "a slice": ("E-STEP-UNKNOWN", lambda s, k: s[1:3]),
    "half a step": ("E-STEP-UNKNOWN", lambda s, k: s[1.5]),
    "a number as a name": ("E-KERNEL-UNKNOWN", lambda s, k: s.schedule(0)),
    "inputs without names": ("E-RUN-INPUT", lambda s, k: s.run([1])),
    "extents of a program": ("E-OPEN-ARGUMENT", lambda s, k: wb.open(s.relay.module, shape={"x": (1, 2)})),
    "constants of loops": ("E-OPEN-ARGUMENT", lambda s, k: wb.open(s.tir[k].function, params={"p0": 1})),
}


@pytest.mark.parametrize("what", MISUSED)
def test_what_a_session_cannot_do_is_one_error(what: str) -> None:
    code, misuse = MISUSED[what]
    session = small_session()
    with pytest.raises(WorkbenchError) as caught:
        misuse(session, session.kernels[0])
    assert caught.value.code == code and caught.value.expected + caught.value.fix


def test_a_required_pass_runs_whatever_the_level() -> None:
    with wb.transform.PassContext(opt_level=1):
        session = wb.open(small_model())
    names = ["FoldConstant", "FoldScaleAxis", "FastMath", "BoundCheck"]
    made = session.rerun(required_pass=names)
    assert "FoldScaleAxis" not in session.labels and made["FoldScaleAxis"].changed
    order = [made.labels.index(name) for name in (*names[:3], "FuseOps", "BoundCheck", "FlattenBuffer")]
    assert order == sorted(order) and made["FastMath"].changed
    assert np.allclose(outputs(made), outputs(session), rtol=1e-4, atol=1e-5)
    assert session.rerun(required_pass=["FuseOps"]).labels == session.labels, "it runs at every level"
    with wb.transform.PassContext(opt_level=1, required_pass=names):
        opened = wb.open(small_model())
    assert made.labels == opened.labels and made["Codegen"].script() == opened["Codegen"].script()


def test_a_required_pass_comes_to_edits_and_to_passes_of_ones_own() -> None:
    session = small_session().rerun(passes=["InferType", "SimplifyExpr", "FuseOps"])
    edited = session.edit(relay=session.relay.script().replace("R.nn.relu", "R.tanh"))
    made = edited.rerun(required_pass=["FoldScaleAxis"])
    assert made.labels[1:6] == ("InferType", "SimplifyExpr", "FoldScaleAxis", "FuseOps", "Edit")
    assert "tanh" in made.relay.script()


def test_a_required_pass_without_a_place_is_refused() -> None:
    session = small_session()
    for given, code, said in (
        ({"required_pass": ["LambdaLift"]}, "E-PASS-UNKNOWN", "insert="),
        ({"required_pass": ["FuseOpps"]}, "E-PASS-UNKNOWN", "'FuseOps'"),
        ({"required_pass": ["FuseOps"], "disabled_pass": ["FuseOps"]}, "E-PASS-DISABLED", "FuseOps"),
    ):
        with pytest.raises(WorkbenchError) as caught:
            session.rerun(**given)
        assert caught.value.code == code and said in str(caught.value)
    with wb.transform.PassContext(disabled_pass=["FastMath"]):
        without = wb.open(small_model())
    with pytest.raises(WorkbenchError, match="E-PASS-DISABLED") as caught:
        without.rerun(required_pass=["FastMath"])
    assert caught.value.fix == "open the program without disabled_pass=['FastMath']"


def test_a_session_is_a_value_for_copy_and_says_how_it_is_kept() -> None:
    session = small_session()
    for thing in (session, session.relay, session["FuseOps"], session.relay["main"]):
        assert copy.copy(thing) is thing and copy.deepcopy([thing])[0] is thing
        with pytest.raises(WorkbenchError, match="E-SESSION-PICKLE"):
            pickle.dumps(thing)
