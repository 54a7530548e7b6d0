"""A module is imported whole whatever is pressed meanwhile, and the interrupt is heard afterwards."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from workbench.core.whole_import import import_whole

NAME = "interrupted_in_the_middle"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Writes the module, which presses Ctrl-C in its body."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.syspath_prepend(tmp_path)

    def written(rest: str) -> None:
        (tmp_path / f"{NAME}.py").write_text(f"import signal\nsignal.raise_signal(signal.SIGINT)\n{rest}\n")

    yield written
    sys.modules.pop(NAME, None)
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_comes_when_the_module_is_whole(write: Callable[[str], None]) -> None:
    write("value = 7")
    with pytest.raises(KeyboardInterrupt):
        import_whole(NAME)
    assert sys.modules[NAME].value == 7
    assert import_whole(NAME).value == 7
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_ones_own_is_called_once(write: Callable[[str], None]) -> None:
    heard: list[Any] = []
    signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    write("signal.raise_signal(signal.SIGINT)\nvalue = 7")
    assert import_whole(NAME).value == 7
    assert heard == [signal.SIGINT]


def test_ignored_signals_stay_ignored(write: Callable[[str], None]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    write("value = 7")
    assert import_whole(NAME).value == 7 and signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_an_import_that_fails_says_so(write: Callable[[str], None]) -> None:
    write("")
    with pytest.raises(ModuleNotFoundError):
        import_whole("a_module_that_is_not_there")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_leave_the_handler_alone(write: Callable[[str], None], tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.py").write_text("import signal\nhandler = signal.getsignal(signal.SIGINT)\n")
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(import_whole(NAME).handler))
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]
