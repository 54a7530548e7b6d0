"""The thread pool of the process: how many threads parallel loops use.

The default comes from the processor affinity and the cgroup's quota; the variable WORKBENCH_NUM_THREADS overrides it.
"""

from __future__ import annotations

from ..core.errors import WorkbenchError
from .native import library


def num_threads() -> int:
    """Threads that a parallel loop uses (1 without the native runtime)."""
    runtime = library()
    return runtime.num_threads() if runtime is not None else 1


def set_num_threads(count: int) -> None:
    """Use `count` threads from the next parallel loop on."""
    if not isinstance(count, int) or not 1 <= count <= 1024:
        raise WorkbenchError("E-THREADS", "a number of threads is from 1 to 1024", found=repr(count))
    runtime = library()
    if runtime is not None:
        runtime.set_num_threads(count)
