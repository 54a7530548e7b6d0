"""The child's side of `child`: what a service's module offers is done on request until the parent is gone.

    python -m workbench.core.serving workbench.codegen.llvm.service '{"file_bytes": 1000000}'

The module has a function `actions()`: functions by name that take a request's header and frames and give an answer's.
Before it is imported, limits and the handling of signals are set, whatever the parent's are, and the pipe is moved
away: what prints goes to the error output, what reads standard input reads nothing.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from . import frames
from .errors import WorkbenchError

Action = Callable[[Mapping[str, Any], Sequence[bytearray]], tuple[Mapping[str, Any], Sequence[Any]]]
FIELDS: Final = ("code", "message", "where", "found", "expected", "fix", "kept")
"""Of an error that is sent."""
_WATCH_SECONDS: Final = 0.5


def main(service: str, limits: Mapping[str, float]) -> None:
    """Answer requests from standard input until it ends."""
    _own_signals()
    _limit(limits)
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    actions: dict[str, Action] = {}
    while True:
        try:
            request = frames.receive(source)
        except (EOFError, OSError, frames.FrameError):
            return
        header, data = _answer(service, actions, request)
        try:
            frames.send(sink, request.nonce, header, data)
        except OSError:
            return


def _answer(
    service: str, actions: dict[str, Action], request: frames.Message
) -> tuple[Mapping[str, Any], Sequence[Any]]:
    """The answer to a request; the first one fills `actions`."""
    try:
        if not actions:
            actions.update(importlib.import_module(service).actions())
        return actions[request.header.pop("do")](request.header, request.frames)
    except WorkbenchError as error:
        return {"error": {name: getattr(error, name) for name in FIELDS}}, []
    except MemoryError:
        return {"limit": "memory"}, []
    except BaseException as error:  # of the service, SystemExit too: the parent says whose fault it is
        traceback.print_exc()
        return {"fault": f"{type(error).__name__}: {error}"[:400]}, []


def _own_signals() -> None:
    """Handling of signals that does not depend on the parent's: Ctrl-C is for the parent, limits end the process."""
    for number in signal.valid_signals() - {signal.SIGINT, getattr(signal, "SIGPIPE", signal.SIGINT)}:
        if signal.getsignal(number) == signal.SIG_IGN:
            try:
                signal.signal(number, signal.SIG_DFL)
            except (OSError, ValueError):
                continue  # one that cannot be handled
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _limit(limits: Mapping[str, float]) -> None:
    """Set the limits that the system keeps for us, where it can."""
    try:
        import resource
    except ImportError:  # Windows: the parent's deadline is all there is
        return
    wanted = {"RLIMIT_CORE": 0.0}  # a crash is an answer here, not worth a file
    for kind, name in (
        ("RLIMIT_CPU", "processor_seconds"), ("RLIMIT_AS", "memory_bytes"), ("RLIMIT_FSIZE", "file_bytes"),
    ):  # fmt: skip
        if limits.get(name):
            wanted[kind] = limits[name]
    for kind, value in wanted.items():
        soft = -int(-value // 1)
        try:
            # Seconds have a hard limit one later, which kills without saying why.
            resource.setrlimit(getattr(resource, kind), (soft, soft + (kind == "RLIMIT_CPU")))
        except (AttributeError, ValueError, OSError):
            continue  # a stricter limit stands already


def _end_with(parent: int) -> None:
    """End this process when its parent is gone, also while native code runs."""
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
    os._exit(0)  # threads and handlers that the service left behind are not waited for
