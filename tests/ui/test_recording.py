"""Recorded screens: every answer comes back as it was given, small, and what is left out is told."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.core.test_progress import Bars
from tests.driver.programs import small_session
from workbench.core import progress
from workbench.core.errors import WorkbenchError
from workbench.ui import schedule_extras
from workbench.ui.page import page_of, save_page
from workbench.ui.recording import Recording, key_of, record
from workbench.ui.workbench import Workbench
from workbench.views.snapshot import snapshot_of
from workbench.views.strings.tables import say


@pytest.fixture(scope="module")
def screen() -> Workbench:
    return Workbench(small_session())


@pytest.fixture(scope="module")
def recording(screen: Workbench) -> Recording:
    return record(screen)


def whole(value: Any, pool: list[Any]) -> Any:
    """What the player does: references replaced."""
    if isinstance(value, list):
        return [whole(one, pool) for one in value]
    if not isinstance(value, dict):
        return value
    if list(value) == ["$"]:
        entry = pool[value["$"]]
        if isinstance(entry, list):
            return [whole(one, pool) for one in entry]
        return {key: whole(one, pool) for key, one in entry.items()}
    return {key: whole(one, pool) for key, one in value.items()}


def unpacked(recording: Recording) -> dict[str, Any]:
    document = json.loads(gzip.decompress(recording.packed()))
    return {name: whole(document[name], document["pool"]) for name in ("replies", "texts", "rows")}


def test_answers_come_back_as_they_were_given(screen: Workbench, recording: Recording) -> None:
    played = unpacked(recording)
    assert played["replies"] == json.loads(json.dumps(recording.replies))
    asked = [json.loads(key) for key in played["replies"]]
    assert {op for op, _ in asked} == {
        "open", "kernels", "graph", "pane", "links", "pipeline.open", "pipeline.step", "pipeline.rewrite",
        "schedule.open", "schedule.reasons", "checks.state", "formulas", "calls", "words", "python",
        "pipeline.verify", "pipeline.kinds", "tree", "spoken", "candidates", "schedule.roofline",
    }  # fmt: skip
    chosen = random.Random(3).sample([one for one in asked if one[0] in ("pane", "links", "graph")], 12)
    for op, args in chosen:
        reply = screen.ask(op, **args)
        view = json.loads(gzip.decompress(reply.buffers[0])) if reply.buffers else reply.content["view"]
        assert played["replies"][key_of(op, args)] == json.loads(json.dumps(view)), (op, args)
    assert recording.left_out == []


def test_texts_are_whole(recording: Recording) -> None:
    provenance = small_session().provenance
    texts = unpacked(recording)["texts"]
    found = [key for key in texts if json.loads(key)[0] == "lines"]
    assert found
    for key in found:
        args = json.loads(key)[1]
        form = {"llvm": "ll", "asm": "asm"}[args["layer"]]
        assert len(texts[key]) == len(provenance.text(args["kernel"], form).rstrip("\n").split("\n"))


def test_each_step_that_changed_something_has_its_kinds(screen: Workbench, recording: Recording) -> None:
    steps = screen.ask("pipeline.open").content["view"]["steps"]
    changed = [one["id"] for one in steps if one["changed"] and one["kind"] != "codegen"]
    assert changed and all(key_of("pipeline.kinds", {"step": one}) in recording.replies for one in changed)


def test_each_editor_says_whether_its_way_under_the_roofline_is_there(recording: Recording) -> None:
    """The button was alive for every kernel, and refused for all but one."""
    kernels = small_session().kernels
    told = [recording.replies[key_of("schedule.open", {"kernel": one})]["roofline"] for one in kernels]
    there = [key_of("schedule.roofline", {"kernel": one}) in recording.replies for one in kernels]
    assert told == there == [True] * 4 + [False] * (len(kernels) - 4) and len(kernels) > 4


def test_a_way_that_is_refused_is_told_as_not_there(screen: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_value(*_: object) -> None:
        raise WorkbenchError("E-ANALYSIS-SIZE", "an extent has no value")

    monkeypatch.setattr(schedule_extras, "roofline_picture", without_value)
    replies = record(screen).replies
    assert not [key for key in replies if "roofline" in json.loads(key)[0]]
    assert {replies[key]["roofline"] for key in replies if json.loads(key)[0] == "schedule.open"} == {False}


@pytest.mark.parametrize("layer", ["tir", "llvm", "asm"])
def test_places_of_all_lines_are_those_of_each(screen: Workbench, recording: Recording, layer: str) -> None:
    kernel = small_session().kernels[0]
    rows = unpacked(recording)["rows"][key_of("place", {"layer": layer, "kernel": kernel})]
    for line in random.Random(layer).sample(range(1, len(rows["of"]) + 1), 12):
        view = screen.ask("place", layer=layer, kernel=kernel, line=line).content["view"]
        assert json.loads(json.dumps(view)) == {**rows["views"][rows["of"][line - 1]], "line": line}, line


def test_over_the_budget_the_rest_is_left_out_and_told(screen: Workbench) -> None:
    small = record(screen, 20_000)
    assert small.left_out and small.size < 80_000
    assert key_of("open", {}) in small.replies and key_of("kernels", {}) in small.replies
    told = page_of(screen, snapshot_of(small_session()), 20_000)
    assert f"Left out, since it would be too much: {', '.join(small.left_out)}" in told


def test_what_looks_like_a_reference_is_none() -> None:
    again = {"name": "x" * 200}
    replies = {"a": {"$": 0}, "b": {"$": {"$": 1}}, "c": [again, again], "$": again, "d": [{"$": 0}, {}]}
    for hostile in (replies, {"$": 5}, {"$": [again]}):
        assert unpacked(Recording("workbench", hostile))["replies"] == hostile


def test_a_recording_is_the_same_each_time(screen: Workbench, recording: Recording) -> None:
    other = record(screen)
    assert list(other.replies) == list(recording.replies) and list(other.rows) == list(recording.rows)


def test_a_page_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError) as caught:
        save_page(small_session(), tmp_path / "nowhere" / "page.html", 1_000)
    assert caught.value.code == "E-UI-PAGE-WRITE"


def test_a_session_without_anywidget_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("workbench.ui.installed", lambda: False)
    with pytest.raises(WorkbenchError) as caught:
        small_session().to_html(tmp_path / "page.html")
    assert caught.value.code == "E-UI-MISSING" and "pip install anywidget" in caught.value.fix


@pytest.mark.parametrize("change", ["none", "pass", "edit"])
def test_a_recorded_screen_shows_what_was_done_to_the_session(change: str) -> None:
    session = small_session()
    if change == "pass":
        session = session.without("FuseOps")
    elif change == "edit":
        kernel = session.kernels[0]
        text = session.tir[kernel].script()
        session = session.edit(tir={kernel: text.replace("T.vectorized", "T.serial", 1)})
    calls = record(Workbench(session), 1_000).replies[key_of("open", {})]["calls"]
    code = session.to_python()
    assert len(calls) == (change != "none")
    assert all(call.removesuffix("…") in code for call in calls)
    assert all(call.startswith("s = wb.open(" if change == "pass" else "s = s.edit(tir=") for call in calls)


def test_recording_tells_how_far_it_is(tmp_path: Path) -> None:
    heard = Bars()
    with progress.listening(heard):
        small_session().to_html(tmp_path / "page.html")
    text = "\n".join(heard.lines)
    assert "record of " in text and "record closed" in text and say.snapshot.schedules in text


def test_an_interrupted_recording_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    class Interrupting(Bars):
        """Ctrl-C in the middle of the recording."""

        def __call__(self, title: str, total: int) -> Any:
            bar = super().__call__(title, total)
            if title == "record":
                bar.advance = self.interrupt  # type: ignore[method-assign]
            return bar

        def interrupt(self, count: int) -> None:
            raise KeyboardInterrupt

    path = tmp_path / "page.html"
    path.write_text("the one before")
    with pytest.raises(KeyboardInterrupt), progress.listening(Interrupting()):
        small_session().to_html(path)
    assert path.read_text() == "the one before" and list(tmp_path.iterdir()) == [path]
