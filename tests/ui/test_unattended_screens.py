"""Screens that nobody works on, as a shared page and a replayed journal have them, leave the user's changes alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from tests.driver.programs import small_model
from tests.schedule.programs import plain_matmul
from tests.ui.asking import ask, restarted
from workbench.ui.changes_store import packed, unpacked
from workbench.ui.journal import replay
from workbench.ui.workbench import Workbench

pytestmark = pytest.mark.usefixtures("kept_here")


def of_matmul() -> Workbench:
    return Workbench(wb.open(plain_matmul(8, 8, 8)))


def moved(primitive: str = "unroll", selection: str = "l:C:2") -> Workbench:
    screen = of_matmul()
    ask(screen, "schedule.apply", kernel="main", primitive=primitive, selection=selection, arguments={})
    return screen


def files(cache: Path) -> int:
    return len(list((cache / "cache" / "changes-1").glob("*")))


def test_a_page_that_is_written_takes_no_offer_from_the_screen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    moved()
    restarted(monkeypatch)
    screen = of_matmul()
    assert ask(screen, "open")["changes"]["offer"] is not None
    screen.session.to_html(tmp_path / "page.html")
    assert ask(screen, "open")["changes"]["offer"] is not None
    assert ask(screen, "changes.restore")["exact"]


def test_a_replayed_journal_keeps_no_changes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    screen = moved()
    journal = screen.journal()
    ask(screen, "pipeline.undo")
    assert files(tmp_path) == 0
    assert replay(journal).different == () and files(tmp_path) == 0
    restarted(monkeypatch)
    assert ask(of_matmul(), "open")["changes"]["offer"] is None


def test_a_replayed_journal_throws_no_changes_away(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    moved()
    restarted(monkeypatch)
    screen = of_matmul()
    assert ask(screen, "open")["changes"]["offer"] is not None
    ask(screen, "changes.discard")
    journal = screen.journal()
    moved("parallel", "l:C:0")
    assert files(tmp_path) == 1
    assert replay(journal).different == () and files(tmp_path) == 1


def test_what_was_restored_is_in_the_journal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = moved()
    restarted(monkeypatch)
    screen = of_matmul()
    assert ask(screen, "open")["changes"]["offer"] is not None and ask(screen, "changes.restore")["exact"]
    ask(screen, "schedule.apply", kernel="main", primitive="parallel", selection="l:C:0", arguments={})
    ask(screen, "pipeline.undo")
    assert screen.session.to_python() == first.session.to_python()
    for path in (tmp_path / "cache" / "changes-1").iterdir():
        path.unlink()
    assert replay(screen.journal()).different == ()


def test_a_restore_that_is_tried_again_is_in_the_journal_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What was done the first time came to nothing, and stood in the journal before what was done the second time."""
    first = moved()
    ask(first, "schedule.apply", kernel="main", primitive="parallel", selection="l:C:0", arguments={})
    (path,) = (tmp_path / "cache" / "changes-1").iterdir()
    document = unpacked(path.read_bytes())
    assert document is not None
    document["entries"][1]["args"] |= {"selection": "l:C:9"}
    path.write_bytes(packed(document))
    restarted(monkeypatch)
    screen = of_matmul()
    assert ask(screen, "open")["changes"]["offer"] is not None
    assert [ask(screen, "changes.restore")["left"] for _ in range(2)] == [1, 1]
    assert replay(screen.journal()).different == ()


def test_a_journal_that_begins_with_a_schedule_by_hand_is_answered_alike() -> None:
    """The steps that a file holds are those that were saved, by their ids too."""
    session = wb.open(small_model())
    kernel = session.kernels[0]
    schedule = session.schedule(kernel)
    schedule.unroll(schedule.get_loops("data_pad")[0])
    screen = Workbench(session.edit(schedule={kernel: schedule}))
    ask(screen, "target.set", text="llvm -vector-width=128", seen=ask(screen, "open")["plan"])
    assert replay(screen.journal()).different == ()
