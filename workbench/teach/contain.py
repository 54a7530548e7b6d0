"""Running a job of `child` in a process of its own, with limits: whatever happens there is a reason, never our end.

Limits are of processor time (three times as much wall time), memory, and printed bytes.  The child works in an empty
folder that is removed afterwards; it is killed with all that it started.  What it may not do is listed in `child`.
Not a sandbox against native exploits: who grades strangers runs the whole batch in a container.

    ending = contained({"do": "answer", ...}, Limits(seconds=10))
    ending.result, ending.reason
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import workbench

from ..core.errors import shorten

RESULT_BYTES: Final = 4_000_000
POLL: Final = 0.02
OWN_FAULT: Final = 70
"""The child's status when not the answer but we are to blame."""


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


def contained(request: Mapping[str, Any], limits: Limits) -> Ending:
    """Do a request in a child and wait for it."""
    with tempfile.TemporaryDirectory(prefix="workbench-teach-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        printed, result, work = folder / "printed.txt", folder / "result.json", folder / "work"
        work.mkdir()
        with printed.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-P", "-B", "-m", "workbench.teach.child", str(result)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=work,
                env=_environment(work),
                start_new_session=True,
            )
            _hand_over(process, {**request, "limits": asdict(limits)})
            reason = _waited(process, limits, printed)
        if reason:
            return Ending(None, reason)
        return _ending(process.returncode, result, printed, limits)


def _environment(work: Path) -> dict[str, str]:
    """What the child needs to find Python's packages, and nothing else."""
    root = str(Path(workbench.__file__).resolve().parent.parent)
    paths = [root, *(path for path in sys.path if path and path != root)]
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    fixed = {"PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8", "WORKBENCH_CACHE": "off", "HOME": str(work)}
    return {**kept, **threads, **fixed, "PYTHONPATH": os.pathsep.join(paths)}


def _hand_over(process: subprocess.Popen[bytes], request: Mapping[str, Any]) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(json.dumps(request).encode())
        process.stdin.close()
    except BrokenPipeError:
        pass  # it died at once; its status tells why


def _waited(process: subprocess.Popen[bytes], limits: Limits, printed: Path) -> str:
    """Wait; the reason for which the child was killed, or nothing."""
    end = time.monotonic() + 3 * limits.seconds
    try:
        while True:
            try:
                process.wait(POLL)
                break
            except subprocess.TimeoutExpired:
                pass
            if printed.stat().st_size > limits.output_kilobytes * 1024:
                break
            if time.monotonic() > end:
                return f"took more than {3 * limits.seconds:g} s"
        if printed.stat().st_size > limits.output_kilobytes * 1024:
            return f"printed more than {limits.output_kilobytes} kB"
        return ""
    finally:
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the child and everything in its session."""
    if hasattr(os, "killpg"):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
    process.kill()
    process.wait()


def _ending(status: int, result: Path, printed: Path, limits: Limits) -> Ending:
    if status == -getattr(signal, "SIGXCPU", 0):
        return Ending(None, f"took more than {limits.seconds:g} s of processor time")
    if status == -9:  # by the system: the hard limit of processor time, or no memory left for anybody
        return Ending(None, "was killed by the system: too much processor time or memory")
    if status < 0:
        return Ending(None, f"crashed ({signal.Signals(-status).name})")
    text = printed.read_bytes()[-400:].decode("utf-8", "replace").strip()
    if status == OWN_FAULT:
        return Ending(None, f"the checker failed: {text}", ours=True)
    try:
        data = result.read_bytes()[: RESULT_BYTES + 1]
        made = json.loads(data) if len(data) <= RESULT_BYTES else None
    except (OSError, ValueError, RecursionError):
        made = None
    if not isinstance(made, dict):
        return Ending(None, f"ended the process (status {status}) before it answered")
    if "failed" in made:
        return Ending(None, shorten(str(made["failed"])))
    return Ending(made)
