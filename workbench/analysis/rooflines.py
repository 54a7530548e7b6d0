"""Arithmetic intensity and the roofline (Williams, Waterman, Patterson, 2009).

Bytes are the least possible: every distinct element of the parameters once in or out.  Peaks are the target's nominal
ones for one core times the threads of a parallel schedule; they compare schedules and promise nothing.  A program
without arithmetic has no roofline: of that, bytes are told.

    point = roofline(matmul, "llvm -mcpu=znver3")
    point.intensity, point.attainable, point.bound
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..core.node import pre_order
from ..tir import nodes as t
from .fact import Fact, bytes_text
from .footprint import footprints
from .operations import flops
from .programs import function_of, target_of


@dataclass(frozen=True)
class Roofline(Fact):
    """One program on one target's roofline; rates in operations and bytes a second, all nominal."""

    flops: int
    bytes: int
    exact: bool
    """Whether the bytes are counted exactly."""
    threads: int
    peak: float
    bandwidth: float
    target: str = ""
    bits: int = 32
    """Of the numbers that arithmetic is on."""
    clock: float = 0.0
    """GHz."""
    clock_is_assumed: bool = False
    """Whether no data sheet of the processor is known here."""

    @property
    def intensity(self) -> float:
        """Operations for each byte that must move."""
        return self.flops / self.bytes if self.bytes else float("inf")

    @property
    def ridge(self) -> float:
        """The intensity from which on arithmetic is the limit."""
        return self.peak / self.bandwidth

    @property
    def attainable(self) -> float:
        """Operations a second at best."""
        return min(self.peak, self.intensity * self.bandwidth)

    @property
    def bound(self) -> str:
        return "arithmetic" if self.intensity >= self.ridge else "memory"

    def to_json(self) -> dict[str, Any]:
        return {
            **super().to_json(),
            "intensity": self.intensity,
            "ridge": self.ridge,
            "attainable": self.attainable,
            "bound": self.bound,
        }

    def __str__(self) -> str:
        if not self.flops:
            return (
                f"no arithmetic, so no roofline of operations: {bytes_text(self.bytes)} at least move, "
                f"at {self.bandwidth / 1e9:.0f} GB/s of memory at best (nominal)"
            )
        clock = f" at {self.clock:g} GHz, which is assumed" if self.clock_is_assumed else ""
        return (
            f"{self.flops:,} operations on {bytes_text(self.bytes)}: {self.intensity:.2f} operations a byte\n"
            f"nominal{clock}, {self.threads} thread{'s' if self.threads > 1 else ''}: {self.peak / 1e9:.0f} GFLOP/s, "
            f"{self.bandwidth / 1e9:.0f} GB/s, ridge at {self.ridge:.1f} operations a byte\n"
            f"at best {self.attainable / 1e9:.1f} GFLOP/s, limited by {self.bound}"
        )


def roofline(program: Any, target: Any = None, sizes: Mapping[str, int] | None = None) -> Roofline:
    """Where a schedule or function stands; with a parallel loop the target's threads count."""
    func, chosen = function_of(program, sizes), target_of(program, target)
    names = {parameter.name for parameter in func.params if isinstance(parameter, t.Buffer)}
    touched = [item for item in footprints(func, chosen)[""].buffers if item.buffer in names]
    parallel = any(isinstance(node, t.For) and node.kind is t.ForKind.PARALLEL for node in pre_order(func))
    widths = [p.dtype.bits for p in func.params if isinstance(p, t.Buffer) and p.dtype.is_float]
    threads, bits = chosen.threads if parallel else 1, max(widths, default=32)
    return Roofline(
        flops(func),
        sum(item.bytes for item in touched),
        all(item.exact for item in touched),
        threads,
        chosen.nominal_flops(bits) * threads,
        # Threads share the memory: two keep it busy.
        chosen.nominal.bandwidth * 1e9 * min(threads, 2),
        str(chosen), bits, chosen.nominal.clock, chosen.clock_is_assumed,
    )  # fmt: skip
