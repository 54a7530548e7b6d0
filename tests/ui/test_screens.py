"""The Python halves of the screens, without a page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.browser.fakes import FakePipeline, Pass
from tests.driver.programs import small_model, small_session
from tests.schedule.programs import plain_matmul
from workbench._lazy import session_of
from workbench.core.errors import WorkbenchError
from workbench.schedule import Schedule
from workbench.ui.models import PipelineModel
from workbench.ui.pipeline import PipelineStepper
from workbench.ui.protocol import JSON_LIMIT
from workbench.ui.schedule import ScheduleEditor
from workbench.ui.screen import Screen, bundle
from workbench.ui.workbench import Workbench

STATIC = Path(__file__).parents[2] / "workbench" / "ui" / "static"


def ask(screen: Screen, op: str, **args: Any) -> dict[str, Any]:
    reply = screen._dispatcher.handle({"v": 1, "id": 1, "op": op, "state": "", "args": args})
    assert reply is not None
    return reply.content


def test_fakes_are_models() -> None:
    assert isinstance(FakePipeline(), PipelineModel)


def test_the_stub_is_small_and_synced_state_too() -> None:
    screen = PipelineStepper(FakePipeline())
    assert len(screen._esm) <= 4096
    state = {key: value for key, value in screen.get_state().items() if not key.startswith("_")}
    assert len(repr(state)) < 4096 + 1000, sorted(state)


def test_a_page_gets_the_bundle_that_the_hash_names() -> None:
    screen = PipelineStepper(FakePipeline())
    reply = screen._dispatcher.handle({"v": 1, "id": 1, "op": "bundle", "args": {}})
    assert reply is not None
    assert reply.content["view"] == {"hash": screen.bundle_hash}
    assert reply.buffers == [bundle()[1]]


def test_selecting_in_a_page_is_seen_in_the_kernel() -> None:
    stepper = PipelineStepper(FakePipeline())
    assert ask(stepper, "select", step="s2", rewrite=1)["ok"]
    assert (stepper.selected_step, stepper.selected_rewrite) == ("s2", 1)


def test_selecting_by_name_and_an_unknown_name() -> None:
    stepper = PipelineStepper(FakePipeline())
    stepper.select("FuseOps")
    assert stepper.selected_step == "s7"
    with pytest.raises(WorkbenchError) as caught:
        stepper.select("FuseOp")
    assert caught.value.code == "E-UI-STEP" and "FuseOps" in caught.value.fix


@pytest.mark.parametrize(
    ("op", "args", "code"),
    [
        ("step", {"step": "nope"}, "E-STEP-UNKNOWN"),
        ("step", {}, "E-UI-ARGUMENT"),
        ("rewrite", {"step": "s2", "index": 99}, "E-STEP-UNKNOWN"),
        ("select", {"step": "nope"}, "E-UI-STEP"),
        ("text", {"step": "s2", "side": "middle", "start": 0, "count": 5}, "E-UI-ARGUMENT"),
        ("text", {"step": "s2", "side": "after", "start": -1, "count": 5}, "E-UI-ARGUMENT"),
        ("text", {"step": "s2", "side": "after", "start": 0, "count": 10**9}, "E-UI-ARGUMENT"),
    ],
)
def test_the_stepper_refuses(op: str, args: dict[str, Any], code: str) -> None:
    assert ask(PipelineStepper(FakePipeline()), op, **args)["err"]["code"] == code


def test_neighbours_come_in_one_reply_within_the_limit() -> None:
    text = "\n".join(f"    v{i} = R.nn.relu(v{i - 1})  # {'x' * 40}" for i in range(900))
    model = FakePipeline([Pass(f"Pass{i}", "relay", 1.0) for i in range(30)], text)
    reply = PipelineStepper(model)._dispatcher.handle(
        {"v": 1, "id": 1, "op": "steps", "args": {"steps": [f"s{i}" for i in range(30)]}}
    )
    assert reply is not None
    views = reply.content["view"]["steps"] if not reply.content.get("packed") else None
    assert views is None or 1 <= len(views) < 30
    assert len(str(reply.content)) <= JSON_LIMIT * 1.1


def product() -> Schedule:
    return Schedule(plain_matmul())


def test_a_click_is_done_to_the_schedule_that_the_cell_holds() -> None:
    schedule = product()
    editor = ScheduleEditor(schedule)
    reply = ask(editor, "apply", primitive="split", selection="l:C:2", arguments={"factors": [None, 8]})
    assert reply["ok"] and reply["state"] == schedule.fingerprint() and editor.schedule is schedule
    assert schedule.code().rstrip().endswith("sch.split(l2, factors=[None, 8])")


def test_undo_and_redo_give_the_same_states_back() -> None:
    editor = ScheduleEditor(product())
    first = ask(editor, "open")["state"]
    ask(editor, "apply", primitive="parallel", selection="l:C:0")
    moved = editor.schedule.fingerprint()
    undone = ask(editor, "undo")
    assert undone["view"]["script"] == ask(editor, "open")["view"]["script"] and undone["state"] != moved
    for _ in range(3):
        assert ask(editor, "redo")["state"] == moved
        assert ask(editor, "undo")["state"] == undone["state"]
    assert ask(editor, "undo")["err"]["code"] == "E-SCHEDULE-UNDO" and first


def test_a_refused_primitive_leaves_the_schedule() -> None:
    editor = ScheduleEditor(product())
    before = editor.schedule.state
    reply = ask(editor, "apply", primitive="vectorize", selection="l:C:2")
    assert reply["ok"] is False and "writes C[0, 0]" in reply["err"]["found"]
    assert editor.schedule.state is before


def test_a_click_on_an_old_picture_is_refused_and_the_pages_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    editor = ScheduleEditor(product())
    told: list[str] = []
    monkeypatch.setattr(editor, "announce", lambda name, **args: told.append(name))
    seen = editor.schedule.fingerprint()
    assert ask(editor, "apply", primitive="parallel", selection="l:C:0", seen=seen)["ok"]
    told.clear()
    reply = ask(editor, "apply", primitive="unroll", selection="l:C:1", seen=seen)
    error = reply["err"]
    assert error["code"] == "E-UI-STALE" and told == ["changed"]
    assert error["where"] == "schedule of main" and error["found"] != error["expected"] and error["fix"]


def test_the_pages_are_told_once_however_many_steps_a_cell_does(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = product()
    editor = ScheduleEditor(schedule)
    told: list[str] = []
    monkeypatch.setattr(editor, "announce", lambda name, **args: told.append(name))
    for mark in ("one", "other"):
        for loop in schedule.get_loops("C"):
            schedule.annotate(loop, mark, 1)
        schedule.undo(2)
        schedule.redo()
        assert told == ["changed"]
        ask(editor, "open")
        told.clear()


def test_a_screen_that_is_gone_is_not_told() -> None:
    schedule = product()
    schedule.watch(_Watcher().moved)
    schedule.get_loops("C")
    assert schedule._history._watching == []


class _Watcher:
    def moved(self) -> None:
        raise AssertionError("nobody holds this watcher")


def kept_outputs(monkeypatch: pytest.MonkeyPatch, screen: Screen) -> tuple[list[Any], list[Any]]:
    """What the screen displays, and a list that gets what it displays in place of that later."""
    shown: list[dict[str, Any]] = []
    updates: list[dict[str, Any]] = []
    monkeypatch.setattr("IPython.display.display", lambda data, **options: shown.append(data))
    monkeypatch.setattr("IPython.display.update_display", lambda data, **options: updates.append(data))
    screen._ipython_display_()
    return shown, updates


def test_a_live_output_and_those_that_are_kept_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    (live, static), _ = kept_outputs(monkeypatch, PipelineStepper(FakePipeline()))
    assert "application/vnd.jupyter.widget-view+json" in live and "text/html" not in live
    assert live["text/plain"].startswith("efficientnet_lite0: a screen of the workbench")
    assert "SimplifyInference" in static["text/plain"] and static["text/html"].startswith("<details")
    assert len(repr((live, static))) < 120_000


def test_no_bar_parts_a_live_view_from_what_is_kept_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages hide what stands right behind a live view: behind the bar of a slow machine the picture was shown too."""
    monkeypatch.setattr("workbench.driver.progress.place", lambda: "notebook")
    monkeypatch.setattr("workbench.driver.progress.DELAY_SECONDS", 0.0)
    (*bars, live, picture, _), _ = kept_outputs(monkeypatch, Workbench(wb.open(small_model())))
    assert bars, "the snapshot took work that has bars"
    assert "application/vnd.jupyter.widget-view+json" in live and "image/svg+xml" in picture


def test_every_screen_keeps_more_than_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    screens = (ScheduleEditor(product()), Workbench(small_session()), PipelineStepper(FakePipeline()))
    for screen in (*screens, Workbench(session_of(schedule := product()), schedule)):
        (live, *kept), _ = kept_outputs(monkeypatch, screen)
        assert "Run the cell to open it" in live["text/plain"] and type(screen).__name__ not in live["text/plain"]
        assert kept and all(len(bundle["text/plain"]) > 20 for bundle in kept)
        assert sum(len(text.encode()) for bundle in kept for text in bundle.values()) <= 120_000


def test_a_screen_on_a_schedule_keeps_its_python_loops_and_program(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = product()
    screen = Workbench(session_of(schedule), schedule)
    (_, picture, fold), updates = kept_outputs(monkeypatch, screen)
    assert "nothing done yet" in picture["text/plain"] and "@T.prim_func" in fold["text/html"]
    schedule.parallel(schedule.get_loops("C")[0])
    assert screen._kept is not None and screen._kept.follow()
    assert "sch.parallel(l0)" in updates[0]["text/plain"] and "parallel" in updates[0]["image/svg+xml"]


def test_what_is_kept_follows_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Workbench(small_session())
    (_, picture, _), updates = kept_outputs(monkeypatch, screen)
    assert screen._kept is not None and not screen._kept.follow() and updates == []
    step = next(one for one in ask(screen, "pipeline.open")["view"]["steps"] if one["name"] == "SimplifyInference")
    assert ask(screen, "pipeline.select", step=step["id"], rewrite=None)["ok"]
    assert screen._kept.follow() and not screen._kept.follow()
    assert "SimplifyInference: " in updates[0]["text/plain"] and "FuseOps: " in picture["text/plain"]
    screen.session = screen.session.rerun(disabled_pass=["FuseOps"])
    assert screen._kept.follow() and "fused_nn_conv2d_nn" not in updates[2]["text/plain"]


def test_an_error_in_the_snapshot_is_no_error_of_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any) -> Any:
        raise WorkbenchError("E-TEST", "no picture today")

    monkeypatch.setattr("workbench.ui.workbench.snapshot_of", broken)
    (_, only), _ = kept_outputs(monkeypatch, Workbench(small_session()))
    assert "no picture today" in only["text/plain"]


def test_importing_the_package_loads_no_jupyter() -> None:
    code = (
        "import sys, workbench.ui, workbench.ui.protocol, workbench.ui.models, workbench.views.schema\n"
        "assert not {'anywidget', 'ipywidgets', 'IPython', 'traitlets'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=50, cwd=STATIC.parents[2])


def test_the_bundle_is_committed_and_small() -> None:
    assert (STATIC / "stub.js").stat().st_size <= 4096
    assert 10_000 < len(bundle()[1]) <= 196_000, "as it travels, once a page; CodeMirror is 100 kB of it, texts 12"


def test_the_list_of_steps_knows_what_other_questions_have_computed() -> None:
    screen = Workbench(wb.open(small_model()))

    def pending() -> set[str]:
        return {step["name"] for step in ask(screen, "pipeline.open")["view"]["steps"] if step["pending"]}

    assert "Lower" in pending()
    ask(screen, "kernels")
    assert "Lower" not in pending()
