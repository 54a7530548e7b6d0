"""The child's side of `contain`: produce the outcome of an answer, or judge an outcome; each in a fork of its own.

A process that runs an answer may write below its own folder only, start no process, open no connection and load no
native library; each try is refused and named.  On Linux the system refuses as well what goes past Python's own events
(`core.confinement`), and reading other students' folders.  What it hands back is data, so an answer that changes the
checker in its process changes nothing: the marks are computed by another process, where no answer has run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from .. import te, tir, topi
from ..analysis import dependence
from ..core.confinement import confined
from ..core.errors import WorkbenchError
from ..core.forks import in_fork
from ..core.serving import Action
from ..schedule.registry import PRIMITIVES
from . import machine_code
from .answers import produce
from .course import exercises, exercises_of
from .exercise import Exercise, find
from .source import answer_of
from .tasks import judged

_STARTS: Final = (
    "subprocess.",
    "os.system",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.spawn",
    "os.startfile",
    "pty.",
)
_SIGNALS: Final = ("os.kill", "signal.pthread_kill")
_NETWORK: Final = ("socket.", "urllib.", "ftplib.", "http.", "smtplib.")
_NATIVE: Final = ("ctypes.dlopen", "ctypes.dlsym", "ctypes.cdata", "ctypes.call_function")
_FILES: Final = (
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.symlink", "os.link", "os.truncate", "os.chmod", "os.chown",
    "os.utime", "os.setxattr", "shutil.rmtree", "shutil.move", "shutil.copyfile", "shutil.copymode",
)  # fmt: skip
_REFUSED: Final = (
    (_STARTS, "start a process"),
    (_SIGNALS, "send a signal"),
    (_NETWORK, "open a connection"),
    (_NATIVE, "load or call native code"),
)


def actions() -> Mapping[str, Action]:
    """What `core.serving` offers."""
    _load_beforehand()
    return {"answer": _forked(run_answer), "judge": _forked(judge)}


def _forked(action: Action) -> Action:
    """The action, in a process that ends with it."""

    def run(request: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[dict[str, Any], list[bytes]]:
        return in_fork(lambda: dict(action(request, frames)[0]), request["limits"]["seconds"] + 1), []

    return run


def _exercise(request: Mapping[str, Any]) -> Exercise:
    return find(exercises_of(request["course"]) if request["course"] else exercises(), request["exercise"])


# --- running an answer --------------------------------------------------------------------------------------------


def run_answer(request: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[dict[str, Any], list[bytes]]:
    """{"outcome": ...} of an answer, or {"failed": reason}."""
    exercise = _exercise(request)
    shapes = exercise.shapes_of(request["student"])
    confined(Path.cwd(), [path for path in (*sys.path, sys.prefix, sys.base_prefix) if path])
    broken = confine(Path.cwd())
    try:
        answer = answer_of(request["source"], exercise.id)
        outcome = produce(exercise, shapes, answer)
    except BaseException as error:  # SystemExit and KeyboardInterrupt too: they are the answer's
        return {"failed": broken[0] if broken else _reason(error, request)}, []
    return ({"failed": broken[0]} if broken else {"outcome": outcome}), []


def _load_beforehand() -> None:
    """What answers and checks load on first use, since loading is confined later."""
    import ctypes

    dependence.available()
    assert ctypes and te and tir and topi and len(PRIMITIVES) and machine_code and exercises()


def _reason(error: BaseException, request: Mapping[str, Any]) -> str:
    if isinstance(error, MemoryError):
        return f"needs more than {request['limits']['megabytes']} MB"
    if isinstance(error, SystemExit):
        return f"ended the process (status {error.code})"
    if isinstance(error, WorkbenchError):
        return f"{error.code}: {error.message}"
    line = _line(error, f"<answers/{request['exercise']}.py>")
    text = (error.msg if isinstance(error, SyntaxError) else str(error))[:300]  # its whole text repeats file and line
    return f"{type(error).__name__}: {text}{f' (line {line})' if line else ''}"


def _line(error: BaseException, file: str) -> int:
    if isinstance(error, SyntaxError):
        return error.lineno or 0
    found, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


_allowed: list[str] = []


def confine(folder: Path) -> list[str]:
    """From now on refuse what the module's header lists; the answer is the list of what was tried."""
    broken: list[str] = []
    _allowed[:] = [os.path.realpath(folder), os.devnull]

    def refuse(what: str) -> None:
        broken.append(f"tried to {what}")
        raise PermissionError(f"an answer may not {what}")

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            if _writes(arguments) and not _inside(arguments[0]):
                refuse(f"write {_shown(arguments[0])}")
            return
        for prefixes, what in _REFUSED:
            if event.startswith(prefixes):
                refuse(what)
        if event.startswith(_FILES):
            for path in arguments[:2]:
                if isinstance(path, (str, bytes, os.PathLike)) and not _inside(path):
                    refuse(f"change {_shown(path)}")

    sys.addaudithook(hook)
    return broken


def _writes(arguments: tuple[Any, ...]) -> bool:
    mode, flags = arguments[1], arguments[2]
    if isinstance(mode, str) and set(mode) & set("wax+"):
        return True
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND))


def _inside(path: Any) -> bool:
    if isinstance(path, int):
        return True
    place = os.path.realpath(os.fsdecode(path))
    return any(place == root or place.startswith(root + os.sep) for root in _allowed)


def _shown(path: Any) -> str:
    return os.path.basename(os.fsdecode(path)) or "a file"


# --- judging ------------------------------------------------------------------------------------------------------


def judge(request: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[dict[str, Any], list[bytes]]:
    """The report on an outcome, as data.  No answer has run in this process."""
    report = judged(_exercise(request), request["student"], request["outcome"])
    checks = [
        {"name": r.check.name, "passed": r.verdict.passed, "points": r.points, "of": r.check.points,
         "reason": r.verdict.reason}
        for r in report.results
    ]  # fmt: skip
    return {"points": report.points, "reason": report.reason, "checks": checks}, []
