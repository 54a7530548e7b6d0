"""Saved changes are offered to one screen at a time, whichever process it is of."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.ui.asking import ask, refused, restarted
from tests.ui.test_changes import facts, of_matmul, split
from workbench.core import host
from workbench.ui.changes_store import packed, unpacked

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
