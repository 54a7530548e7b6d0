"""Compiling many modules at once: this process and helper processes share a queue of jobs.

llvmlite holds one lock in a process, so parallelism takes processes.  A helper is a child that serves `service`, and
exits when it has been idle for a while.  A helper that dies costs time, never the result: its job is done here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Final

from ...core.child import Child, ChildFailure, Idle
from ...core.host import usable_threads
from ...core.time_limit import check_time
from .machine import Job, compile_job

MINIMUM_BYTES: Final = 600_000
"""Less text than this compiles about as fast as a helper starts: 0.6 s."""
IDLE_SECONDS: Final = 30.0


helpers: Final = Idle("workbench.codegen.llvm.service", IDLE_SECONDS)
"""The helpers of this process that wait for jobs."""


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
        self._busy: list[Child] = []

    def _next(self) -> int | None:
        check_time("code generation")
        with self._lock:
            return self._order.pop() if self._order and self.error is None else None

    def _serve(self) -> None:
        helper = helpers.take()
        self._busy.append(helper)
        while (index := self._next()) is not None:
            try:
                (code,) = helper.ask("compile", {"job": asdict(self.jobs[index])}).frames
                self.results[index] = _told(index, bytes(code), self.done)
            except ChildFailure:
                if not self.stopped:  # it costs time, never the result
                    self._here(index)
                return
            except Exception as error:  # LLVM's or the caller's: it is raised in the caller's thread
                self.error = error
        self._busy.remove(helper)
        if self.stopped:
            helper.close()
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
        helpers.close()

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
