"""Ctrl-C held back while something is done that must be done whole; it is heard afterwards.

    with interrupts_held():                 # raises KeyboardInterrupt at the end, if there was one
        extension = importlib.import_module("onnx")

    with Interruptible() as block:          # may be interrupted...
        change()
        hold_interrupts()                   # ... from here on not: what was done is kept
        save()
    block.heard                             # whether there was one since

Python runs handlers of signals in the main thread only: in another one nothing has to be held back.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Interruptible:
    """A block from whose `hold_interrupts()` on Ctrl-C waits for its end."""

    def __init__(self) -> None:
        self._handler: Any = None
        self._signals: list[tuple[int, FrameType | None]] = []

    @property
    def heard(self) -> bool:
        """Whether an interrupt came while they were held."""
        return bool(self._signals)

    def __enter__(self) -> Interruptible:
        if _in_main_thread():
            _blocks.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self in _blocks:
            _blocks.remove(self)
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)

    def hold(self) -> None:
        handler = signal.getsignal(signal.SIGINT)
        if self._handler is None and callable(handler):
            self._handler = handler
            signal.signal(signal.SIGINT, lambda number, frame: self._signals.append((number, frame)))

    def deliver(self) -> None:
        """Call the handler that the interrupt was meant for, if there was one."""
        if self._signals:
            self._handler(*self._signals[0])


_blocks: list[Interruptible] = []
"""Of the main thread, innermost last."""


def hold_interrupts() -> None:
    """In the innermost `Interruptible` block, hold interrupts from here on."""
    if _blocks and _in_main_thread():
        _blocks[-1].hold()


@contextmanager
def interrupts_held() -> Generator[None]:
    """A block that is done whole; an interrupt meanwhile is raised when it is done."""
    block = Interruptible()
    try:
        with block:
            if _in_main_thread():
                block.hold()
            yield
    finally:
        block.deliver()


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
