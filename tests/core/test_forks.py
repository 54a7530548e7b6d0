"""Work done in a fork: what it gives, and every way in which it can end without."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from workbench.core.errors import WorkbenchError
from workbench.core.forks import in_fork

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no forks")


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_what_the_work_gives_comes_back_and_nothing_else_of_it_does(tmp_path: Path) -> None:
    kept: list[int] = []

    def work() -> dict[str, Any]:
        kept.append(1)
        Path("left.txt").write_text("x")
        return {"outcome": {"kind": "value", "text": "é" * 1000}, "folder": os.getcwd()}

    found = in_fork(work, 5)
    assert found["outcome"]["text"] == "é" * 1000 and not kept
    assert Path(found["folder"]).parent == tmp_path and list(tmp_path.iterdir()) == []


def fails() -> dict[str, Any]:
    raise WorkbenchError("E-TEST", "no", fix="yes")


def hungry() -> dict[str, Any]:
    raise MemoryError


def busy() -> dict[str, Any]:
    while True:
        pass


def silent() -> dict[str, Any]:
    os.closerange(0, 100)
    time.sleep(1000)
    return {}


@pytest.mark.parametrize(
    ("work", "key", "value"),
    [
        (fails, "error", {"code": "E-TEST", "message": "no", "where": "", "found": "", "expected": "", "fix": "yes",
                          "kept": ""}),
        (hungry, "limit", "memory"),
        (lambda: os._exit(3), "ended", 3),
        (lambda: os._exit(0), "ended", 0),
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "ended", -signal.SIGSEGV),
        (lambda: sys.exit(4), "ended", 70),
        (silent, "garbled", "it closed its pipe and went on"),
    ],
    ids=["an error", "no memory", "a status", "nothing said", "a crash", "an exit", "a closed pipe"],
)  # fmt: skip
def test_every_other_end_has_its_name(work: Any, key: str, value: Any) -> None:
    assert in_fork(work, 5)[key] == value


def test_processor_time_is_counted_for_each_alone() -> None:
    assert in_fork(busy, 1)["ended"] in (-signal.SIGXCPU, -signal.SIGKILL)
    assert in_fork(lambda: {"done": True}, 1)["done"]


def test_bytes_that_are_no_answer_are_not_read_as_one() -> None:
    def writes() -> dict[str, Any]:
        for number in range(3, 50):
            try:
                os.write(number, b"points: 2" * 100)
            except OSError:
                continue
        return {"points": 0}

    assert "garbled" in in_fork(writes, 5)
