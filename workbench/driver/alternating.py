"""Two programs timed in alternating runs: what differs between them, and whether that is more than chance.

    found = alternating(first, second)        # each runs the program once
    found.seconds                             # median of (second - first), run beside run
    found.clear                               # whether it is more than the runs differ by themselves

A machine's speed changes while it is measured; runs beside each other change together.  The middle differences, all but
the least and the greatest of eleven, hold the true median in 98.8 of 100 cases whatever the differences are distributed
like (sign test): where they are on both sides of zero, nothing can be told.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from ..analysis.fact import Fact

PAIRS: Final = 11
"""Samples of each program."""
_LEAST_SECONDS: Final = 0.002
"""A sample of a faster program is the mean of so many runs that it takes this long."""
_MOST_RUNS: Final = 50


@dataclass(frozen=True)
class Spread(Fact):
    """Samples of a time, or of a difference of times, in seconds."""

    seconds: float
    """Their median."""
    least: float
    """All samples but the least and the greatest lie from here ..."""
    greatest: float
    """... to here."""

    @classmethod
    def of(cls, samples: list[float]) -> Spread:
        """Of two samples and more, where there are five and more without the outermost."""
        ordered = sorted(samples)
        inner = ordered[1:-1] if len(ordered) > 4 else ordered
        return cls(median(ordered), inner[0], inner[-1])

    @property
    def clear(self) -> bool:
        """Of differences: whether they are on one side of zero."""
        return self.least > 0 or self.greatest < 0


@dataclass(frozen=True)
class Pair(Fact):
    """Two programs, and by how much the second takes longer."""

    first: Spread
    second: Spread
    apart: Spread


def alternating(first: Callable[[], Any], second: Callable[[], Any], pairs: int = PAIRS) -> Pair:
    """Run both in turn, the order changing from pair to pair; the first run of each warms up."""
    runs = max(_runs(first), _runs(second))
    spent: tuple[list[float], list[float]] = ([], [])
    for index in range(pairs):
        both = ((first, spent[0]), (second, spent[1]))
        for call, samples in both if index % 2 == 0 else both[::-1]:
            samples.append(_sample(call, runs))
    apart = [after - before for before, after in zip(*spent, strict=True)]
    return Pair(Spread.of(spent[0]), Spread.of(spent[1]), Spread.of(apart))


def samples(call: Callable[[], Any], count: int = PAIRS) -> Spread:
    """One program by itself."""
    runs = _runs(call)
    return Spread.of([_sample(call, runs) for _ in range(count)])


def _runs(call: Callable[[], Any]) -> int:
    call()
    return max(1, min(_MOST_RUNS, round(_LEAST_SECONDS / max(_sample(call, 1), 1e-6))))


def _sample(call: Callable[[], Any], runs: int) -> float:
    started = time.perf_counter()
    for _ in range(runs):
        call()
    return (time.perf_counter() - started) / runs
