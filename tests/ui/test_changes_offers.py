"""Saved changes are offered to one screen at a time, whichever process it is of."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest

import workbench as wb
from tests.driver.programs import small_model
from tests.ui.asking import ask, refused, restarted
from tests.ui.test_changes import facts, fresh, of_matmul, save_with_other_weights, split, step_id
from tests.ui.test_changes_branches import changed_on_disk
from workbench.core import host
from workbench.ui import changes_offers
from workbench.ui.changes_store import packed, unpacked
from workbench.ui.workbench import Workbench

pytestmark = pytest.mark.usefixtures("kept_here")


def test_what_two_screens_left_is_offered_to_one_screen_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both new screens were offered the changes of the newer one, and nobody those of the other."""
    one, other = of_matmul(), of_matmul()
    split(one)
    split(other, size=4)
    split(other, "l:C:1", 2)
    restarted(monkeypatch)
    first, second = of_matmul(), of_matmul()
    assert [facts(screen)["offer"]["count"] for screen in (first, second)] == [2, 1]
    assert [facts(screen)["offer"]["count"] for screen in (first, second)] == [2, 1], "asked again"
    ask(second, "changes.restore")
    ask(first, "changes.restore")
    assert (first.code, second.code) == (other.code, one.code)


def test_a_cell_that_is_run_again_takes_over_what_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    split(of_matmul())
    restarted(monkeypatch)
    first = of_matmul()
    assert facts(first)["offer"] is not None
    sent: list[Any] = []
    object.__setattr__(first, "send", lambda content, buffers=None: sent.append(content["event"]))
    second = of_matmul()
    assert facts(second)["offer"] is not None and facts(first)["offer"] is None and sent == ["changed"]
    assert refused(first, "changes.restore")["code"] == "E-UI-CHANGES" and not first.schedule.moves.done
    ask(first, "changes.discard")
    assert ask(second, "changes.restore")["exact"]


def test_what_a_screen_of_another_process_is_offered_is_not_offered_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    split(of_matmul())
    restarted(monkeypatch)
    (path,) = (tmp_path / "cache" / "changes-1").iterdir()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as another:
        document = unpacked(path.read_bytes())
        assert document is not None
        told = {"host": platform.node(), "number": str(another.pid), "began": host._began(another.pid)}
        path.write_bytes(packed({**document, "offered": told}))
        assert facts(of_matmul())["offer"] is None
        another.communicate(b"\n")
    assert facts(of_matmul())["offer"]["count"] == 1
    kept = unpacked(path.read_bytes())
    assert kept is not None and kept["offered"] == host.this_process()


def of_earlier_times(folder: Path, *sizes: int) -> list[Path]:
    """The files of as many kernels, each with one split of this size, the oldest first."""
    paths: list[Path] = []
    for at, size in enumerate(sizes):
        split(of_matmul(), size=size)
        (path,) = {*(folder / "cache" / "changes-1").iterdir()} - {*paths}
        document = unpacked(path.read_bytes())
        assert document is not None
        process = {**document["process"], "number": str(-1 - at)}
        path.write_bytes(packed({**document, "process": process, "at": 1e9 + at}))
        paths.append(path)
    return paths


def offered(screen: Any) -> tuple[int, int, str]:
    offer = facts(screen)["offer"]
    return offer["number"], offer["of"], offer["calls"][0].rpartition("None, ")[2].partition("]")[0]


def test_of_several_times_each_can_be_looked_at_and_says_which_it_is(tmp_path: Path) -> None:
    """Any was said to be of the last time, and an older one could be had only by throwing away the newer ones."""
    of_earlier_times(tmp_path, 2, 4, 8)
    screen = of_matmul()
    seen = [offered(screen)]
    for _ in range(3):
        ask(screen, "changes.another")
        seen.append(offered(screen))
    assert seen == [(1, 3, "8"), (2, 3, "4"), (3, 3, "2"), (1, 3, "8")]
    ask(screen, "changes.another")
    assert ask(screen, "changes.restore")["exact"] and "factors=[None, 4]" in screen.code
    assert refused(screen, "changes.another")["code"] == "E-UI-CHANGES"


def test_what_is_discarded_takes_older_times_along_and_no_newer_one(tmp_path: Path) -> None:
    """Each restart brought up an older one."""
    *_, newest = of_earlier_times(tmp_path, 2, 4, 8)
    screen = of_matmul()
    assert offered(screen)[:2] == (1, 3)
    ask(screen, "changes.another")
    ask(screen, "changes.discard")
    assert [*(tmp_path / "cache" / "changes-1").iterdir()] == [newest]
    other = of_matmul()
    assert offered(other) == (1, 1, "8")
    ask(other, "changes.discard")
    assert facts(of_matmul())["offer"] is None


def test_older_changes_that_another_screen_is_offered_are_left_to_it(tmp_path: Path) -> None:
    of_earlier_times(tmp_path, 2, 4)
    first, second = of_matmul(), of_matmul()
    assert [offered(screen) for screen in (first, second)] == [(1, 2, "4"), (2, 2, "2")]
    ask(first, "changes.another")
    assert offered(first) == (1, 2, "4")
    ask(first, "changes.discard")
    assert ask(second, "changes.restore")["exact"]


def test_older_changes_that_another_process_is_offered_meanwhile_are_left_to_it(tmp_path: Path) -> None:
    """Whom they were offered to was known from when this screen first looked."""
    older, _ = of_earlier_times(tmp_path, 2, 4)
    screen = of_matmul()
    assert offered(screen) == (1, 2, "4")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as another:
        document = unpacked(older.read_bytes())
        assert document is not None
        told = {"host": platform.node(), "number": str(another.pid), "began": host._began(another.pid)}
        older.write_bytes(packed({**document, "offered": told}))
        ask(screen, "changes.another")
        assert offered(screen) == (1, 2, "4")
        ask(screen, "changes.discard")
        assert [*older.parent.iterdir()] == [older]
        another.communicate(b"\n")


def test_changes_of_another_notebook_are_offered_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A model opened as a document asked about the changes of any notebook.  One that was renamed is no other."""
    for name in ("one.ipynb", "net.onnx"):
        (tmp_path / name).touch()
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "one.ipynb"))
    of_earlier_times(tmp_path, 2)
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "net.onnx"))
    assert facts(of_matmul())["offer"] is None
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "one.ipynb"))
    assert facts(of_matmul())["offer"] is not None
    (tmp_path / "one.ipynb").rename(tmp_path / "two.ipynb")
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "two.ipynb"))
    assert facts(of_matmul())["offer"] is not None


def test_changes_of_another_version_are_offered_after_those_of_this_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One change on the new version, and they were offered no more, nor what was restored of them."""
    model, path = small_model(), str(tmp_path / "net.onnx")
    onnx.save(model, path)

    def opened() -> Workbench:
        return Workbench(wb.open(path))

    def left_out(screen: Workbench, *labels: str) -> None:
        for label in labels:
            ask(screen, "pipeline.without", step=step_id(screen, label))

    left_out(opened(), "FoldScaleAxis", "SimplifyExpr")
    changed_on_disk(tmp_path, 1, {"step": "gone"})
    restarted(monkeypatch)
    save_with_other_weights(model, tmp_path / "net.onnx")
    one, other = opened(), opened()
    assert facts(other)["offer"]["note"] and ask(other, "changes.restore")["left"] == 1
    left_out(one, "FuseOps")

    changes_offers._HOLDERS.clear()  # the kernel was restarted
    later = opened()
    offer = facts(later)["offer"]
    assert (offer["calls"], offer["note"], offer["of"]) == (["s = s.without('FuseOps')"], "", 2)
    later = opened()
    assert facts(later)["offer"]["calls"] == offer["calls"], "the cell was run again: it takes over the same"
    ask(later, "changes.another")
    offer = facts(later)["offer"]
    assert offer["note"] == "they were made on another version of net.onnx" and (offer["number"], offer["of"]) == (2, 2)
    assert ask(later, "changes.restore")["restored"] == 1


def test_discarding_leaves_what_was_made_on_other_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be another cell's, whose screen is not open yet."""

    def opened(*without: str) -> Workbench:
        session = fresh()
        for label in without:
            session = session.without(label)
        return Workbench(session)

    for without in (("FuseOps",), ()):
        screen = opened(*without)
        ask(screen, "pipeline.without", step=step_id(screen, "FoldScaleAxis"))
    for path in (tmp_path / "cache" / "changes-1").iterdir():  # of two processes
        document = unpacked(path.read_bytes())
        assert document is not None
        path.write_bytes(packed({**document, "process": {**document["process"], "number": str(document["at"])}}))
    restarted(monkeypatch)
    screen = opened()
    assert facts(screen)["offer"]["note"] == "" and facts(screen)["offer"]["of"] == 2
    ask(screen, "changes.discard")
    offer = facts(opened("FuseOps"))["offer"]
    assert (offer["count"], offer["note"], offer["of"]) == (1, "", 1)
