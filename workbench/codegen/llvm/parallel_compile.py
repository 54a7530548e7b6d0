"""Compiling many modules at once: this process and helper processes share a queue of jobs.

llvmlite holds one lock in a process, so parallelism takes processes.  A helper is a child that serves `service`, and
exits when it has been idle for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Final

from ...core.child import Child
from ...core.host import usable_threads
from ..sharing import Helpers, Shared
from .machine import Job, compile_job

MINIMUM_BYTES: Final = 600_000
"""Less text than this compiles about as fast as a helper starts: 0.6 s."""
IDLE_SECONDS: Final = 30.0


helpers: Final = Helpers("workbench.codegen.llvm.service", IDLE_SECONDS)
"""The helpers of this process that wait for jobs."""


Done = Callable[[int, bytes], object]


def compile_jobs(jobs: Sequence[Job], workers: int | None = None, done: Done = lambda index, code: None) -> list[bytes]:
    """Object code of each job, in order.  `workers`: processes in all (default: threads this process may use).

    `done` is called with each result as it comes, by the thread that has it.
    """
    count = workers if workers is not None else usable_threads()
    sizes = [len(job.text) for job in jobs]
    if len(jobs) < 2 or (workers is None and sum(sizes) < MINIMUM_BYTES):
        count = 1

    def here(index: int) -> bytes:
        return compile_job(jobs[index])

    def there(helper: Child, taken: Sequence[int]) -> list[bytes]:
        return [bytes(helper.ask("compile", {"job": asdict(jobs[index])}).frames[0]) for index in taken]

    shared = Shared(here, there, helpers, "code generation", done=done)
    for size in sizes:
        shared.add(size)
    shared.start(min(count, len(jobs)) - 1)
    return shared.run()
