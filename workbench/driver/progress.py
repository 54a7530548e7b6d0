"""Progress bars of long work, in a terminal or a notebook; nothing elsewhere, and nothing for what is over in a second.

    with shown():
        build(...)

`WORKBENCH_PROGRESS=off` switches them off.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from ..core import progress

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
    if not place():
        yield
        return
    with progress.listening(TqdmBar):
        yield


def with_progress(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, its work shown."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with shown():
            return function(*args, **kwargs)

    return run


class TqdmBar:
    """A bar of tqdm, drawn once the work has taken a second, gone when it is over."""

    def __init__(self, title: str, total: int) -> None:
        self._next = time.monotonic() + DELAY_SECONDS
        self._bar: Any = _kind()(
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


def _kind() -> Any:
    if place() == "notebook" and importlib.util.find_spec("ipywidgets") is not None:
        from tqdm.notebook import tqdm as notebook_bar

        return notebook_bar
    from tqdm import tqdm

    return tqdm
