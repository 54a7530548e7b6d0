"""Running somebody's recursive function over a deep program: more Python frames, and a larger stack where it needs one.

The workbench's own walks are iterative.  Visitors that people write recurse, a few frames for each level of the
program; this gives them room.

>>> def count(n):
...     return 0 if n == 0 else 1 + count(n - 1)
>>> with_room(lambda: count(20_000), 20_000)
20000
"""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

T = TypeVar("T")

FRAMES_PER_LEVEL: Final = 12
"""Python frames that a visitor may take for each level of the program."""

IN_PLACE: Final = 800
"""Levels up to which the thread's own stack is large enough, so that a debugger finds the caller in place."""

_BYTES_PER_FRAME: Final = 1024
_LEAST_STACK: Final = 64 << 20
_MOST_STACK: Final = 4 << 30


def with_room(function: Callable[[], T], levels: int) -> T:
    """`function()`, with room for so many levels of recursion."""
    frames = levels * FRAMES_PER_LEVEL + 1000
    if levels <= IN_PLACE:
        return _with_limit(function, frames)
    return _in_thread(lambda: _with_limit(function, frames), frames * _BYTES_PER_FRAME)


def _with_limit(function: Callable[[], T], frames: int) -> T:
    before = sys.getrecursionlimit()
    if frames <= before:
        return function()
    sys.setrecursionlimit(before + frames)
    try:
        return function()
    finally:
        sys.setrecursionlimit(before)


def _in_thread(function: Callable[[], T], stack: int) -> T:
    """`function()` on a thread with a stack of its own, in this context; its exception is raised here."""
    outcome: list[Any] = []
    context = contextvars.copy_context()

    def run() -> None:
        try:
            outcome.extend((True, context.run(function)))
        except BaseException as error:  # handed over, whatever it is
            outcome.extend((False, error))

    before = threading.stack_size(min(max(stack, _LEAST_STACK), _MOST_STACK))
    try:
        thread = threading.Thread(target=run, name="workbench-deep", daemon=True)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    succeeded, value = outcome
    if succeeded:
        return value
    raise value
