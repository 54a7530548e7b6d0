"""Branches that cells make show on the screen: pages are told, once until they ask."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.ui.asking import ask
from tests.ui.test_changes import fresh, step_id
from workbench.ui.workbench import Workbench


def watched(screen: Workbench, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what the screen's pages are told from now on."""
    told: list[str] = []
    announce = screen.announce

    def listening(name: str, **args: Any) -> None:
        told.append(name)
        announce(name, **args)

    monkeypatch.setattr(screen, "announce", listening)
    return told


def test_pages_are_told_of_a_cells_branches_once_until_they_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Workbench(fresh())
    told = watched(screen, monkeypatch)
    for name in ("FuseOps", "FoldScaleAxis", "FuseOps"):
        assert screen.session.without(name)
    assert told == ["branches"]
    listed = ask(screen, "branches.list")
    assert len(listed["branches"]) == 3 and listed["branch"] == 0
    assert screen.session.without("FuseOps") and told == ["branches"]  # it is known already
    thread = threading.Thread(target=lambda: screen.session.without("SimplifyExpr"))
    thread.start()
    thread.join()
    assert told == ["branches"] * 2 and len(ask(screen, "open")["branches"]) == 4


def test_what_the_screen_makes_itself_is_told_as_its_change_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Workbench(fresh())
    told = watched(screen, monkeypatch)
    ask(screen, "pipeline.without", step=step_id(screen, "FuseOps"))
    assert told == ["changed"]


def test_branches_of_another_session_are_told_once_that_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, before, other = Workbench(fresh()), fresh(), fresh()
    shown_first = screen.session
    told = watched(screen, monkeypatch)
    assert other.without("FuseOps") and told == []
    screen.session = other
    assert before.without("FuseOps") and shown_first.without("FuseOps") and told == ["changed"]
    assert other.without("FoldScaleAxis") and told == ["changed", "branches"]
    ask(screen, "pipeline.undo")
    assert screen.session.without("FoldScaleAxis") and told[-1] == "changed"  # pages have not asked yet
    assert len(ask(screen, "branches.list")["branches"]) == 3
    assert screen.session.without("SimplifyExpr") and told[-1] == "branches"
