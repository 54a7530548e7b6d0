"""A journal holds all that changes the program, says where it was cut, and replay says so too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import workbench as wb
from tests.schedule.programs import plain_matmul
from tests.ui.asking import ask, refused
from workbench._lazy import session_of
from workbench.core.errors import WorkbenchError
from workbench.driver.cli import app
from workbench.schedule import Schedule
from workbench.ui import journal
from workbench.ui.journal import Replayed, replay
from workbench.ui.workbench import Workbench

LIMIT = 8


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "LIMIT", LIMIT)


def of_matmul() -> Workbench:
    return Workbench(wb.open(plain_matmul(8, 8, 8)), unattended=True)


def move(screen: Workbench, primitive: str, selection: str) -> None:
    ask(screen, "schedule.apply", kernel="main", primitive=primitive, selection=selection, arguments={})


def long_one() -> Workbench:
    """With more questions than are kept before, between and after its moves."""
    screen = of_matmul()
    for primitive, selection in (("unroll", "l:C:2"), ("parallel", "l:C:0")):
        for _ in range(LIMIT + 2):
            ask(screen, "select", classes=[0])
        move(screen, primitive, selection)
    ask(screen, "pane", layer="tir", kernel="main")
    return screen


def test_what_changes_the_program_is_kept_after_the_limit() -> None:
    found = replay(long_one().journal())
    assert found.different == (), "replay accuses the compiler of what the journal lacks"
    assert found == Replayed(LIMIT + 2, (), LIMIT)


def test_refused_changes_are_kept_too() -> None:
    screen = long_one()
    refused(screen, "schedule.apply", kernel="main", primitive="vectorize", selection="l:C:9", arguments={})
    assert json.loads(screen.journal())["requests"][-1][0] == "schedule.apply"
    assert replay(screen.journal()).different == ()


def test_a_cut_journal_says_where_it_was_cut() -> None:
    assert "cut" not in json.loads(of_matmul().journal())
    document = json.loads(long_one().journal())
    assert document["cut"] == LIMIT
    assert [op for op, _, _ in document["requests"]] == ["select"] * LIMIT + ["schedule.apply"] * 2


def test_replay_says_what_a_cut_journal_lacks(tmp_path: Path) -> None:
    document = json.loads(long_one().journal())
    (tmp_path / "whole.json").write_text(json.dumps(document))
    told = CliRunner().invoke(app, ["replay", str(tmp_path / "whole.json")])
    assert told.exit_code == 0, told.output
    assert "all answered as before" in told.output
    assert f"after request {LIMIT} it holds only what changes the program" in told.output
    del document["requests"][-1]
    (tmp_path / "other.json").write_text(json.dumps(document))
    told = CliRunner().invoke(app, ["replay", str(tmp_path / "other.json")])
    assert told.exit_code == 1 and "another one" in told.output
    assert "may come of that" in told.output


def test_a_journal_is_whole_again_without_what_came_to_nothing() -> None:
    """A restore that is tried again takes back what it did the first time."""
    kept = of_matmul()._begun.journal
    for number in range(LIMIT + 2):
        kept.add(journal.Entry("select", {"classes": [number]}, "ok"))
    assert kept.cut == LIMIT
    kept.back_to(LIMIT)
    assert kept.cut == LIMIT, "what was left out came before"
    kept.back_to(3)
    assert kept.cut is None and len(kept.entries) == 3


@pytest.mark.parametrize("cut", ["3", -1, True, 2.5])
def test_a_file_with_another_cut_is_no_journal(cut: object) -> None:
    document = json.loads(of_matmul().journal())
    with pytest.raises(WorkbenchError) as caught:
        replay(json.dumps({**document, "cut": cut}))
    assert caught.value.code == "E-UI-JOURNAL"


def test_what_a_cell_did_to_the_schedule_is_in_the_journal() -> None:
    """Replay said that the program at the end is another one: the cell's move was in no request."""
    schedule = Schedule(plain_matmul(8, 8, 8))
    screen = Workbench(session_of(schedule), schedule, unattended=True)
    move(screen, "unroll", "l:C:2")
    schedule.parallel(schedule.get_loops("C")[0])
    ask(screen, "pane", layer="tir", kernel="main")
    move(screen, "vectorize", "l:C:1")
    assert replay(screen.journal()).different == ()
    schedule.moves.back()
    assert replay(screen.journal()).different == ()
