"""The models behind the screens, on real sessions and schedules: right, small, and computed when looked at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.views.test_static import small
from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.schedule.schedule import Schedule
from workbench.target.target import Target
from workbench.ui.models import PipelineModel
from workbench.ui.pipeline import PipelineStepper
from workbench.ui.protocol import JSON_LIMIT
from workbench.ui.schedule import ScheduleEditor
from workbench.ui.workbench import Workbench
from workbench.views.pipeline import SessionModel
from workbench.views.schedule import EditorModel
from workbench.views.schema import TreeNode

NETWORK = Path(__file__).parents[2] / "notebooks" / "data" / "efficientnet_lite0.onnx"


@pytest.fixture(scope="module")
def network() -> Any:
    return wb.open(str(NETWORK))


def boxes(nodes: tuple[TreeNode, ...]) -> list[TreeNode]:
    return [found for node in nodes for found in (node, *boxes(node.children))]


def size(view: Any) -> int:
    return len(json.dumps(view.to_json(), ensure_ascii=False).encode())


def test_models_keep_the_screens_contract(network: Any) -> None:
    assert isinstance(SessionModel(network), PipelineModel)


def test_looking_computes_the_graph_passes_and_no_more() -> None:
    session = wb.open(small())
    view = SessionModel(session).view()
    assert [step.name for step in view.steps if not step.pending][-1] == "FuseOps"
    assert len(session.history) == sum(not step.pending for step in view.steps)


def test_choosing_a_step_computes_it_and_tells() -> None:
    model = SessionModel(wb.open(small()))
    before = model.view()
    last = before.steps[-1]
    assert last.pending and last.note
    stepper = PipelineStepper(model)
    reply = stepper._dispatcher.handle({"v": 1, "id": 1, "op": "step", "args": {"step": last.id}})
    assert reply is not None and reply.content["ok"] and reply.content["state"] != before.state
    after = model.view()
    assert not any(step.pending for step in after.steps) and [s.id for s in after.steps] == [s.id for s in before.steps]
    assert reply.content["view"]["language"] == "asm"


def test_neighbours_that_have_not_run_are_not_fetched_ahead() -> None:
    session = wb.open(small())
    stepper = PipelineStepper(SessionModel(session))
    ids = [step.id for step in stepper.view.steps]
    known = len(session.history)
    reply = stepper._dispatcher.handle({"v": 1, "id": 1, "op": "steps", "args": {"steps": ids}})
    assert reply is not None and len(reply.content["view"]["steps"]) == known == len(session.history)


def test_steps_of_a_network_fit_into_a_reply(network: Any) -> None:
    model = SessionModel(network)
    for step in model.view().steps:
        if step.pending:
            continue
        reply = PipelineStepper(model)._dispatcher.handle({"v": 1, "id": 1, "op": "step", "args": {"step": step.id}})
        assert reply is not None and len(json.dumps(reply.content)) <= JSON_LIMIT * 1.1, step.name
        assert sum(len(buffer) for buffer in reply.buffers) <= JSON_LIMIT
        for index in range(min(step.rewrite_count, 3)):
            rewrite = model.rewrite(step.id, index)
            assert rewrite.why and rewrite.rewrite.source and size(rewrite) <= JSON_LIMIT
            assert rewrite.before.total and rewrite.after.total
            assert rewrite.rule_text or rewrite.rewrite.rule in ("fuse", "arrange", "move"), "no pattern"


def test_the_model_refuses_what_is_not_there(network: Any) -> None:
    model = SessionModel(network)
    with pytest.raises(WorkbenchError, match="no such step"):
        model.step("nope")
    with pytest.raises(WorkbenchError, match="rewrites"):
        model.rewrite(model.view().steps[0].id, 99)


def test_a_screen_follows_another_session() -> None:
    session = wb.open(small())
    screen = Workbench(session)
    screen.select("FuseOps")
    assert screen.selected == "FuseOps" and screen.session is session
    screen.session = session.rerun(disabled_pass=["FuseOps"])
    assert screen.selected in screen.session.labels and "FuseOps" not in screen.session.labels


def test_reasons_are_asked_for_one_box_at_a_time(network: Any) -> None:
    model = EditorModel(network.schedule(network.kernels[0]))
    view = model.view()
    assert size(view) <= JSON_LIMIT
    for node in boxes(view.tree):
        reasons = model.reasons(node.id)
        assert size(reasons) <= JSON_LIMIT and all(reason is None or reason for reason in reasons.reasons.values())
        assert reasons is model.reasons(node.id)
    with pytest.raises(WorkbenchError, match="no such loop"):
        model.reasons("l:nope:0")


def test_what_the_editor_offers_can_be_applied(network: Any) -> None:
    """For every box and primitive that is offered, the arguments that the form starts with work."""
    function = network["Lower"].program[network.kernels[2]].function
    model = EditorModel(wb.schedule.Schedule(function))
    before = model.schedule.script()
    for node in boxes(model.view().tree)[::3]:
        reasons = model.reasons(node.id)
        for name, reason in reasons.reasons.items():
            if reason is None:
                model.apply(name, node.id, dict(reasons.arguments.get(name, {})))
                assert model.view().can_undo, (node.id, name)
                model.undo()
                assert model.schedule.script() == before, (node.id, name)


def test_the_editors_schedule_goes_back_into_the_session() -> None:
    session = wb.open(small())
    kernel = session.kernels[0]
    editor = ScheduleEditor(wb.schedule.Schedule(session["Lower"].program[kernel].function))

    def ask(op: str, **args: Any) -> dict[str, Any]:
        reply = editor._dispatcher.handle({"v": 1, "id": 1, "op": op, "args": args})
        assert reply is not None
        return reply.content

    assert ask("apply", primitive="split", selection="l:conv2d:3", arguments={"factors": [None, 4]})["ok"]
    assert ask("apply", primitive="vectorize", selection="l:conv2d:4", arguments={})["ok"]
    refused = ask("apply", primitive="parallel", selection="l:conv2d:6", arguments={})
    assert not refused["ok"] and refused["err"]["fix"] and refused["err"]["kept"]
    assert all(node.startswith(("b:", "l:")) for node in refused["err"]["nodes"])
    assert [step.primitive for step in editor.schedule.trace.steps][-2:] == ["split", "vectorize"]
    inputs = {"x": np.linspace(-1, 1, 192, dtype=np.float32).reshape(1, 3, 8, 8)}
    edited = session.edit(schedule={kernel: editor.schedule})
    assert edited.schedule(kernel).code() == editor.schedule.code()
    for name, value in session.run(inputs).items():
        np.testing.assert_allclose(edited.run(inputs)[name], value, rtol=1e-4, atol=1e-4)


def test_an_unknown_primitive_is_refused(network: Any) -> None:
    model = EditorModel(network.schedule(network.kernels[0]))
    for name in ("get_block", "no_such"):
        with pytest.raises(WorkbenchError, match="no such primitive"):
            model.apply(name, "b:clip", {})


def product() -> EditorModel:
    from tests.schedule.programs import plain_matmul

    return EditorModel(wb.tir.Schedule(plain_matmul()))


def test_a_command_after_an_undo_begins_a_branch() -> None:
    model = product()
    model.apply("parallel", "l:C:0", {})
    first = model.view()
    assert first.branches == ()
    model.undo()
    model.apply("unroll", "l:C:2", {})
    second = model.view()
    assert second.branches == ("parallel", "unroll") and second.branch == 1
    model.switch(0)
    assert model.view().state == first.state and model.view().branch == 0
    model.switch(1)
    assert model.view().state == second.state
    model.undo()
    assert model.view().branches == second.branches
    model.apply("vectorize", "l:C:1", {})
    assert model.view().branches == ("parallel", "unroll", "vectorize") and model.view().branch == 2
    with pytest.raises(WorkbenchError, match="no such branch"):
        model.switch(3)


def test_what_was_taken_back_can_be_done_again_and_what_a_cell_does_counts() -> None:
    model = product()
    sch = model.schedule
    i, j, k = sch.get_loops("C")
    sch.reorder(i, k, j)
    model.apply("vectorize", "l:C:2", {})
    sch.get_loops("C")
    assert [entry.label for entry in model.view().history] == ["reorder", "vectorize"] and model.view().position == 2
    model.undo()
    assert model.view().position == 1 and model.view().can_redo
    model.undo()
    assert not model.view().can_undo and [entry.label for entry in model.view().history] == ["reorder", "vectorize"]
    assert model.view().branches == (), "questions alone are no branch"
    sch.parallel(i)  # the references that the cell holds are still good
    assert model.view().branches == ("reorder, vectorize", "parallel")


def test_the_form_of_reorder_begins_with_the_whole_nest() -> None:
    model = product()
    reasons = model.reasons("l:C:1")
    assert reasons.arguments["reorder"]["ordered_loops"] == ["l:C:0", "l:C:1", "l:C:2"]
    model.apply("reorder", "l:C:1", {"ordered_loops": ["l:C:2", "l:C:0", "l:C:1"]})
    assert [node.name for node in boxes(model.view().tree) if node.kind == "loop"] == ["k", "i", "j"]


def test_primitives_come_with_their_category() -> None:
    found = {primitive.name: primitive.category for primitive in product().view().primitives}
    assert found["split"] == "loop" and found["cache_write"] == "cache" and all(found.values())


def _for(target: Target) -> Any:
    func = product().schedule.func
    return func.replace(attrs=func.attrs.set("target", target))


def test_what_most_schedules_are_made_of_stands_first_and_what_the_target_cannot_use_last() -> None:
    names = [primitive.name for primitive in product().view().primitives]
    assert names[:5] == ["split", "reorder", "vectorize", "parallel", "unroll"] and names[-1] == "bind"
    assert product().view().primitives[-1].category == "needs the threads of a device"
    on_device = EditorModel(Schedule(_for(Target("cuda"))))
    assert {one.name: one.category for one in on_device.view().primitives}["bind"] == "loop"


def test_a_loop_of_one_iteration_is_never_suggested() -> None:
    """It is legal to vectorize it, and nothing comes of it."""
    a = te.placeholder((1, 8, 16), name="A")
    k = te.reduce_axis((0, 16), "k")
    total = te.compute((1, 8, 1), lambda n, i, j: te.sum(a[n, i, k], axis=k), name="C")
    schedule = Schedule(te.create_prim_func([a, total]))
    loops = schedule.get_loops(schedule.get_block("C"))
    for primitive in ("vectorize", "parallel", "unroll"):
        refusal = schedule.why_not(primitive, loops[3])
        for one in schedule.suggest(refusal) if refusal is not None else ():
            assert "loop n " not in one.text and "loop j " not in one.text, one.text


def test_a_block_in_loops_that_run_past_its_domain_says_so() -> None:
    schedule = product().schedule
    loops = schedule.get_loops(schedule.get_block("C"))
    assert all("only where" not in box.detail for box in boxes(EditorModel(schedule).view().tree))
    schedule.split(loops[1], factors=[None, 7])
    (block,) = [box for box in boxes(EditorModel(schedule).view().tree) if box.kind == "block"]
    assert "only where j_0 * 7 + j_1 < " in block.detail


def test_what_is_refused_comes_with_ways_that_work() -> None:
    model = product()
    ways = model.ways("vectorize", "l:C:2")
    assert ways.error is not None and ways.error.code == "E-SCHEDULE-DEPENDENCE" and ways.forcible
    assert ways.suggestions[0].text == "legal on loop j instead"
    for number in range(len(ways.suggestions)):
        tried = product()
        tried.accept("vectorize", "l:C:2", number)
        assert tried.schedule.moves.done
    with pytest.raises(WorkbenchError, match="no such suggestion"):
        model.accept("vectorize", "l:C:2", 9)
    model.force("vectorize", "l:C:2")
    forced = model.schedule
    assert "unsafe=True" in forced.code() and any("unsafe" in note for notes in forced.notes.values() for note in notes)


def test_structure_cannot_be_forced() -> None:
    ways = product().ways("fuse", "l:C:2")
    assert not ways.forcible
    with pytest.raises(WorkbenchError):
        product().force("fuse", "l:C:2")
