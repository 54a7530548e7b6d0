"""Progress bars of long work, in a terminal or a notebook; nothing elsewhere, and nothing for what is over in a second.

    with shown():
        build(...)

`WORKBENCH_PROGRESS=off` switches them off.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from ..core import collecting, progress

P = ParamSpec("P")
R = TypeVar("R")
DELAY_SECONDS = 1.0
REDRAW_SECONDS = 0.2


def place() -> str:
    """Where bars can be shown: "notebook", "terminal" or nowhere ("")."""
    if os.environ.get("WORKBENCH_PROGRESS", "").lower() in ("off", "0", "no", "false"):
        return ""
    shell = sys.modules.get("IPython")
    current = shell.get_ipython() if shell is not None else None
    if type(current).__name__ == "ZMQInteractiveShell":
        return "notebook"
    stream = sys.stderr
    return "terminal" if stream is not None and stream.isatty() else ""


@contextmanager
def shown() -> Iterator[None]:
    """Show the work inside the block as a bar, where that is possible."""
    kind = {"terminal": TerminalBar, "notebook": NotebookBar}.get(place())
    if kind is None:
        yield
        return
    with progress.listening(kind):
        yield


def with_progress(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, its work shown, and not held up by Python's cycle collector."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with collecting.rarely(), shown():
            return function(*args, **kwargs)

    return run


class TerminalBar:
    """A bar of tqdm, drawn once the work has taken a second, gone when it is over."""

    def __init__(self, title: str, total: int) -> None:
        from tqdm import tqdm

        self._next = time.monotonic() + DELAY_SECONDS
        self._bar: Any = tqdm(
            total=total, desc=title, delay=DELAY_SECONDS, leave=False, mininterval=REDRAW_SECONDS, dynamic_ncols=True
        )

    def advance(self, count: int) -> None:
        self._bar.update(count)

    def note(self, text: str) -> None:
        now = time.monotonic()
        draw = now >= self._next
        if draw:
            self._next = now + REDRAW_SECONDS
        self._bar.set_postfix_str(text[:60], refresh=draw)

    def close(self) -> None:
        self._bar.close()


class NotebookBar:
    """The same as one line of a cell's output, replaced in place and empty when the work is over.

    No widget: a widget would stay in the saved notebook as an output that nothing draws.
    """

    def __init__(self, title: str, total: int) -> None:
        self._title = title
        self._total = total
        self._done = 0
        self._note = ""
        self._begun = time.monotonic()
        self._next = self._begun + DELAY_SECONDS
        self._handle: Any = None

    def advance(self, count: int) -> None:
        self._done += count
        self._draw()

    def note(self, text: str) -> None:
        self._note = text[:60]
        self._draw()

    def _draw(self) -> None:
        from tqdm import tqdm

        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + REDRAW_SECONDS
        meter = tqdm.format_meter
        line = meter(self._done, self._total, now - self._begun, ncols=100, prefix=self._title, postfix=self._note)
        self._put(line)

    def _put(self, line: str) -> None:
        from IPython.display import display

        if self._handle is None:
            self._handle = display({"text/plain": line}, raw=True, display_id=True)
        else:
            self._handle.update({"text/plain": line}, raw=True)

    def close(self) -> None:
        if self._handle is not None:
            self._put("")
