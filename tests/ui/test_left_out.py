"""Passes that were left out on a screen stay in its list of steps, where they ran, until they are switched on again."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import workbench as wb
from tests.driver.programs import small_model
from tests.ui.asking import ask
from workbench.core.transform import PASSES
from workbench.driver.plan import PassRow
from workbench.ui import changes
from workbench.ui.recording import key_of, record
from workbench.ui.workbench import Workbench
from workbench.views.left_out import LeftOut, carried, missing


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Workbench:
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("WORKBENCH_CHANGES", raising=False)
    return Workbench(wb.open(small_model()))


def refused(screen: Workbench, op: str, **args: Any) -> str:
    return screen.ask(op, **args).content["err"]["code"]


def listed(screen: Workbench) -> list[str]:
    """The names of the steps, those left out with a minus."""
    return ["-" * step["left_out"] + step["name"] for step in ask(screen, "pipeline.open")["steps"]]


def step_id(screen: Workbench, name: str) -> str:
    steps = ask(screen, "pipeline.open")["steps"]
    return next(step["id"] for step in steps if "-" * step["left_out"] + step["name"] == name)


def leave_out(screen: Workbench, *names: str) -> str:
    step = ""
    for name in names:
        step = ask(screen, "pipeline.without", step=step_id(screen, name))["step"]
    return step


def marked(names: list[str], *out: str) -> list[str]:
    return ["-" + name if name in out else name for name in names]


def test_it_stands_where_it_ran_selected_and_the_session_is_without_it(screen: Workbench) -> None:
    names, state = listed(screen), ask(screen, "pipeline.open")["state"]
    step = leave_out(screen, "FuseOps")
    assert listed(screen) == marked(names, "FuseOps")
    assert step == step_id(screen, "-FuseOps") == screen._steps.selected_step
    assert screen.session.labels == tuple(name for name in names if name != "FuseOps")
    assert ask(screen, "pipeline.switch_on", step=step)["step"] == step_id(screen, "FuseOps")
    assert listed(screen) == names and ask(screen, "pipeline.open")["state"] == state
    assert (
        ask(screen, "open")["calls"][-1] == f"s = s.rerun(insert={{{names[names.index('FuseOps') - 1]!r}: 'FuseOps'}})"
    )


def test_ids_and_states_tell_lists_of_steps_apart(screen: Workbench) -> None:
    """Passes of one place have ids of their own; one program with and without what was left out are two states."""
    names, before = listed(screen), ask(screen, "pipeline.open")["state"]
    ask(screen, "pipeline.insert", step=step_id(screen, "InferType"), name="FastMath")
    leave_out(screen, "FastMath", "SimplifyInference")
    ids = [step["id"] for step in ask(screen, "pipeline.open")["steps"]]
    assert len(set(ids)) == len(ids) == len(names) + 1
    ask(screen, "pipeline.switch_on", step=step_id(screen, "-SimplifyInference"))
    assert screen.session.plan == wb.open(small_model()).plan
    assert ask(screen, "pipeline.open")["state"] != before


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)])
def test_several_in_any_order_come_back_to_their_places(screen: Workbench, order: tuple[int, ...]) -> None:
    """Three in a row, which have one place when all are out; switched on in the order of leaving out, and backwards."""
    names, plan = listed(screen), screen.session.plan
    chosen = [names[names.index("SimplifyInference") + number] for number in order]
    for again in (chosen, chosen[::-1]):
        for count, name in enumerate(chosen, 1):
            # Of several passes of one name those that run are numbered anew: places, not names, are compared.
            at = names.index(name)
            step = ask(screen, "pipeline.open")["steps"][at]["id"]
            ask(screen, "pipeline.without", step=step)
            steps = ask(screen, "pipeline.open")["steps"]
            assert [number for number, one in enumerate(steps) if one["left_out"]] == sorted(
                names.index(one) for one in chosen[:count]
            )
        for name in again:
            step = ask(screen, "pipeline.open")["steps"][names.index(name)]["id"]
            assert ask(screen, "pipeline.switch_on", step=step)["step"]
        assert listed(screen) == names and screen.session.plan == plan


def test_passes_put_in_edits_options_and_schedules_leave_them_in_their_places(screen: Workbench) -> None:
    names = listed(screen)
    leave_out(screen, "SimplifyInference", "FuseOps")
    ask(screen, "pipeline.insert", step=step_id(screen, "InferType"), name="FastMath")
    at = names.index("SimplifyInference")
    names = marked([*names[:at], "FastMath", *names[at:]], "SimplifyInference", "FuseOps")
    assert listed(screen) == names, "directly behind its step, before what was left out there"
    ask(screen, "pipeline.options", step=step_id(screen, "FoldConstant"), values={"fold_qnn": True})
    assert listed(screen) == names
    source = ask(screen, "pipeline.source", step=step_id(screen, "FastMath"), function="main")
    text = source["text"].replace("nn.relu", "sigmoid")
    assert text != source["text"]
    edited = ask(screen, "pipeline.edit", step=source["step"], function="main", text=text)["step"]
    names.insert(at + 1, "Edit")
    assert listed(screen) == names
    ask(screen, "pipeline.without", step=edited)
    assert listed(screen) == marked(names, "Edit")
    ask(screen, "pipeline.switch_on", step=step_id(screen, "-Edit"))
    assert listed(screen) == names and "sigmoid" in screen.session["Edit"].program["main"].script()
    kernel = ask(screen, "kernels")["kernels"][0]["name"]
    loop = ask(screen, "schedule.open", kernel=kernel)["tree"][0]["id"]
    moved = {"kernel": kernel, "selection": loop, "primitive": "annotate"}
    ask(screen, "schedule.apply", **moved, arguments={"ann_key": "note", "ann_val": "1"})
    assert listed(screen) == names


def test_undo_redo_and_branches_show_what_was_left_out_there(screen: Workbench) -> None:
    names = listed(screen)
    leave_out(screen, "FuseOps", "FoldConstant")
    both = marked(names, "FuseOps", "FoldConstant")
    shown = listed(screen)
    assert [name.startswith("-") for name in shown] == [name.startswith("-") for name in both]
    ask(screen, "pipeline.undo")
    assert listed(screen) == marked(names, "FuseOps")
    ask(screen, "pipeline.redo")
    assert listed(screen) == shown
    ask(screen, "branch", number=0)
    assert listed(screen) == names, "as it was opened, nothing is left out"
    ask(screen, "branch", number=1)
    assert listed(screen) == marked(names, "FuseOps")


def test_a_session_that_a_cell_assigns_is_shown_as_it_is(screen: Workbench) -> None:
    """What is saved of the screen begins with that session, which knows of nothing left out of it."""
    names = listed(screen)
    leave_out(screen, "FuseOps")
    screen.session = screen.session.rerun(insert={"InferType": "FastMath"})
    assert "-FuseOps" not in listed(screen) and "FastMath" in listed(screen)
    ask(screen, "pipeline.undo")
    assert listed(screen) == marked(names, "FuseOps")


def rows(names: str) -> tuple[PassRow, ...]:
    return tuple(PassRow(name, "relay") for name in names)


@pytest.mark.parametrize(
    ("old", "left", "new", "kept"),
    [
        ("ABCDBE", [("B", 4)], "ABDBE", [("B", 3)]),  # C, which ran before it, is gone
        ("ABCDBE", [("B", 4)], "ADBE", [("B", 2)]),  # another B is gone: this one does not run in its place
        ("ABCDBE", [("B", 4)], "AXBCDBE", [("B", 5)]),
        ("ABCDE", [("B", 4)], "ABCBDE", []),  # put in where it was
        ("ABCDE", [("B", 4), ("F", 4)], "ABCFDE", [("B", 4)]),
        ("ABC", [("D", 1)], "", [("D", 1)]),
        ("", [("D", 1)], "AB", [("D", 1)]),
    ],
)
def test_rows_keep_their_places_where_something_else_changes_the_plan(
    old: str, left: list[tuple[str, int]], new: str, kept: list[tuple[str, int]]
) -> None:
    before = tuple(LeftOut(rows(name)[0], place) for name, place in left)
    found = carried(before, rows(old), rows(new))
    assert [(one.row.name, one.before) for one in found] == kept


def test_of_what_is_left_out_nothing_else_can_be_asked(screen: Workbench) -> None:
    names = listed(screen)
    step = leave_out(screen, "FuseOps")
    for op, args in {
        "pipeline.step": {}, "pipeline.rewrite": {"index": 0}, "pipeline.source": {}, "pipeline.without": {},
        "pipeline.insert": {"name": "FoldConstant"}, "pipeline.options": {"values": {}},
        "pipeline.text": {"side": "after", "start": 0, "count": 1},
        "pipeline.edit": {"function": "main", "text": "x"},
    }.items():  # fmt: skip
        reply = screen.ask(op, step=step, **args).content
        code = reply["view"]["refused"]["code"] if op == "pipeline.edit" else reply["err"]["code"]
        assert code == "E-STEP-LEFT-OUT", op
    assert ask(screen, "pipeline.steps", steps=[step])["steps"] == []
    assert refused(screen, "pipeline.switch_on", step=step_id(screen, "FoldConstant")) == "E-STEP-RUNS"
    assert refused(screen, "pipeline.switch_on", step="nothing") == "E-STEP-UNKNOWN"
    assert listed(screen) == marked(names, "FuseOps")
    screen.select("FuseOps")
    assert screen.selected == "FuseOps" and screen._steps.selected_step == step


def test_switching_on_is_among_the_changes_that_come_back(screen: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_out(screen, "FuseOps", "FoldScaleAxis")
    ask(screen, "pipeline.switch_on", step=step_id(screen, "-FuseOps"))
    monkeypatch.setattr(changes, "is_alive", lambda told: False)
    again = Workbench(wb.open(small_model()))
    assert ask(again, "open")["changes"]["offer"]["count"] == 3
    told = ask(again, "changes.restore")
    assert told["exact"] and told["restored"] == 3
    assert listed(again) == listed(screen) and "-FoldScaleAxis" in listed(again)


def test_a_recording_holds_them_and_asks_nothing_of_them(screen: Workbench) -> None:
    step = leave_out(screen, "FuseOps")
    replies = record(Workbench(screen.session, left_out=screen.left_out)).replies
    steps = replies[key_of("pipeline.open", {})]["steps"]
    assert [one["name"] for one in steps if one["left_out"]] == ["FuseOps"]
    assert key_of("pipeline.step", {"step": step}) not in replies


def test_the_one_that_was_meant_is_switched_on_where_the_model_is_another(
    tmp_path: Path, screen: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three passes of one name are left out and the second is switched on: so it is on other weights, restored."""
    path, alike = tmp_path / "m.onnx", []
    for scale in (1.0, 2.0):
        weight = onnx.numpy_helper.from_array(np.full((3, 3, 3, 3), scale, np.float32), "w")
        x, y = (
            onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
            for name, shape in (("x", (1, 3, 8, 8)), ("y", (1, 3, 6, 6)))
        )
        node = onnx.helper.make_node("Conv", ["x", "w"], ["y"])
        onnx.save(onnx.helper.make_model(onnx.helper.make_graph([node], "g", [x], [y], [weight])), path)
        if alike:
            monkeypatch.setattr(changes, "is_alive", lambda told: False)
        opened = Workbench(wb.open(str(path)))
        if not alike:
            folds = [name for name in listed(opened) if name.startswith("FoldConstant")]
            ids = [step_id(opened, name) for name in folds]
            for number in range(len(folds)):
                steps = [one["id"] for one in ask(opened, "pipeline.open")["steps"] if one["name"].startswith("FoldC")]
                ask(opened, "pipeline.without", step=steps[number])
            out = [one["id"] for one in ask(opened, "pipeline.open")["steps"] if one["left_out"]]
            assert len(out) == len(ids) == 3
            ask(opened, "pipeline.switch_on", step=out[1])
        else:
            assert ask(opened, "open")["changes"]["offer"]["count"] == 4
            ask(opened, "changes.restore")
        alike.append(listed(opened))
    assert alike[0] == alike[1] and sum(name.startswith("-FoldConstant") for name in alike[0]) == 2


def test_a_pass_whose_cell_was_run_again_comes_back_as_its_python_says(screen: Workbench) -> None:
    def cell(operator: str) -> Any:
        names: dict[str, Any] = {"__name__": "__main__"}
        code = (
            "from workbench import relay\n\n@relay.transform.function_pass(opt_level=1, name='Mine')\n"
            "def mine(function, mod, ctx):\n"
            f"    return relay.Function(function.params, relay.{operator}(function.body))\n"
        )
        linecache.cache[f"<cell {operator}>"] = (len(code), None, code.splitlines(True), f"<cell {operator}>")
        exec(compile(code, f"<cell {operator}>", "exec"), names)
        return names["mine"]

    screen.session = screen.session.rerun(insert={"InferType": cell("sigmoid")})
    step = leave_out(screen, "Mine")
    cell("tanh")
    try:
        ask(screen, "pipeline.switch_on", step=step)
    finally:
        PASSES.remove("Mine")
    text = screen.session["Mine"].program["main"].script()
    assert "R.tanh" in text and "R.sigmoid" not in text
    assert ask(screen, "open")["calls"][-1] == "s = s.rerun(insert={'InferType': 'Mine'})"


def test_what_a_branch_lacks_can_be_switched_on_whoever_made_it_and_whatever_was_shown_since(screen: Workbench) -> None:
    """Chosen in the list of branches, the step was not in the list of steps at all."""
    names = listed(screen)
    leave_out(screen, "FoldConstant#2")
    ask(screen, "pipeline.undo")
    leave_out(screen, "FoldScaleAxis")
    cell = screen.session.rerun(disabled_pass=["FuseOps", "UnrollLoop"])
    ask(screen, "branch", number=1)
    at = names.index("FoldConstant#2")
    shown = listed(screen)
    assert shown[at] == "-FoldConstant" and [name.partition("#")[0].strip("-") for name in shown] == [
        name.partition("#")[0] for name in names
    ]
    ask(screen, "pipeline.switch_on", step=step_id(screen, "-FoldConstant"))
    assert screen.session.plan == screen.session.branches[0].plan and listed(screen) == names
    ask(screen, "branch", number=[one.plan for one in screen.session.branches].index(cell.plan))
    assert listed(screen) == marked(names, "FuseOps", "FoldScaleAxis", "UnrollLoop")
    for name in ("UnrollLoop", "FuseOps", "FoldScaleAxis"):
        ask(screen, "pipeline.switch_on", step=step_id(screen, f"-{name}"))
    assert screen.session.plan == screen.session.branches[0].plan


def test_a_pass_under_other_options_and_one_at_another_place_are_not_missing(screen: Workbench) -> None:
    session = screen.session
    made = session.rerun(replace={"FuseOps": wb.relay.transform.FuseOps(fuse_opt_level=0)}).without("SimplifyExpr")
    (lacking,) = missing(session.plan.rows, made.plan.rows)
    assert lacking.row.name == "SimplifyExpr" and made.labels[lacking.before - 1] == session.labels[
        session.labels.index("SimplifyExpr") - 1
    ]


def test_a_pass_that_only_moved_is_not_left_out(screen: Workbench) -> None:
    """It stood in the list twice, and switched on it ran twice."""
    began, names = screen.session.plan.rows, listed(screen)
    moved = screen.session.without("SimplifyExpr").rerun(insert={"FoldScaleAxis": "SimplifyExpr"})
    ask(screen, "branch", number=[one.plan for one in screen.session.branches].index(moved.plan))
    assert sorted(listed(screen)) == sorted(names) and listed(screen) == list(moved.labels) != names
    renewed = moved.rerun(replace={"SimplifyExpr": "FoldScaleAxis", "FoldScaleAxis": "SimplifyExpr"})
    assert missing(began, renewed.plan.rows) == missing(renewed.plan.rows, began) == ()
    (lacking,) = missing(began, moved.without("SimplifyExpr").plan.rows)
    assert lacking.row.name == "SimplifyExpr"


def test_edits_that_are_left_out_are_told_apart() -> None:
    """Each was called Edit, and so was what a command on one of them was refused for."""
    screen = Workbench(wb.open(small_model()))
    for step, old, new in (("FuseOps", "R.nn.relu", "R.tanh"), ("Edit", "R.tanh", "R.nn.relu")):
        text = screen.session[step].program["main"].script()
        assert old in text
        ask(screen, "pipeline.edit", step=step_id(screen, step), function="main", text=text.replace(old, new))
    leave_out(screen, "Edit#2", "Edit")
    assert [name for name in listed(screen) if name.startswith("-")] == ["-Edit", "-Edit#2"]
    error = screen.ask("pipeline.step", step=step_id(screen, "-Edit#2")).content["err"]
    assert error["code"] == "E-STEP-LEFT-OUT" and error["message"] == "Edit#2 is left out"
