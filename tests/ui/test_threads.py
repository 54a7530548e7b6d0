"""Cells that ask one screen from several threads get the answers that one after another would get."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.ui.commands import KERNEL, graph_screen, schedule_screen
from workbench.ui.workbench import Workbench


def refusals(screen: Workbench, asked: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    with ThreadPoolExecutor(3) as pool:
        replies = list(pool.map(lambda one: screen.ask(one[0], **one[1]).content, asked))
    return [reply["err"] for reply in replies if not reply["ok"]]


def test_three_threads_look_at_one_screen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path))
    looks: list[tuple[str, dict[str, Any]]] = [
        ("open", {}), ("kernels", {}), ("pipeline.open", {}), ("links", {"kernel": KERNEL}),
        ("pane", {"layer": "asm", "kernel": KERNEL}), ("graph", {"layer": "relay", "opened": [], "step": ""}),
    ]  # fmt: skip
    assert refusals(graph_screen(), looks * 10) == []


def test_moves_and_undo_of_three_threads_leave_session_and_schedule_in_agreement(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path))
    screen = schedule_screen()
    move = {"kernel": "main", "primitive": "unroll", "selection": "l:C:3", "arguments": {}}
    asked: list[tuple[str, dict[str, Any]]] = [("schedule.apply", move), ("schedule.undo", {"kernel": "main"})] * 10
    assert all(error["code"] != "E-INTERNAL" for error in refusals(screen, [*asked, ("open", {})] * 2))
    moves = screen.schedule.moves
    assert screen.session.schedule("main").fingerprint() == moves.state(moves.here).fingerprint
