"""Running jobs of `child`, each in a process of its own, with limits: what happens there is a reason, never our end.

A process that has loaded everything waits beside us and forks for each job (`core.forks`); it runs nothing of a
student's, and is started anew where a job took it along.  Limits are of processor time (three times as much wall time),
memory, and printed bytes.  A job works in an empty folder that is removed afterwards; it is killed with all that it
started.  What it may not do is listed in `child`.  Not a sandbox against native exploits: who grades strangers runs the
whole batch in a container.

    with Contained(Limits(seconds=10)) as box:
        ending = box.do({"do": "answer", ...})
    ending.result, ending.reason
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import workbench

from ..core import child
from ..core.errors import WorkbenchError, shorten

RESULT_BYTES: Final = 4_000_000
"""Of a result."""
FILE_BYTES: Final = 16_000_000
"""Of each file that an answer writes."""


@dataclass(frozen=True)
class Limits:
    """For one answer: seconds of processor time, megabytes of memory, kilobytes of output."""

    seconds: float = 20.0
    megabytes: int = 1500
    output_kilobytes: int = 256


@dataclass(frozen=True)
class Ending:
    """The result, or the reason why there is none."""

    result: dict[str, Any] | None
    reason: str = ""
    ours: bool = False
    """Whether the fault is ours and not the answer's."""


class Contained:
    """The process that waits; used by one thread at a time."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._folder = tempfile.TemporaryDirectory(prefix="workbench-teach-", ignore_cleanup_errors=True)
        work = Path(self._folder.name)
        bounds = child.Limits(  # of processor time each job has its own
            memory_bytes=limits.megabytes * 1_000_000,
            file_bytes=FILE_BYTES,
            printed_bytes=limits.output_kilobytes * 1024,
        )
        self._own = child.Child(
            "workbench.teach.child", seconds=3 * limits.seconds, limits=bounds, folder=work,
            environment=_environment(work),
        )  # fmt: skip

    def __enter__(self) -> Contained:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._own.close()
        self._folder.cleanup()

    def do(self, request: Mapping[str, Any]) -> Ending:
        """Do a request and wait for it."""
        try:
            header = {**request, "limits": asdict(self._limits)}
            answer = self._own.ask(str(request["do"]), header, most=RESULT_BYTES)
            if "ended" in answer.header:
                return _reason(self._own.ended(int(answer.header["ended"])), self._limits)
            if "garbled" in answer.header:
                detail = f"{answer.header['garbled']}; the child was ended"
                return _reason(child.ChildFailure("garbled", detail), self._limits)
            return _ending(answer)
        except child.ChildFailure as failure:
            return _reason(failure, self._limits)
        except WorkbenchError as error:
            return Ending(None, f"the checker failed: {error.code}: {error.message}", ours=True)
        finally:
            self._own.forget_printed()


def contained(request: Mapping[str, Any], limits: Limits) -> Ending:
    """Do one request and wait for it."""
    with Contained(limits) as box:
        return box.do(request)


def _environment(work: Path) -> dict[str, str]:
    """What the child needs to find Python's packages, and nothing else."""
    root = str(Path(workbench.__file__).resolve().parent.parent)
    paths = [root, *(path for path in sys.path if path and path != root)]
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    fixed = {
        "PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1",
        "WORKBENCH_CACHE": "off", "HOME": str(work),
    }  # fmt: skip
    return {**kept, **threads, **fixed, "PYTHONPATH": os.pathsep.join(paths)}


def _ending(answer: child.Answer) -> Ending:
    if "failed" in answer.header:
        return Ending(None, shorten(str(answer.header["failed"])))
    return Ending(dict(answer.header))


def _reason(failure: child.ChildFailure, limits: Limits) -> Ending:
    """Why there is no result, for the student."""
    if failure.kind == "hangs":
        return Ending(None, f"took more than {3 * limits.seconds:g} s")
    if failure.kind == "fault":
        return Ending(None, f"the checker failed: {failure.detail}", ours=True)
    if failure.kind == "limit" and failure.status == -getattr(signal, "SIGXCPU", 0):
        return Ending(None, f"took more than {limits.seconds:g} s of processor time")
    if failure.kind == "limit" and failure.status is None and failure.detail.startswith("printed"):
        return Ending(None, f"printed more than {limits.output_kilobytes} kB")
    if failure.kind == "limit":
        return Ending(None, f"was {failure.detail}" if failure.status == -9 else f"used {failure.detail}")
    if failure.status is not None and failure.status < 0:
        return Ending(None, f"crashed ({signal.Signals(-failure.status).name})")
    if failure.status is not None:
        return Ending(None, f"ended the process (status {failure.status}) before it answered")
    return Ending(None, f"{failure.phrase}: {failure.detail}")
