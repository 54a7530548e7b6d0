"""What the machine can do, measured in the run whose figures are set against it."""

from __future__ import annotations

import platform
import statistics
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from workbench.core.host import read_text, usable_threads

MEGABYTES = 64
"""Of each array of the triad: more than the caches of one core hold."""


def measured(threads: int = 1) -> dict[str, float]:
    """`flops`: floating-point operations a second of float32 multiply-adds; `bandwidth`: bytes a second of a triad."""
    import workbench as wb

    return {"flops": wb.peak_flops() * threads, "bandwidth": bandwidth(threads)}


def bandwidth(threads: int = 1, rounds: int = 5) -> float:
    """Bytes a second of c = a + b over arrays outside the caches, each thread on its own (two read, one written)."""
    count = MEGABYTES * (1 << 20) // 4
    arrays = [[np.ones(count, np.float32) for _ in range(3)] for _ in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        def once() -> float:
            started = perf_counter()
            list(pool.map(lambda abc: np.add(abc[0], abc[1], out=abc[2]), arrays))  # NumPy lets other threads run
            return 3 * 4 * count * threads / (perf_counter() - started)

        return statistics.median(once() for _ in range(rounds))


def machine() -> dict[str, Any]:
    """Name of the processor, cores that this process may use (affinity and quota counted), system, Python."""
    return {
        "processor": _processor(),
        "cores": usable_threads(),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def _processor() -> str:
    lines = read_text(Path("/proc/cpuinfo")).splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
