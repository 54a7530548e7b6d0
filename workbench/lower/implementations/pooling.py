"""Pooling over windows: all taps of a window at once, or those below each other first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from ...core.rewrite import Failure
from ...schedule.rules import pooling
from ...schedule.rules.shapes import divisors, whole_lanes
from ...schedule.schedule import Schedule
from ...topi.compute_conv import reach
from ...topi.compute_pool import pool
from ..implementation import Config, Implementation, Workload, static
from .register_tiles import PAGE

ROWS: Final = 32
"""Rows of windows that share what surrounds the data, at most."""
PLAIN: Final = 0.015
"""Of the peak of multiply-adds, where pooling is scheduled block by block."""
LOAD: Final = 0.5
"""Cycles in which a vector of numbers side by side is loaded."""
STRIDED: Final = 1.2
"""Cycles in which a vector of every second or third number is."""
MAX: Final = 1.2
"""Cycles of the greater of two vectors of floats, NaN kept."""
EDGE: Final = 2.0
"""Cycles that the ends of a row cost where it is copied."""
STAGE: Final = 10.0
"""Cycles that pass between writing the columns of a row and reading them."""
BURST: Final = 12.0
"""Cycles for each further row that is copied at once, up to `MOST`: data from beyond the caches are waited for."""
MOST: Final = 30.0
ANOTHER_PAGE: Final = 1.5
"""Cycles more of a load after one from another page: what comes next is not fetched ahead."""


class Windows(Implementation):
    """All taps of a window one after the other."""

    name = "pool.windows"
    about = "vectors along the last axis, all taps of a window written out"
    apart = False
    wait = 35.0
    """Cycles that pass between copying rows and reading them, at other places than they were written."""

    def why_not(self, workload: Workload) -> Failure | None:
        refusal = static(workload)
        if refusal is not None:
            return refusal
        op: Any = workload.operator
        if self.apart and len(op.axes()) < 2:
            return Failure("windows have taps below each other", "one axis is pooled")
        shape = op.infer(*workload.types).concrete_shape
        if op.axes()[-1] != len(shape) - 1 and whole_lanes(shape[-1], 4) is None:
            return Failure("channels that come last fill vectors", f"{shape[-1]} channels")
        return None

    def costs(self, workload: Workload) -> Iterator[tuple[Config, float]]:
        row = _Row.of(workload)
        for lanes in row.lanes:
            for rows in divisors(row.count) if row.several else [1]:
                if rows <= ROWS:
                    yield {"rows": rows, "lanes": lanes}, row.all_rows * self._cycles(row, rows, lanes)

    def _cycles(self, row: _Row, rows: int, lanes: int) -> float:
        """Of a row of windows."""
        width = -(-row.width // lanes) * lanes
        columns = reach(width, row.stride, row.taps[-1], row.gap) if row.pooled_last else row.columns
        copied = columns if self.apart or not row.pooled_last else width
        taps = row.taps[-1] if self.apart else prod(row.taps)
        load = LOAD if row.stride == 1 or not row.pooled_last else STRIDED
        far = ANOTHER_PAGE if row.pages and not self.apart else 0.0
        cycles = width / lanes * taps * (load + row.step + far)
        if self.apart:
            below = prod(row.taps[:-1])
            cycles += -(-copied // lanes) * below * (LOAD + row.step) + STAGE
        if row.padded or columns > row.columns:
            high = ((rows - 1) * row.down + row.high) / rows
            cycles += high * (columns / lanes + EDGE) + self.wait / rows
            cycles += min(BURST * (rows - 1), MOST) if row.streams else 0.0
        return cycles

    def compute(self, workload: Workload, config: Config, *tensors: Any) -> Any:
        return pool(workload.operator, *tensors, lanes=config["lanes"], apart=self.apart)

    def schedule(self, schedule: Schedule, block: str, workload: Workload, config: Config) -> None:
        op: Any = workload.operator
        pooling.windows(schedule, block, workload.machine, op.axes()[0], config["rows"], config["lanes"])


class Apart(Windows):
    """The taps below each other first, for every column: a window shares those of its columns with its neighbours."""

    name = "pool.apart"
    about = "taps below each other first, for every column; then those of a row; vectors along the last axis"
    apart = True
    wait = 10.0


@dataclass(frozen=True)
class _Row:
    """What is computed for one place of the first axis that is pooled and of those before it."""

    count: int
    """Places of that axis."""
    several: bool
    """Whether it is not the last axis of all."""
    all_rows: int
    width: int
    """Results of a row."""
    columns: int
    """Elements of data that lie as the results of a row do."""
    lanes: tuple[int, ...]
    taps: tuple[int, ...]
    """Of a window, by axis."""
    stride: int
    gap: int
    """Between windows, and between taps, along the last axis that is pooled."""
    down: int
    high: int
    """Rows of data between rows of windows, and of one of these."""
    pooled_last: bool
    padded: bool
    streams: bool
    """Whether data come from beyond the caches."""
    pages: bool
    """Whether neighbours of a window are a page or more apart: channels come last, and there are many."""
    step: float
    """Cycles that a vector of taps costs beside its load."""

    @classmethod
    def of(cls, workload: Workload) -> _Row:
        op: Any = workload.operator
        kind = op.infer(*workload.types)
        data, shape, axes = workload.shapes[0], kind.concrete_shape, op.axes()
        size, strides, dilation, pads = op.window()
        pooled_last, several = axes[-1] == len(shape) - 1, axes[0] != len(shape) - 1
        first = axes[0] + 1 if several else axes[0]
        most = max(4, workload.machine.lanes * 4 // kind.dtype.bytes)
        every = tuple(lanes for lanes in (most, most // 2, most // 4) if lanes >= 4) or (most,)
        chosen = every if pooled_last else (whole_lanes(shape[-1], most) or 4,)
        return cls(
            shape[axes[0]], several, prod(shape[:first]), prod(shape[first:]), prod(data[first:]), chosen, size,
            strides[-1], dilation[-1], strides[0], (size[0] - 1) * dilation[0] + 1, pooled_last, any(pads),
            prod(data) * kind.dtype.bytes > workload.machine.second,
            not pooled_last and shape[-1] * kind.dtype.bytes >= PAGE,
            MAX if kind.dtype.is_float and not op.average else 0.5,
        )  # fmt: skip
