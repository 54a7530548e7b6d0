"""Time-boxes: work that asks now and then whether its time is over, so that a hostile input ends in an error.

    with time_limit(5):
        session = wb.open("model.onnx")
        session.run({"x": photo})           # compiled code stops too, at its next poll

Importing, passes, scheduling, code generation and runs of models all ask.  Boxes nest: the first to end counts.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from .errors import WorkbenchError


@dataclass(frozen=True)
class _Box:
    seconds: float
    end: float
    what: str
    fix: str


_box: ContextVar[_Box | None] = ContextVar("workbench_time_limit", default=None)


@contextmanager
def time_limit(seconds: Any, what: str = "this", fix: str = "give more time, or a smaller input") -> Generator[None]:
    """Let what runs inside take at most `seconds`.  Raises E-TIME-LIMIT inside when they are over.

    `what` and `fix` are for the error's text.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0:
        raise WorkbenchError(
            "E-TIME-VALUE", "a time limit is a positive number of seconds", found=repr(seconds), fix="time_limit(5)"
        )
    outer = _box.get()
    mine = _Box(seconds, time.monotonic() + seconds, what, fix)
    token = _box.set(mine if outer is None or mine.end < outer.end else outer)
    try:
        yield
    finally:
        _box.reset(token)


def check_time(where: str = "") -> None:
    """Raise E-TIME-LIMIT when the innermost box's time is over."""
    box = _box.get()
    if box is not None and time.monotonic() > box.end:
        raise WorkbenchError(
            "E-TIME-LIMIT",
            f"{box.what} takes too long",
            where=where,
            found=f"more than {box.seconds:g} s",
            expected=f"at most {box.seconds:g} s",
            fix=box.fix,
            kept="what was there before",
        )


def seconds_left() -> float:
    """Until the innermost box ends; infinite without one."""
    box = _box.get()
    return float("inf") if box is None else box.end - time.monotonic()
