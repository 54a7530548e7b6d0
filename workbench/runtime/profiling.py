"""What the debugging executor measured: one row a kernel call, printed as one table.

report = debug.profile(x=photo)
print(report)                       # label, kernel, microseconds, share, results
report[0].seconds, report.slowest(5)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class KernelTime(Mapping[str, Any]):
    """One kernel call: what it computes, how long it took, what it gave.  Fields read as attributes or by name."""

    call: int
    """Its number in the model."""
    label: str
    kernel: str
    seconds: float
    share: float
    """Part of the time of all calls."""
    results: str
    """Dtype and shape of what it gives."""

    def __getitem__(self, name: str) -> Any:
        return asdict(self)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(asdict(self))

    def __len__(self) -> int:
        return len(asdict(self))


@dataclass(frozen=True)
class ProfileReport:
    """The rows in order of the calls; see the module's header."""

    rows: tuple[KernelTime, ...]
    note: str = ""

    @property
    def seconds(self) -> float:
        """Seconds of all calls together."""
        return sum(row.seconds for row in self.rows)

    def slowest(self, count: int = 10) -> ProfileReport:
        """The calls that took longest, longest first."""
        return ProfileReport(tuple(sorted(self.rows, key=lambda row: -row.seconds)[:count]), self.note)

    def json(self) -> str:
        return json.dumps([dict(row) for row in self.rows], indent=1)

    def table(self) -> str:
        return str(self)

    def __iter__(self) -> Iterator[KernelTime]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> KernelTime:
        return self.rows[index]

    def __str__(self) -> str:
        width = min(60, max([5, *(len(row.label) for row in self.rows)]))
        lines = [f"{'call':>4}  {'computes':<{width}}  {'us':>11}  {'share':>7}  gives"]
        for row in self.rows:
            label = row.label if len(row.label) <= width else row.label[: width - 1] + "…"
            share = f"{100 * row.share:.1f} %"
            lines.append(f"{row.call:>4}  {label:<{width}}  {row.seconds * 1e6:>11.1f}  {share:>7}  {row.results}")
        lines.append(f"{len(self.rows)} kernel calls, {self.seconds * 1e3:.3f} ms together")
        if self.note:
            lines.append(self.note)
        return "\n".join(lines)

    __repr__ = __str__
