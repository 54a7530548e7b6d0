"""A process of its own for what may crash, hang or must not share our state: one module holds every child.

    with Child("workbench.codegen.llvm.service", seconds=20.0) as child:
        answer = child.ask("compile", {"job": {...}})
        answer.frames[0]

The child is a fresh interpreter (never a fork) that serves one module (`serving`).  Whatever happens in it is an answer
or a `ChildFailure` with its kind: it crashed, hangs, went beyond a limit, or sent what is no answer; it never ends us.
A child that died is replaced at the next request.  It ends with us, keeps its own handling of signals, and is not
shared with processes that are forked off.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, Literal

from . import frames
from .errors import WorkbenchError

FailureKind = Literal["crashed", "hangs", "limit", "garbled", "fault", "ended", "absent"]
_PHRASES: Final[dict[str, str]] = {
    "crashed": "crashed", "hangs": "hangs", "limit": "went beyond a limit", "garbled": "sent what is no answer",
    "fault": "failed", "ended": "was ended", "absent": "could not be started",
}  # fmt: skip
_OUT_OF_MEMORY: Final = ("out of memory", "bad_alloc", "Cannot allocate memory", "MemoryError")
_LOOK_SECONDS: Final = 0.25
"""How often we look whether a child that says nothing is there, and how much it printed."""
_BUSY_PART: Final = 0.1
"""A child that computed for less than this part of its time did not have the time: the machine slept, or was busy."""
_SAID_BYTES: Final = 4000
MOST_BYTES: Final = 1 << 34
"""Of an answer, unless the request says how many."""


class ChildFailure(Exception):
    """There is no answer: `kind` says why, `detail` more exactly.

    `status` is the child's exit status if it ended by itself, `said` the end of what it printed.  `of_the_machine`: it
    hardly computed in its time, or was killed from outside, so that another time there may be an answer.
    """

    def __init__(
        self, kind: FailureKind, detail: str, status: int | None = None, said: str = "", of_the_machine: bool = False
    ) -> None:
        self.kind: FailureKind = kind
        self.detail = detail
        self.status = status
        self.said = said
        self.of_the_machine = of_the_machine
        super().__init__(f"{self.phrase}: {detail}")

    @property
    def phrase(self) -> str:
        """What the child did, to follow a name: "crashed", "went beyond a limit"."""
        return _PHRASES[self.kind]


@dataclass(frozen=True)
class Limits:
    """What a child may use in its life; 0 stands for as much as there is."""

    processor_seconds: float = 0.0
    memory_bytes: int = 0
    file_bytes: int = 0
    """Of each file that it writes, what it prints among them."""
    printed_bytes: int = 0


@dataclass(frozen=True)
class Answer:
    """What a child answers: data by name, and binary data."""

    header: Mapping[str, Any]
    frames: list[bytearray]


class Child:
    """See the module's header.  Used by one thread at a time; only `kill` may come from another."""

    def __init__(
        self,
        service: str,
        *,
        seconds: float | None = 20.0,
        limits: Limits | None = None,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        """`service`: a module with a function `actions`.  `seconds`: wall time of a request, None for no end."""
        self.service = service
        self.seconds = seconds
        self.limits = limits or Limits()
        self.started = 0
        """How many processes have been started."""
        self._environment = environment
        self._folder = folder
        self._held = _Held()
        self._killed = False
        weakref.finalize(self, _end, self._held)  # nobody is left behind, also where nobody closes

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Whether the process of the last request is still there."""
        return self._held.owner == os.getpid() and self._held.process is not None and not _has_ended(self._held.process)

    @property
    def pid(self) -> int | None:
        return self._held.process.pid if self._held.process is not None else None

    # --- requests ---

    def ask(
        self, do: str, header: Mapping[str, Any] | None = None, data: Sequence[Any] = (), most: int = MOST_BYTES
    ) -> Answer:
        """Have an action done and wait for its answer, which has at most `most` bytes.

        Raises the `WorkbenchError` that the action raised, and `ChildFailure`; the child is then gone, as it is after
        an interrupt.
        """
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        nonce = os.urandom(frames.NONCE)
        deadline = None if self.seconds is None else time.monotonic() + self.seconds
        computed = _processor_seconds(process.pid)
        source, sink = process.stdout.fileno(), process.stdin.fileno()
        try:
            frames.send(sink, nonce, {**(header or {}), "do": do}, data, partial(self._wait, sink, True, deadline))
            found = frames.receive(source, nonce, most, partial(self._wait, source, False, deadline))
        except TimeoutError:  # (an OSError, so it comes first)
            raise self._hangs(_processor_seconds(process.pid) - computed) from None
        except frames.FrameError as error:
            raise self._failure("garbled", f"{error}; the child was ended") from None
        except (OSError, EOFError):
            raise self._died() from None
        except BaseException:  # an interrupt, or a limit of ours
            self.close()
            raise
        return self._judged(found)

    def _judged(self, found: frames.Message) -> Answer:
        """The answer; errors and faults of the child's side are raised here."""
        self._look_at_printed()
        error: dict[str, Any] | None = found.header.get("error")
        fault = found.header.get("fault")
        if isinstance(error, dict):
            known = {name: str(error.get(name, "")) for name in ("where", "found", "expected", "fix", "kept")}
            raise WorkbenchError(str(error.get("code")), str(error.get("message")), **known)
        if fault is not None:
            raise self._failure("fault", str(fault))
        if found.header.get("limit") is not None:
            raise self._failure("limit", f"more than {self.limits.memory_bytes:,} bytes of memory")
        return Answer(found.header, found.frames)

    def lost(self) -> ChildFailure:
        """Why the process of an earlier request is not there any more; nothing is raised."""
        if self._held.process is None or self.alive:
            return ChildFailure("ended", "between two requests", of_the_machine=True)
        return self._died()

    def printed(self) -> IO[bytes]:
        """What the child has printed, to be read from the beginning; only while it waits for a request."""
        assert self._held.printed is not None
        self._held.printed.seek(0)
        return self._held.printed

    def forget_printed(self) -> None:
        """What is printed from now on counts alone; only while it waits for a request."""
        if self._held.printed is not None and self.alive:
            self._held.printed.seek(0)  # the child writes on from here: it has the same file, and its place in it
            self._held.printed.truncate()

    def ended(self, status: int) -> ChildFailure:
        """What the exit status of a process means that this child has started and waited for; nothing is raised."""
        said = next((line.strip() for line in reversed(self._said().splitlines()) if line.strip()), "")
        reached = _limit_reached(status, said, self.limits)
        if reached:
            return ChildFailure("limit", reached, status, said)
        return ChildFailure("crashed", f"exit status {status}", status, said)

    # --- the process ---

    def _running(self) -> subprocess.Popen[bytes]:
        self._killed = self._killed and self.alive  # of an earlier request
        if self._held.owner != os.getpid():
            self.close()
        if self._held.process is not None and not _has_ended(self._held.process):
            return self._held.process
        self.close()
        self._held.owner = os.getpid()
        limits = json.dumps(asdict(self.limits))
        try:
            self._held.printed = tempfile.TemporaryFile("a+b")
            self._held.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "workbench.core.serving", self.service, limits],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._held.printed,
                bufsize=0,
                cwd=self._folder,
                env=dict(self._environment) if self._environment is not None else environment(),
                start_new_session=True,  # Ctrl-C is for us, and what the child starts ends with it
            )
        except (OSError, TypeError, ValueError) as error:  # also where Python does not know its own program
            self.close()
            raise ChildFailure("absent", str(error)) from None
        self.started += 1
        if self._killed:  # while it was started
            raise self._failure("ended", "by us")
        if os.name == "posix":
            assert self._held.process.stdin is not None
            os.set_blocking(self._held.process.stdin.fileno(), False)
        return self._held.process

    def _wait(self, descriptor: int, writing: bool, deadline: float | None) -> None:
        """Wait until a pipe is ready.  Raises TimeoutError after the deadline, EOFError when the child is gone."""
        if os.name != "posix":  # pipes cannot be waited for there
            return
        poller = select.poll()
        poller.register(descriptor, select.POLLOUT if writing else select.POLLIN)
        while True:
            self._look_at_printed()
            left = _LOOK_SECONDS if deadline is None else min(_LOOK_SECONDS, deadline - time.monotonic())
            if left <= 0:
                raise TimeoutError
            if poller.poll(left * 1000):
                return
            if self._held.process is None or (_has_ended(self._held.process) and not poller.poll(0)):
                raise EOFError

    def _look_at_printed(self) -> None:
        most = self.limits.printed_bytes
        if most and self._held.printed is not None and os.fstat(self._held.printed.fileno()).st_size > most:
            raise self._failure("limit", f"printed more than {most:,} bytes")

    def _died(self) -> ChildFailure:
        """Why the pipe ended."""
        process = self._held.process
        deadline = time.monotonic() + 1.0
        while process is not None and not _has_ended(process):
            if time.monotonic() > deadline:
                return self._failure("garbled", "it closed its pipe and went on; the child was ended")
            time.sleep(0.005)
        if self._killed or process is None:
            return self._failure("ended", "by us")
        _kill(process)  # for what it started
        status = process.returncode
        try:
            self._look_at_printed()
        except ChildFailure as failure:
            return failure
        said = next((line.strip() for line in reversed(self._said().splitlines()) if line.strip()), "")
        reached = _limit_reached(status, said, self.limits)
        if reached:
            return self._failure("limit", reached, status)
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        told = f"{how}: {said[:200]}" if (said and status >= 0) or "Assert" in said else how
        return self._failure("crashed", told, status, status == -signal.SIGKILL)

    def _hangs(self, computed: float) -> ChildFailure:
        """There was no answer in time, in which the child computed for so many seconds."""
        assert self.seconds is not None
        idle = computed < self.seconds * _BUSY_PART
        told = f", and it computed for {computed:.1f} s of them" if idle else ""
        return self._failure("hangs", f"no answer within {self.seconds:g} s{told}; the child was ended", None, idle)

    def _failure(
        self, kind: FailureKind, detail: str, status: int | None = None, of_the_machine: bool = False
    ) -> ChildFailure:
        """A failure with what was printed; the process is ended."""
        said = self._said()
        self.close()
        return ChildFailure(kind, detail, status, said, of_the_machine)

    def _said(self) -> str:
        """The end of what was printed."""
        if self._held.printed is None:
            return ""
        size = os.fstat(self._held.printed.fileno()).st_size
        self._held.printed.seek(max(0, size - _SAID_BYTES))
        return self._held.printed.read(_SAID_BYTES).decode(errors="replace").strip()

    def kill(self) -> None:
        """End the process and all that it started; whoever waits for its answer gets `ChildFailure`."""
        self._killed = True  # first: a process that is being started is ended as soon as it is there
        process = self._held.process
        if process is not None and self._held.owner == os.getpid():
            _kill(process)

    def close(self) -> None:
        """End the process, if there is one, and close its pipes."""
        _end(self._held)


@dataclass
class _Held:
    """A process with what it prints, and the process that started it."""

    process: subprocess.Popen[bytes] | None = None
    printed: IO[bytes] | None = None
    owner: int = 0


def _end(held: _Held) -> None:
    """End a process and close its pipes; in a process that was forked off only close them: it is our parent's."""
    process, printed = held.process, held.printed
    held.process = held.printed = None
    if process is not None:
        if held.owner == os.getpid():
            _kill(process)
        else:
            process.returncode = 0  # not ours to wait for
    for pipe in (printed, process and process.stdin, process and process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                continue


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and everything in its session; once it was waited for its number may be another's."""
    if process.returncode is not None:
        return
    if hasattr(os, "killpg"):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
    process.kill()
    process.wait()


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether a process has ended; where the system can say so without forgetting its number, that is still its own."""
    if process.returncode is not None or not hasattr(os, "waitid"):
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return process.poll() is not None


def _processor_seconds(pid: int) -> float:
    """Processor time of a process so far; 0 where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


def environment() -> dict[str, str]:
    """Our environment, with the places where we find modules; this package's own stands for the current folder."""
    own = str(Path(__file__).resolve().parents[2])
    places = [os.path.abspath(path) if path else own for path in sys.path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys([*places, own]))}


def _limit_reached(status: int, said: str, limits: Limits) -> str:
    """Which limit ended a child, by its status and its last line; empty where none did."""
    if status == -getattr(signal, "SIGXCPU", 0):
        return f"more than {limits.processor_seconds:g} s of processor time"
    if status == -getattr(signal, "SIGXFSZ", 0):
        return f"a file of more than {limits.file_bytes:,} bytes"
    if limits.memory_bytes and any(word in said for word in _OUT_OF_MEMORY):
        return f"more than {limits.memory_bytes:,} bytes of memory"
    if status == -signal.SIGKILL and (limits.processor_seconds or limits.memory_bytes):
        return "killed by the system: too much processor time or memory"
    return ""


class Idle:
    """Children of one service that wait for the next request; those idle for `seconds`, and all at our end, exit."""

    def __init__(self, service: str, seconds: float) -> None:
        self.service = service
        self.seconds = seconds
        self._lock = threading.Lock()
        self._waiting: list[tuple[float, Child]] = []
        self._looking = False
        """Whether a thread looks for those that are idle for too long."""
        self._owner = os.getpid()

    def take(self) -> Child:
        """A child that waits, or a new one (started with its first request); it is the caller's until given back."""
        if self._owner != os.getpid():  # after a fork: neither the children nor the lock are ours
            self._lock, self._waiting, self._looking, self._owner = threading.Lock(), [], False, os.getpid()
        with self._lock:
            if self._waiting:
                return self._waiting.pop()[1]
        return Child(self.service, seconds=None)

    def give_back(self, child: Child) -> None:
        """Keep a child for others; one that died is only forgotten."""
        if not child.alive:
            child.close()
            return
        with self._lock:
            self._waiting.append((time.monotonic(), child))
            looks, self._looking = self._looking, True
        if not looks:
            threading.Thread(target=self._look, name=f"idle children of {self.service}", daemon=True).start()

    def _look(self) -> None:
        """End children that are idle for too long, until none waits: the only thread that does so."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._looking = False
                    return
                oldest = min(since for since, _ in self._waiting)
            time.sleep(max(0.0, oldest + self.seconds - time.monotonic()) + _LOOK_SECONDS)
            self.close(self.seconds)

    def close(self, older_than: float = 0.0) -> None:
        """End the children that have been idle for `older_than` seconds."""
        if self._owner != os.getpid():
            return
        limit = time.monotonic() - older_than
        with self._lock:
            closing = [child for since, child in self._waiting if since <= limit]
            self._waiting = [(since, child) for since, child in self._waiting if since > limit]
        for child in closing:
            child.close()

    @property
    def waiting(self) -> int:
        """How many children wait, of this process."""
        return len(self._waiting) if self._owner == os.getpid() else 0

    def __len__(self) -> int:
        return self.waiting
