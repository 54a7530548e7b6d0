"""Comparing two sessions on the same inputs: outputs, kernels, time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .session import Session


@dataclass(frozen=True)
class Comparison:
    """Two sessions side by side; times are medians of a few runs in this process, in milliseconds."""

    names: tuple[str, str]
    kernels: tuple[int, int]
    milliseconds: tuple[float, float]
    greatest_difference: float
    """Greatest absolute difference between their outputs."""
    differing_steps: tuple[str, ...]

    def __str__(self) -> str:
        rows = [
            f"{'':<14}{self.names[0]:>16}{self.names[1]:>16}",
            f"{'kernels':<14}{self.kernels[0]:>16}{self.kernels[1]:>16}",
            f"{'milliseconds':<14}{self.milliseconds[0]:>16.3f}{self.milliseconds[1]:>16.3f}",
            f"greatest difference of an output: {self.greatest_difference:.3g}",
            f"steps only in one of them: {', '.join(self.differing_steps) or 'none'}",
        ]
        return "\n".join(rows)

    __repr__ = __str__


def compare(one: Session, other: Session, inputs: Mapping[str, Any], repeat: int = 5) -> Comparison:
    """Run both sessions on `inputs` in turn and put the results side by side."""
    first, second = one.run(inputs), other.run(inputs)
    gap = max(
        (float(np.max(np.abs(first[name].astype(np.float64) - second[name]), initial=0.0)) for name in first),
        default=0.0,
    )
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeat):
        for session, spent in zip((one, other), times, strict=True):
            started = time.perf_counter()
            session.run(inputs)
            spent.append((time.perf_counter() - started) * 1000)
    keys = {action.key for action in one.plan} ^ {action.key for action in other.plan}
    differing = [action.name for action in (*one.plan, *other.plan) if action.key in keys]
    return Comparison(
        ("first", "second"),
        (len(one.kernels), len(other.kernels)),
        (median(times[0]), median(times[1])),
        gap,
        tuple(dict.fromkeys(differing)),
    )
