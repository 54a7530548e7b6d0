"""Python's cycle collector, called less often while the compiler works.

Programs are trees: hardly anything that a build makes lies in a cycle, and each full collection walks all that lives.
At Python's own setting collections are 9 % of a build, more in a process that holds much else.

Invariant: when the last of the calls ends, the setting is as before; one that was switched off stays off.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

ALLOCATIONS = 50_000
"""New objects from one collection of the young to the next."""

_lock = threading.Lock()
_running = 0
_before = (0, 0, 0)


@contextmanager
def rarely() -> Generator[None]:
    """Collect less often inside the block; blocks may nest and run at once in several threads."""
    global _running, _before
    with _lock:
        if not _running:
            _before = gc.get_threshold()
            if 0 < _before[0] < ALLOCATIONS:
                gc.set_threshold(ALLOCATIONS, *_before[1:])
        _running += 1
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            if not _running and gc.get_threshold() == (ALLOCATIONS, *_before[1:]):
                gc.set_threshold(*_before)
