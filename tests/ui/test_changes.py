"""Changes of a screen outlive its kernel: saved at each step, offered, replayed through the same commands."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest

import workbench as wb
from tests.driver.programs import small_model
from tests.schedule.programs import plain_matmul
from tests.ui.asking import ask, restarted
from workbench._lazy import session_of
from workbench.schedule import Schedule
from workbench.ui import changes
from workbench.ui.changes_store import ChangesStore, packed, unpacked
from workbench.ui.recording import key_of, record
from workbench.ui.workbench import Workbench

pytestmark = pytest.mark.usefixtures("kept_here")


def facts(screen: Workbench) -> dict[str, Any]:
    return ask(screen, "open")["changes"]


def save_with_other_weights(model: onnx.ModelProto, path: Path) -> None:
    """Another version of a model: its first weights twice as large."""
    weights = model.graph.initializer[0]
    weights.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(weights) * 2, weights.name))
    onnx.save(model, path)


def step_id(screen: Workbench, label: str) -> str:
    return next(step["id"] for step in ask(screen, "pipeline.open")["steps"] if step["name"] == label)


def fresh() -> Any:
    """A session on a history of its own, as a new kernel has it."""
    return wb.open(small_model())


def of_matmul() -> Workbench:
    schedule = Schedule(plain_matmul())
    return Workbench(session_of(schedule), schedule)


def split(screen: Workbench, selection: str = "l:C:2", size: int = 8) -> None:
    arguments = {"factors": [None, size]}
    ask(screen, "schedule.apply", kernel="main", primitive="split", selection=selection, arguments=arguments)


def test_moves_undo_and_redo_of_a_schedule_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    first = of_matmul()
    began = facts(first)
    assert began == {"offer": None, "count": 0, "trouble": "", "told": {}, "key": began["key"]}
    split(first)
    ask(first, "schedule.apply", kernel="main", primitive="parallel", selection="l:C:0")
    ask(first, "schedule.undo", kernel="main")
    ask(first, "schedule.apply", kernel="main", primitive="unroll", selection="l:C:3")
    restarted(monkeypatch)

    second = of_matmul()
    offer = facts(second)["offer"]
    assert offer["count"] == 2 and offer["note"] == "" and "sch.split" in offer["calls"][0]
    assert ask(second, "changes.restore") == {"restored": 2, "refused": [], "left": 0, "exact": True}
    assert second.code == first.code
    assert second.schedule.moves.stories == first.schedule.moves.stories and len(second.schedule.moves.stories) == 2
    assert ask(second, "open")["calls"] == ask(first, "open")["calls"]
    ask(second, "pipeline.undo")
    assert facts(second)["offer"] is None


def test_a_move_taken_back_in_the_editor_is_the_screens_undo() -> None:
    """They were two histories: the screen's walked through the undos and redos of the other."""
    screen = of_matmul()

    def told() -> tuple[int, int, int]:
        view = ask(screen, "open")
        return view["undo"], view["redo"], next(one["count"] for one in view["layers"] if one["name"] == "schedule")

    began = told()
    split(screen)
    ask(screen, "schedule.apply", kernel="main", primitive="parallel", selection="l:C:0")
    branches = len(screen.session.branches)
    assert told()[:2] == (2, 0)
    ask(screen, "schedule.undo", kernel="main")
    assert told()[:2] == (1, 1) and "parallel" not in screen.code
    ask(screen, "pipeline.undo")
    assert told() == (0, 2, began[2]) and not screen.schedule.moves.done
    ask(screen, "schedule.redo", kernel="main")
    assert told()[:2] == (1, 1) and "split" in screen.code
    ask(screen, "pipeline.redo")
    assert told()[:2] == (2, 0) and "parallel" in screen.code
    screen.schedule.undo()  # a cell's
    assert told()[:2] == (1, 1) and len(screen.session.branches) == branches


def test_a_move_taken_back_after_another_change_is_a_change() -> None:
    screen = Workbench(fresh())
    kernel = ask(screen, "kernels")["kernels"][0]["name"]
    selection = ask(screen, "schedule.open", kernel=kernel)["tree"][0]["id"]
    ask(screen, "schedule.apply", kernel=kernel, primitive="unroll", selection=selection)
    ask(screen, "pipeline.without", step=step_id(screen, "UnrollLoop"))
    before = screen.session.schedule(kernel).fingerprint()
    ask(screen, "schedule.undo", kernel=kernel)
    view = ask(screen, "open")
    assert (view["undo"], view["redo"]) == (3, 0) and screen.session.schedule(kernel).fingerprint() != before
    ask(screen, "pipeline.undo")
    assert screen.session.schedule(kernel).fingerprint() == before


def test_what_a_cell_moved_in_between_comes_back_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The screen's next move builds on it: without, it was done to another loop, in silence."""
    first = of_matmul()
    i, j, k = first.schedule.get_loops("C")
    first.schedule.reorder(k, i, j)
    ask(first, "schedule.open", kernel="main")
    ask(first, "schedule.apply", kernel="main", primitive="unroll", selection="l:C:0", arguments={})
    first.schedule.vectorize(first.schedule.get_loops("C")[2])
    ask(first, "open")
    restarted(monkeypatch)

    second = of_matmul()
    assert facts(second)["offer"]["count"] == 3
    assert ask(second, "changes.restore")["exact"]
    assert second.schedule.fingerprint() == first.schedule.fingerprint()


def test_what_only_a_cell_did_is_not_kept_and_is_told_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cell does it again.  The offer stood beside the same schedule, and named the last of its moves."""
    first = of_matmul()
    ask(first, "schedule.open", kernel="main")
    i, j, k = first.schedule.get_loops("C")
    first.schedule.reorder(k, i, j)
    first.schedule.vectorize(first.schedule.get_loops("C")[2])
    (call,) = ask(first, "open")["calls"]
    assert "sch.reorder(" in call and "sch.vectorize(" in call
    assert facts(first)["count"] == 0
    restarted(monkeypatch)
    assert facts(of_matmul())["offer"] is None


def test_a_cell_that_ran_again_before_the_restore_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def cell(screen: Workbench) -> None:
        screen.schedule.parallel(screen.schedule.get_loops("C")[0])
        ask(screen, "open")

    first = of_matmul()
    ask(first, "schedule.open", kernel="main")
    cell(first)
    split(first)
    restarted(monkeypatch)
    second = of_matmul()
    ask(second, "schedule.open", kernel="main")
    cell(second)
    assert facts(second)["offer"]["count"] == 2
    told = ask(second, "changes.restore")
    assert (told["refused"], told["exact"]) == ([], True) and second.code == first.code


def test_going_to_another_story_of_a_schedule_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    first = of_matmul()
    split(first)
    ask(first, "schedule.undo", kernel="main")
    ask(first, "schedule.apply", kernel="main", primitive="unroll", selection="l:C:0", arguments={})
    other = next(at for at, story in enumerate(first.schedule.moves.stories) if "split" in str(story))
    ask(first, "schedule.switch", kernel="main", branch=other)
    assert "split" in first.code
    restarted(monkeypatch)

    second = of_matmul()
    assert facts(second)["offer"]["count"] == 2
    assert ask(second, "changes.restore") == {"restored": 2, "refused": [], "left": 0, "exact": True}
    assert second.schedule.fingerprint() == first.schedule.fingerprint()


def test_a_state_is_gone_to_by_what_it_is_and_not_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that is replayed as it stands changes nothing and is not kept, but it gives later states other numbers."""
    first = of_matmul()
    split(first)
    ask(first, "schedule.replay", kernel="main", code=first.code)
    ask(first, "schedule.apply", kernel="main", primitive="unroll", selection="l:C:0", arguments={})
    for mark in "abc":
        arguments = {"ann_key": "remark", "ann_val": mark}
        ask(first, "schedule.apply", kernel="main", primitive="annotate", selection="b:C", arguments=arguments)
    number = next(number for number, _, move in first.schedule.moves.tree if move is not None and move.name == "unroll")
    ask(first, "schedule.go", kernel="main", number=number)
    restarted(monkeypatch)

    second = of_matmul()
    assert facts(second)["offer"]
    assert ask(second, "changes.restore")["exact"] and second.code == first.code


def test_passes_texts_and_branches_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Workbench(fresh())
    ask(first, "pipeline.without", step=step_id(first, "FuseOps"))
    ask(first, "branch", number=0)
    ask(first, "pipeline.insert", step=step_id(first, "FoldConstant"), name="CombineParallelConv2D")
    source = ask(first, "pipeline.source", step=step_id(first, "SimplifyInference"), function="main")
    text = source["text"].replace("nn.relu", "sigmoid")
    assert text != source["text"]
    assert "refused" not in ask(first, "pipeline.edit", step=source["step"], function="main", text=text)
    ask(first, "pipeline.undo")
    ask(first, "pipeline.redo")
    restarted(monkeypatch)

    second = Workbench(fresh())
    assert facts(second)["offer"]["count"] == 4
    assert ask(second, "changes.restore")["exact"]
    told, before = ask(second, "open"), ask(first, "open")
    for name in ("calls", "branch", "undo", "redo"):
        assert told[name] == before[name]
    assert len(told["branches"]) == len(before["branches"]) == 4


def test_what_is_refused_is_named_and_the_rest_done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = of_matmul()
    split(first)
    ask(first, "schedule.apply", kernel="main", primitive="parallel", selection="l:C:0")
    ask(first, "schedule.undo", kernel="main")
    split(first, "l:C:1", 4)
    (path,) = (tmp_path / "cache" / "changes-1").iterdir()
    document = unpacked(path.read_bytes())
    assert document is not None
    document["entries"][1]["args"] |= {"primitive": "vectorize", "selection": "l:C:9"}
    document["entries"].insert(1, {"op": "schedule.apply", "args": {"kernel": "gone", "primitive": "split",
                                   "selection": "l:C:0", "arguments": {}}})  # fmt: skip
    path.write_bytes(packed(document))
    restarted(monkeypatch)

    second = of_matmul()
    told = ask(second, "changes.restore") if facts(second)["offer"] else {}
    assert (told["left"], told["exact"]) == (2, True), told
    assert told["refused"][0].startswith("split of l:C:0 in gone: there is no kernel 'gone'")
    assert told["refused"][1].startswith("vectorize of l:C:9 in main: ")
    assert second.code == first.code  # the undo of what was refused takes nothing else back
    assert facts(second)["told"] == told and not path.exists()  # what is left is the second one's
    ask(second, "changes.read")
    assert facts(second)["told"] == {}


def test_what_a_replay_came_to_is_told_until_the_next_change(monkeypatch: pytest.MonkeyPatch) -> None:
    split(of_matmul())
    restarted(monkeypatch)

    def by_a_cell(screen: Workbench) -> None:
        screen.schedule.unroll(screen.schedule.get_loops("C")[0])

    for change in (lambda screen: split(screen, "l:C:0", 4), by_a_cell):
        screen = of_matmul()
        assert facts(screen)["offer"] is not None
        told = ask(screen, "changes.restore")
        assert facts(screen)["told"] == told
        change(screen)
        assert facts(screen)["told"] == {}


def test_discarded_changes_are_not_offered_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    split(of_matmul())
    restarted(monkeypatch)
    screen = of_matmul()
    assert facts(screen)["offer"]["count"] == 1
    ask(screen, "changes.discard")
    assert facts(screen)["offer"] is None and facts(of_matmul())["offer"] is None
    assert list((tmp_path / "cache" / "changes-1").iterdir()) == []
    assert screen.ask("changes.restore").content["err"]["code"] == "E-UI-CHANGES"


def test_the_newest_of_two_screens_is_offered_and_the_other_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = of_matmul(), of_matmul()
    split(one)
    split(other, size=4)
    split(one, "l:C:1", 2)
    restarted(monkeypatch)
    screen = of_matmul()
    assert facts(screen)["offer"]["count"] == 2
    ask(screen, "changes.restore")
    assert screen.code == one.code
    later = of_matmul()
    assert facts(later)["offer"]["count"] == 2
    ask(later, "changes.discard")
    assert facts(of_matmul())["offer"]["count"] == 1


def test_another_program_is_offered_nothing_and_the_same_process_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    split(of_matmul())
    assert facts(of_matmul())["offer"] is None
    restarted(monkeypatch)
    schedule = Schedule(plain_matmul(24))
    assert facts(Workbench(session_of(schedule), schedule))["offer"] is None


def test_what_was_taken_back_leaves_no_file(tmp_path: Path) -> None:
    screen = of_matmul()
    split(screen)
    assert facts(screen)["count"] == 1
    ask(screen, "pipeline.undo")
    assert facts(screen)["count"] == 0 and list((tmp_path / "cache" / "changes-1").iterdir()) == []


def test_a_disk_that_cannot_be_written_is_told_and_the_change_is_done(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    screen = of_matmul()
    split(screen)
    assert "sch.split" in screen.code
    found = facts(screen)
    assert found["count"] == 0 and str(tmp_path / "cache") in found["trouble"]


def test_switched_off_nothing_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORKBENCH_CHANGES", "off")
    screen = of_matmul()
    split(screen)
    assert facts(screen)["count"] == 0 and not (tmp_path / "cache" / "changes-1").exists()
    assert facts(screen)["key"] == "", "and nothing in the browser"


@pytest.mark.parametrize("entries", [None, [], ["x"], [{"op": "open", "args": {}}], [{"op": "branch", "args": 1}]])
def test_a_whole_file_of_wrong_content_is_passed_over(entries: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = of_matmul()
    split(screen)
    (saved,) = ChangesStore.of_user().found(changes._key(screen._changes._place or {}))
    saved.path.write_bytes(packed({**saved.document, "entries": entries}))
    restarted(monkeypatch)
    assert facts(of_matmul())["offer"] is None


@pytest.mark.parametrize(
    "other",
    [
        {"at": 1e300}, {"at": float("nan")}, {"at": float("inf")}, {"at": -1e18}, {"at": 10**400},
        {"entries": [{"op": ["x"], "args": {}}]}, {"calls": ["\ud800"]}, {"process": [1]},
    ],
)  # fmt: skip
def test_a_foreign_file_never_keeps_a_screen_from_opening(
    other: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = of_matmul()
    split(screen)
    (saved,) = ChangesStore.of_user().found(changes._key(screen._changes._place or {}))
    saved.path.write_bytes(packed({**saved.document, **other}))
    restarted(monkeypatch)
    again = of_matmul()
    facts(again)
    again.ask("changes.restore")
    facts(again)


def test_a_kernel_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    code = (
        "import os, signal\n"
        "from tests.ui.test_changes import Workbench, ask, fresh, of_matmul, split, step_id\n"
        "split(of_matmul())\n"
        "screen = Workbench(fresh())\n"
        "ask(screen, 'pipeline.without', step=step_id(screen, 'FuseOps'))\n"
        "ask(screen, 'branch', number=0)\n"
        "ask(screen, 'pipeline.without', step=step_id(screen, 'FoldScaleAxis'))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == -9
    screen = of_matmul()
    assert json.dumps(facts(screen)["offer"])
    assert ask(screen, "changes.restore")["exact"] and "factors=[None, 8]" in screen.code
    other = Workbench(fresh())
    assert facts(other)["offer"]["count"] == 3
    assert ask(other, "changes.restore") == {"restored": 3, "refused": [], "left": 0, "exact": True}
    assert len(ask(other, "open")["branches"]) == 3


def test_a_view_that_is_behind_is_refused_and_nothing_is_done_twice() -> None:
    screen = Workbench(fresh())
    seen = ask(screen, "pipeline.open")["plan"]
    ask(screen, "pipeline.without", step=step_id(screen, "FuseOps"), seen=seen)
    reply = screen.ask("pipeline.undo", seen=seen).content
    error = reply["err"]
    assert error["code"] == "E-UI-STALE" and len(ask(screen, "open")["calls"]) == 1
    assert error["where"] == "the list of steps" and error["found"] != error["expected"] and error["fix"]
    assert "refused" not in ask(screen, "pipeline.undo", seen=ask(screen, "pipeline.open")["plan"])


def test_a_model_of_the_same_name_and_other_content_is_offered_them_with_a_word(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = small_model()
    onnx.save(model, tmp_path / "net.onnx")
    first = Workbench(wb.open(str(tmp_path / "net.onnx")))
    ask(first, "pipeline.without", step=step_id(first, "FuseOps"))
    ask(first, "pipeline.without", step=step_id(first, "FoldScaleAxis"))
    restarted(monkeypatch)
    save_with_other_weights(model, tmp_path / "net.onnx")

    second = Workbench(wb.open(str(tmp_path / "net.onnx")))
    assert facts(second)["offer"]["note"] == "they were made on another version of net.onnx"
    told = ask(second, "changes.restore")
    assert told == {"restored": 2, "refused": [], "left": 0, "exact": False}
    assert ask(second, "open")["calls"] == ask(first, "open")["calls"]


def test_another_session_from_a_cell_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Workbench(fresh())
    ask(screen, "pipeline.without", step=step_id(screen, "FuseOps"))
    screen.session = fresh().without("FoldScaleAxis")
    assert facts(screen)["count"] == 0
    ask(screen, "pipeline.without", step=step_id(screen, "SimplifyInference"))
    assert facts(screen)["count"] == 1
    restarted(monkeypatch)
    assert facts(Workbench(fresh().without("FoldScaleAxis")))["offer"]["calls"] == [
        "s = s.without('SimplifyInference')"
    ]
    assert facts(Workbench(fresh()))["offer"]["calls"] == ["s = s.without('FuseOps')"]


def test_a_recorded_page_holds_no_offer(monkeypatch: pytest.MonkeyPatch) -> None:
    split(of_matmul())
    restarted(monkeypatch)
    screen = of_matmul()
    assert facts(screen)["offer"]
    assert "changes" not in record(screen, budget=1).replies[key_of("open", {})]


def test_a_list_of_steps_with_something_left_out_is_another_one_though_the_same_steps_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Left out and put in again by another page: an undo that has not seen it is refused, and a restore is exact."""
    screen = Workbench(fresh())
    seen = ask(screen, "pipeline.open")["plan"]
    before = [step["name"] for step in ask(screen, "pipeline.open")["steps"]]
    behind = before[before.index("FuseOps") - 1]
    ask(screen, "pipeline.without", step=step_id(screen, "FuseOps"), seen=seen)
    ask(screen, "pipeline.insert", step=step_id(screen, behind), name="FuseOps")
    view = ask(screen, "pipeline.open")
    assert [step["name"] for step in view["steps"] if not step["left_out"]] == before and view["plan"] != seen
    assert screen.ask("pipeline.undo", seen=seen).content["err"]["code"] == "E-UI-STALE"
    assert len(ask(screen, "open")["calls"]) == 2
    restarted(monkeypatch)
    other = Workbench(fresh())
    assert facts(other)["offer"]["count"] == 2
    assert ask(other, "changes.restore")["exact"] and ask(other, "pipeline.open")["plan"] == view["plan"]
