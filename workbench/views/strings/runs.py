"""Texts of one run, call by call."""

from __future__ import annotations

from .plurals import counted
from .times import digits, time_text


class Runs:
    """See the module's header."""

    kernel = "kernel"
    calls = "calls"
    time = "time"
    share = "share"
    operations = "GFLOP/s"
    moved = "GB/s"
    none = "\u2013"

    def spent(self, seconds: float) -> str:
        return time_text(seconds)

    def more_kernels(self, count: int) -> str:
        return f"\u2026 {counted(count, 'kernel', 'kernels')} more"

    def together(self, calls: int, seconds: float, runs: int, empty: float) -> str:
        return (
            f"{counted(calls, 'kernel call', 'kernel calls')}, {time_text(seconds)} together: each the least of "
            f"{counted(runs, 'run', 'runs')}, without the {time_text(empty)} that an empty call takes"
        )

    def whole_run(self, seconds: float) -> str:
        return f"a whole run, of which no call is timed: {time_text(seconds)}"

    def rate(self, value: float) -> str:
        return digits(value)

    rates = "GB/s: each array that a call reads or writes, once"
