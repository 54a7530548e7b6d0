"""A service of children for `test_child`: some actions answer, the others do what a child must not do."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.core import frames as messages
from workbench.core.errors import WorkbenchError
from workbench.core.serving import Action

Request, Frames = Mapping[str, Any], Sequence[bytearray]
_kept: list[Any] = []


def actions() -> Mapping[str, Action]:
    return {name.removeprefix("do_"): function for name, function in globals().items() if name.startswith("do_")}


def do_echo(request: Request, frames: Frames) -> Any:
    return {"got": dict(request)}, [bytes(frame)[::-1] for frame in frames]


def do_count(request: Request, frames: Frames) -> Any:
    """How often this process was asked."""
    _kept.append(None)
    return {"count": len(_kept), "pid": os.getpid()}, []


def do_signals(request: Request, frames: Frames) -> Any:
    """What the process does with signals; and whether a signal is blocked."""
    return {
        "handlers": {number.name: repr(signal.getsignal(number)) for number in signal.Signals},
        "blocked": sorted(int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "session": os.getsid(0) == os.getpid(),
    }, []


def do_refuse(request: Request, frames: Frames) -> Any:
    raise WorkbenchError("E-TEST", "no", where="here", found="a", expected="b", fix="c", kept="d")


def do_fault(request: Request, frames: Frames) -> Any:
    raise KeyError("a fault of the service")


def do_leave(request: Request, frames: Frames) -> Any:
    sys.exit(3)


def do_print(request: Request, frames: Frames) -> Any:
    print("printed by Python")
    os.write(1, b"written to the output\n")
    ctypes.CDLL(None).puts(b"put by C")
    ctypes.CDLL(None).fflush(None)
    sys.stdout.flush()
    return {"read": sys.stdin.read()}, []


def do_print_for_ever(request: Request, frames: Frames) -> Any:
    while True:
        os.write(1, b"x" * 4096)


def do_crash(request: Request, frames: Frames) -> Any:
    ctypes.string_at(0)
    return {}, []


def do_abort(request: Request, frames: Frames) -> Any:
    os.write(2, b"Assertion `x' failed.\n")
    os.abort()


def do_exit(request: Request, frames: Frames) -> Any:
    os.write(2, b"last words\n")
    os._exit(5)


def do_sleep(request: Request, frames: Frames) -> Any:
    if "inside" in request:
        Path(request["inside"]).touch()
    time.sleep(request.get("seconds", 1000))
    return {}, []


def do_spin(request: Request, frames: Frames) -> Any:
    while True:
        pass


def do_sleep_in_c(request: Request, frames: Frames) -> Any:
    ctypes.CDLL(None).sleep(1000)
    return {}, []


def do_hoard(request: Request, frames: Frames) -> Any:
    _kept.extend(bytearray(10**8) for _ in range(1000))
    return {}, []


def do_write_file(request: Request, frames: Frames) -> Any:
    with open(request["path"], "wb") as file:
        while True:
            file.write(b"x" * 65536)


def do_close_pipes(request: Request, frames: Frames) -> Any:
    os.closerange(0, 100)
    time.sleep(1000)


def do_close_and_end(request: Request, frames: Frames) -> Any:
    os.closerange(0, 100)
    os._exit(0)


def _to_all(data: bytes) -> None:
    """Write to whatever is open; the pipe of the answers is among it."""
    for number in range(3, 100):
        try:
            os.write(number, data)
        except OSError:
            continue


def do_garbage(request: Request, frames: Frames) -> Any:
    _to_all(b"this is no answer, whatever it may look like" * 10)
    return {}, []


def do_fake(request: Request, frames: Frames) -> Any:
    """A whole answer, but of another request."""
    for number in range(3, 100):
        try:
            messages.send(number, bytes(messages.NONCE), {"got": "faked"}, [])
        except OSError:
            continue
    return {}, []


def do_huge(request: Request, frames: Frames) -> Any:
    return {}, [bytes(2 << 20)]


def do_cut(request: Request, frames: Frames) -> Any:
    _to_all(b"\0" * 10)
    os._exit(0)


def do_late_thread(request: Request, frames: Frames) -> Any:
    """Answers rightly, and goes on writing into the pipe after that."""

    def go_on() -> None:
        time.sleep(0.2)
        _to_all(b"late" * 100)

    threading.Thread(target=go_on, daemon=True).start()
    return {}, []


def do_start_another(request: Request, frames: Frames) -> Any:
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    return {"pid": other.pid}, []


def do_start_and_crash(request: Request, frames: Frames) -> Any:
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], stdout=2)
    os.write(2, f"{other.pid}".encode())
    os._exit(1)
