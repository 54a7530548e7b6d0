"""A request done in a fork of a process that has loaded everything: apart from all others, and begun in milliseconds.

The process that forks runs nothing of a student's; what a fork does to itself, or how it ends, touches no other.  It
has a folder, processor time and open files of its own: nothing of the pipe on which the answers go back.

    in_fork(lambda: {"outcome": ...}, seconds=10)      # that, or {"ended": the exit status}
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from typing import Any, Final

from . import frames
from .errors import WorkbenchError
from .serving import FIELDS

MOST_BYTES: Final = 4_000_000
"""Of an answer."""
_DESCRIPTORS: Final = 4096
_GRACE, _LOOK = 1.0, 0.002
"""Seconds that a fork may take to end after its answer, and between looks whether it has."""
_DIES_WITH_PARENT: Final = 1
"""Linux's PR_SET_PDEATHSIG."""


def in_fork(work: Callable[[], dict[str, Any]], seconds: float) -> dict[str, Any]:
    """What `work` gives, as data.

    Instead {"ended": status} (negative for a signal) where the fork ended before it answered, {"garbled": why} where
    it sent what is no answer, {"error": ...} for a `WorkbenchError`, {"limit": "memory"} where memory was not enough.
    `seconds`: of processor time.  Without forks (Windows) the work is done here.
    """
    if not hasattr(os, "fork"):
        return work()
    folder, nonce = tempfile.mkdtemp(dir=os.getcwd()), os.urandom(frames.NONCE)
    source, sink = os.pipe()
    process = os.fork()
    if process == 0:
        _child(work, folder, sink, nonce, seconds)
    os.close(sink)
    found: dict[str, Any] | None = None
    try:
        found = dict(frames.receive(source, nonce, MOST_BYTES).header)
    except frames.FrameError as error:
        found = {"garbled": str(error)}
    except (EOFError, OSError):
        pass  # it has ended, or closed its pipe
    finally:
        os.close(source)
        status = _ended(process, 0.0 if found is not None and "garbled" in found else _GRACE)
        shutil.rmtree(folder, ignore_errors=True)
    if found is not None:
        return found
    return {"ended": status} if status is not None else {"garbled": "it closed its pipe and went on"}


def _ended(process: int, seconds: float) -> int | None:
    """The exit status of a fork; None where it had to be killed after so many seconds."""
    deadline = time.monotonic() + seconds
    while True:
        known, status = os.waitpid(process, os.WNOHANG)
        if known:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= deadline:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return None
        time.sleep(_LOOK)


def _child(work: Callable[[], dict[str, Any]], folder: str, sink: int, nonce: bytes, seconds: float) -> None:
    """Do the work, write what it gives, and end: this never returns."""
    try:
        os.chdir(folder)
        os.closerange(3, sink)
        os.closerange(sink + 1, _DESCRIPTORS)
        _limited(seconds)
        frames.send(sink, nonce, _done(work), [])
        sys.stdout.flush()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(70)


def _done(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return work()
    except WorkbenchError as error:
        return {"error": {name: str(getattr(error, name)) for name in FIELDS}}
    except MemoryError:
        return {"limit": "memory"}


def _limited(seconds: float) -> None:
    """Processor time from now on; and no life longer than the parent's, where the system can see to that."""
    import resource

    soft = -int(-seconds // 1)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, soft + 1))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
