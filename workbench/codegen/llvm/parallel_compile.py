"""Compiling many modules at once: this process and helper processes share a queue of jobs.

llvmlite holds one lock in a process, so parallelism takes processes.  A helper is started by exec (never forked from a
notebook's kernel), speaks length-prefixed frames over its pipes, carries plain data only, and exits when its standard
input closes or it has been idle for a while.  A helper that dies costs time, never the result: its job is done here.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import IO, Final

from ...core.errors import WorkbenchError
from ...core.host import usable_threads
from ...core.time_limit import check_time
from .machine import Job, compile_job

MINIMUM_BYTES: Final = 300_000
"""Less text than this compiles faster than a helper starts."""
IDLE_SECONDS: Final = 30.0
_LENGTH: Final = 8


class Helper:
    """One helper process; used by one thread at a time."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "workbench.codegen.llvm.parallel_compile"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the parent, which closes the pipe
        )

    def compile(self, job: Job) -> bytes | None:
        """The object code, or None when the helper cannot answer (it is then useless)."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            write_frame(self.process.stdin, json.dumps(asdict(job)).encode())
            answer = read_frame(self.process.stdout)
        except (OSError, ValueError):
            return None
        return answer[1:] if answer[:1] == b"+" else None

    def close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End the process at once; whoever waits for its answer gets none."""
        self.process.kill()
        self.process.wait()


class _Helpers:
    """The idle helpers of this process; closed after `IDLE_SECONDS` and at exit."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[tuple[float, Helper]] = []
        self._owner = os.getpid()

    def take(self) -> Helper:
        with self._lock:
            if self._owner != os.getpid():  # after a fork, the parent's helpers are not ours
                self._idle, self._owner = [], os.getpid()
            if self._idle:
                return self._idle.pop()[1]
        return Helper()

    def give_back(self, helper: Helper) -> None:
        with self._lock:
            self._idle.append((time.monotonic(), helper))
        timer = threading.Timer(IDLE_SECONDS + 1, self.close_idle, [IDLE_SECONDS])
        timer.daemon = True
        timer.start()

    def close_idle(self, older_than: float = 0.0) -> None:
        """Close helpers that have been idle for `older_than` seconds."""
        limit = time.monotonic() - older_than
        with self._lock:
            closing = [helper for since, helper in self._idle if since <= limit]
            self._idle = [(since, helper) for since, helper in self._idle if since > limit]
        for helper in closing:
            helper.close()


helpers: Final = _Helpers()
atexit.register(helpers.close_idle)


Done = Callable[[int, bytes], object]


def compile_jobs(jobs: Sequence[Job], workers: int | None = None, done: Done = lambda index, code: None) -> list[bytes]:
    """Object code of each job, in order.  `workers`: processes in all (default: threads this process may use).

    `done` is called with each result as it comes, by the thread that has it.
    """
    count = workers if workers is not None else usable_threads()
    size = sum(len(job.text) for job in jobs)
    if count < 2 or len(jobs) < 2 or (workers is None and size < MINIMUM_BYTES):
        return [_told(index, compile_job(job), done) for index, job in enumerate(jobs)]
    return _Queue(jobs, done).run(min(count, len(jobs)) - 1)


def _told(index: int, code: bytes, done: Done) -> bytes:
    done(index, code)
    return code


class _Queue:
    """Jobs, longest first, taken by this thread and by one thread for each helper."""

    def __init__(self, jobs: Sequence[Job], done: Done) -> None:
        self.jobs = jobs
        self.done = done
        self.results: list[bytes | None] = [None] * len(jobs)
        self.error: Exception | None = None
        self.stopped = False
        self._order = sorted(range(len(jobs)), key=lambda index: len(jobs[index].text))
        self._lock = threading.Lock()
        self._busy: list[Helper] = []

    def _next(self) -> int | None:
        check_time("code generation")
        with self._lock:
            return self._order.pop() if self._order and self.error is None else None

    def _serve(self) -> None:
        try:
            helper = helpers.take()
        except OSError:
            return
        self._busy.append(helper)
        while (index := self._next()) is not None:
            answer = helper.compile(self.jobs[index])
            if answer is None and self.stopped:
                return
            if answer is None:
                helper.close()
                self._here(index)
                return
            try:
                self.results[index] = _told(index, answer, self.done)
            except Exception as error:  # the caller's: it is raised in the caller's thread
                self.error = error
        self._busy.remove(helper)
        if self.stopped:
            helper.kill()
        else:
            helpers.give_back(helper)

    def _here(self, index: int) -> None:
        try:
            self.results[index] = _told(index, compile_job(self.jobs[index]), self.done)
        except Exception as error:
            self.error = error

    def _stop(self) -> None:
        """Leave the rest undone, and no helper behind."""
        self.stopped = True
        with self._lock:
            self._order.clear()
        for helper in tuple(self._busy):
            helper.kill()
        helpers.close_idle()

    def run(self, extra: int) -> list[bytes]:
        threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(extra)]
        for thread in threads:
            thread.start()
        try:
            while (index := self._next()) is not None:
                self._here(index)
            for thread in threads:
                thread.join()
        except BaseException:  # Ctrl-C: nobody waits for the rest
            self._stop()
            raise
        if self.error is not None:
            raise self.error
        return [result for result in self.results if result is not None]


# --- frames -------------------------------------------------------------------------------------------------------


def write_frame(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(len(data).to_bytes(_LENGTH, "little") + data)
    pipe.flush()


def read_frame(pipe: IO[bytes]) -> bytes:
    """The next frame.  Raises ValueError when the pipe ends early."""
    head = pipe.read(_LENGTH)
    if len(head) < _LENGTH:
        raise ValueError("the pipe ended")
    size = int.from_bytes(head, "little")
    data = pipe.read(size)
    if len(data) < size:
        raise ValueError("the pipe ended")
    return data


def main() -> None:
    """A helper's life: jobs from standard input, object code to standard output."""
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not disturb the frames
    while True:
        try:
            job = Job(**json.loads(read_frame(source)))
        except ValueError:
            return
        try:
            answer = b"+" + compile_job(job)
        except WorkbenchError as error:
            answer = b"-" + str(error).encode()
        write_frame(sink, answer)


if __name__ == "__main__":
    main()
