"""Timing functions: `time_evaluator` and what it answers."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..core.errors import require


@dataclass(frozen=True)
class BenchmarkResult:
    """Seconds a call, one number for each repeat."""

    results: tuple[float, ...]
    mean: float = field(init=False)
    median: float = field(init=False)
    min: float = field(init=False)
    max: float = field(init=False)
    std: float = field(init=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "mean", statistics.fmean(self.results))
        put(self, "median", statistics.median(self.results))
        put(self, "min", min(self.results))
        put(self, "max", max(self.results))
        put(self, "std", statistics.pstdev(self.results))

    def __str__(self) -> str:
        names = ("mean", "median", "max", "min", "std")
        head = "Execution time summary:\n" + " ".join(f"{name + ' (ms)':^12s}" for name in names)
        return head + "\n" + " ".join(f"{getattr(self, name) * 1000:^12.4f}" for name in names)


def measure(
    call: Callable[[], Any],
    number: int = 10,
    repeat: int = 1,
    min_repeat_ms: int = 0,
    limit_zero_time_iterations: int = 100,
    cooldown_interval_ms: int = 0,
    repeats_to_cooldown: int = 1,
) -> BenchmarkResult:
    """Call once to warm up, then `repeat` times measure the mean of `number` calls.

    `number` grows until one repeat takes `min_repeat_ms`.
    """
    require(
        number >= 1 and repeat >= 1, "E-TIME-COUNT", "number and repeat are at least 1", found=f"{number}, {repeat}"
    )
    call()
    results: list[float] = []
    for index in range(repeat):
        taken = _run(call, number)
        tries = 0
        while taken * 1000 < min_repeat_ms and tries < limit_zero_time_iterations:
            tries += 1
            number = max(number + 1, int(number * min(10.0, min_repeat_ms / max(taken * 1000, 1e-3) + 0.1)))
            taken = _run(call, number)
        results.append(taken / number)
        if cooldown_interval_ms and (index + 1) % repeats_to_cooldown == 0:
            time.sleep(cooldown_interval_ms / 1000)
    return BenchmarkResult(tuple(results))


def _run(call: Callable[[], Any], number: int) -> float:
    begin = time.perf_counter()
    for _ in range(number):
        call()
    return time.perf_counter() - begin


def evaluator(function: Callable[..., Any], **options: int) -> Callable[..., BenchmarkResult]:
    """A function that takes the arguments of `function` and answers how long a call takes."""

    def evaluate(*args: Any) -> BenchmarkResult:
        timed = getattr(function, "timed", None)
        if timed is not None:  # runs in another process, where it is to be measured
            return timed(args, options)
        return measure(lambda: function(*args), **options)

    return evaluate


__all__ = ["BenchmarkResult", "evaluator", "measure"]
