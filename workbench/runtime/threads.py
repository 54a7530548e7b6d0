"""How many threads parallel loops use, and how long a run may take.

The pool starts with what this process may use (affinity, cgroup quota; ``WORKBENCH_NUM_THREADS`` overrides it).
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ..core.errors import require
from ..core.limits import limits
from ..core.time_limit import check_time, seconds_left
from .native.loader import MOST_THREADS, default_threads, library


def num_threads() -> int:
    """Threads that parallel loops use, the caller's included; 1 without the native runtime."""
    runtime = library()
    return runtime.num_threads() if runtime is not None else 1


def set_num_threads(count: int) -> None:
    """Use `count` threads from the next parallel loop on (0: as many as the pool started with)."""
    fits = isinstance(count, int) and 0 <= count <= MOST_THREADS
    require(fits, "E-THREADS", f"threads are 0 to {MOST_THREADS}", found=repr(count))
    runtime = library()
    if runtime is not None:
        runtime.set_num_threads(count or default_threads())


@contextmanager
def at_most(count: int) -> Generator[None]:
    """Let parallel loops of the process use at most `count` threads in the block."""
    before = num_threads()
    set_num_threads(min(before, count))
    try:
        yield
    finally:
        set_num_threads(before)


def limit_run() -> None:
    """Let the next run of a compiled model take what `limits.run_seconds` and an active `time_limit` allow."""
    runtime = library()
    if runtime is not None:
        check_time("run")
        runtime.set_run_limit(int(min(limits.run_seconds, seconds_left()) * 1e9) or 1)
