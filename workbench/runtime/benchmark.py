"""Timing functions: `module.time_evaluator("f", dev, number=10, repeat=3)(*args).mean`.

Times are of the whole call, in seconds.  Each repeat runs the function `number` times and counts the average.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class BenchmarkResult:
    """Seconds a call, one entry a repeat."""

    results: tuple[float, ...]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.results)

    @property
    def median(self) -> float:
        return statistics.median(self.results)

    @property
    def min(self) -> float:
        return min(self.results)

    @property
    def max(self) -> float:
        return max(self.results)

    @property
    def std(self) -> float:
        """Standard deviation (0 for a single repeat)."""
        return statistics.pstdev(self.results)

    def __str__(self) -> str:
        names = ("mean", "median", "max", "min", "std")
        heads = "".join(f"{name + ' (ms)':>14}" for name in names)
        values = "".join(f"{getattr(self, name) * 1000:>14.4f}" for name in names)
        return f"Execution time summary:\n{heads}\n{values}"


def evaluator(call: Callable[..., Any], number: int = 10, repeat: int = 1, min_repeat_ms: int = 0) -> Callable[..., BenchmarkResult]:
    """A function that times `call(*args)`; the first call is not counted.

    `number` grows until a repeat takes at least `min_repeat_ms`.
    """

    def measure(*args: Any) -> BenchmarkResult:
        call(*args)
        results: list[float] = []
        count = max(number, 1)
        for _ in range(max(repeat, 1)):
            while True:
                started = time.perf_counter()
                for _ in range(count):
                    call(*args)
                spent = time.perf_counter() - started
                if spent * 1000 >= min_repeat_ms:
                    break
                count = max(count * 2, int(count * min_repeat_ms / max(spent * 1000, 0.001)))
            results.append(spent / count)
        return BenchmarkResult(tuple(results))

    return measure
