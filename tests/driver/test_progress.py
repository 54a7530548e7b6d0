"""Bars of long work: which work tells of itself, and where a bar is drawn."""

from __future__ import annotations

import io
import sys
import time
from types import SimpleNamespace

import pytest

from tests.core.test_progress import Bars
from tests.driver.programs import small_inputs, small_model
from workbench.codegen.llvm import cache
from workbench.core import progress
from workbench.driver import progress as bars
from workbench.driver.open import open_session


def test_every_stage_of_a_build_tells_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE", "off")
    cache.memory.clear()
    heard = Bars()
    with progress.listening(heard):
        session = open_session(small_model())
        session.build()
        session.check_numerics(small_inputs())
    text = "\n".join(heard.lines)
    for said in ("import of 10", "pipeline of", "check numbers of", "check numbers closed"):
        assert said in text, said
    for inside in ("FoldConstant", "lower 1/", "schedule 1/", "functions 1/", "compile 1/"):
        assert f"pipeline: {inside}" in text, inside


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_drawn_on_a_terminal_after_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    for delay, drawn in ((1000.0, False), (1e-9, True)):
        monkeypatch.setattr(bars, "DELAY_SECONDS", delay)
        monkeypatch.setattr(sys, "stderr", Terminal())
        with bars.shown():
            for _ in progress.track(range(3), "working"):
                time.sleep(0.25 if drawn else 0)
        assert ("working" in sys.stderr.getvalue()) == drawn  # type: ignore[attr-defined]


def test_a_bar_in_a_notebook_is_one_line_that_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    import IPython.display

    lines: list[str] = []

    def display(data: dict[str, str], raw: bool, display_id: bool = True) -> SimpleNamespace:
        lines.append(data["text/plain"])
        return SimpleNamespace(update=display)

    monkeypatch.setattr(IPython.display, "display", display)
    monkeypatch.setattr(bars, "place", lambda: "notebook")
    monkeypatch.setattr(bars, "REDRAW_SECONDS", 0.0)
    with bars.shown():
        list(progress.track(range(3), "short"))
    assert lines == []
    monkeypatch.setattr(bars, "DELAY_SECONDS", 0.0)
    with bars.shown(), pytest.raises(KeyboardInterrupt):
        for number in progress.track(range(3), "long", lambda number: f"part {number}"):
            if number == 2:
                raise KeyboardInterrupt
    assert any("long" in line and "2/3" in line and "part 2" in line for line in lines)
    assert lines[-1] == ""


def test_where_bars_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert bars.place() == ""
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert bars.place() == "terminal"
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert bars.place() == "notebook"
    monkeypatch.setenv("WORKBENCH_PROGRESS", "off")
    assert bars.place() == ""


def test_nothing_is_printed_where_there_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    open_session(small_model()).build()
    assert capfd.readouterr() == ("", "")
