"""The Python halves of the screens, without a page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.browser.fakes import FakePipeline, FakeSchedule, Pass
from workbench.core.errors import WorkbenchError
from workbench.ui.models import PipelineModel, ScheduleModel
from workbench.ui.pipeline import PipelineStepper
from workbench.ui.protocol import JSON_LIMIT
from workbench.ui.schedule import ScheduleEditor
from workbench.ui.screen import Screen, bundle

STATIC = Path(__file__).parents[2] / "workbench" / "ui" / "static"


def ask(screen: Screen, op: str, **args: Any) -> dict[str, Any]:
    reply = screen._dispatcher.handle({"v": 1, "id": 1, "op": op, "state": "", "args": args})
    assert reply is not None
    return reply.content


def test_fakes_are_models() -> None:
    assert isinstance(FakePipeline(), PipelineModel)
    assert isinstance(FakeSchedule(), ScheduleModel)


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


def test_a_click_moves_the_pointer_and_no_value() -> None:
    start = FakeSchedule()
    editor = ScheduleEditor(start)
    reply = ask(editor, "apply", primitive="split", selection="l:k", arguments={"factors": [None, 8]})
    assert reply["ok"] and reply["state"] == editor.model.view().state
    assert start.view().code != editor.code
    assert editor.code.endswith("k_0, k_1 = sch.split(k, factors=[None, 8])")


def test_undo_and_redo_give_the_same_states_back() -> None:
    editor = ScheduleEditor(FakeSchedule())
    first = editor.model.view().state
    ask(editor, "apply", primitive="parallel", selection="l:i")
    second = editor.model.view().state
    for _ in range(3):
        assert ask(editor, "undo")["state"] == first
        assert ask(editor, "redo")["state"] == second


def test_a_refused_primitive_leaves_the_pointer() -> None:
    editor = ScheduleEditor(FakeSchedule())
    before = editor.model
    reply = ask(editor, "apply", primitive="vectorize", selection="l:k")
    assert reply["ok"] is False and "carries the sum" in reply["err"]["found"]
    assert editor.model is before


def test_a_click_on_an_old_picture_is_refused() -> None:
    editor = ScheduleEditor(FakeSchedule())
    seen = editor.model.view().state
    assert ask(editor, "apply", primitive="parallel", selection="l:i", seen=seen)["ok"]
    reply = ask(editor, "apply", primitive="unroll", selection="l:j", seen=seen)
    assert reply["err"]["code"] == "E-UI-STALE"


def test_a_live_and_a_static_output_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr("IPython.display.display", lambda data, metadata=None, raw=False: shown.append(data))
    PipelineStepper(FakePipeline(), fallback_html="<p>12 steps</p>")._ipython_display_()
    live, static = shown
    assert "application/vnd.jupyter.widget-view+json" in live and "text/html" not in live
    assert "<p>12 steps</p>" in static["text/html"] and static["text/html"].startswith("<details>")
    assert len(repr(shown)) < 120_000


def test_importing_the_package_loads_no_jupyter() -> None:
    code = (
        "import sys, workbench.ui, workbench.ui.protocol, workbench.ui.models, workbench.views.schema\n"
        "assert not {'anywidget', 'ipywidgets', 'IPython', 'traitlets'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=50, cwd=STATIC.parents[2])


def test_the_bundle_is_committed_and_small() -> None:
    assert (STATIC / "stub.js").stat().st_size <= 4096
    assert 10_000 < (STATIC / "widgets.js").stat().st_size <= 420_000, "CodeMirror is 300 kB of it"
