"""What models of a machine need besides its sizes: how caches are organised, and what it can do at its best.

All figures are *nominal*: from data sheets, for one core at its base clock, good for comparing programs and not for
predicting seconds.  A processor that is not listed gets the ordinary ones.

>>> CacheLevel("L1", 32 * 1024, 8, 64).sets
64
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True)
class CacheLevel:
    """A set-associative data cache: `size` and `line` in bytes."""

    name: str
    size: int
    ways: int
    line: int = 64

    @property
    def sets(self) -> int:
        """Sets, at least one."""
        return max(1, self.size // (self.ways * self.line))


@dataclass(frozen=True)
class Nominal:
    """What one core can do at its best."""

    clock: float = 3.0
    """GHz."""
    fma_units: int = 2
    """Vector multiply-adds that start in one cycle."""
    loads: int = 2
    """Vector loads in one cycle."""
    stores: int = 1
    """Vector stores in one cycle."""
    width: int = 4
    """Instructions of any kind in one cycle."""
    fma_latency: int = 4
    """Cycles until a sum can be added to again."""
    add_latency: int = 4
    """The same for an addition without a product (uops.info)."""
    bandwidth: float = 20.0
    """GB/s from memory."""
    fetched: int = 32
    """Bytes that come from L2 into L1 in one cycle (the makers' optimization guides: AMD 32, Zen 5 64, Intel 64)."""
    shared: int = 32
    """Bytes that come from L3 into L2 in one cycle (AMD's guides: 32; Intel's meshes 16: Hofmann and others, 2020)."""
    latency: tuple[int, ...] = (14, 50, 200)
    """Cycles to fetch a line from L2, from L3, from memory (from L2 and memory: the first and the last)."""
    in_halves: bool = False
    """Whether the longest vectors are computed and loaded in two halves: twice as many of half the length at once."""

    def of_lanes(self, lanes: int, longest: int) -> Nominal:
        """The same of vectors of so many lanes, where the longest have `longest`."""
        if not self.in_halves or lanes >= longest:
            return self
        return replace(self, fma_units=2 * self.fma_units, loads=2 * self.loads, in_halves=False)


WAYS: Final = (8, 8, 16)
"""Ways by level, of processors that are not listed."""
PROCESSOR_WAYS: Final[dict[str, tuple[int, ...]]] = {
    "znver5": (12, 16, 16),
    "skylake": (8, 4, 16),
    "skylake-avx512": (8, 16, 16),
    "cascadelake": (8, 16, 16),
    "icelake-server": (12, 20, 16),
    "sapphirerapids": (12, 16, 16),
    "alderlake": (12, 10, 12),
    "apple-m1": (8, 12),
    "apple-m2": (8, 16),
    "apple-m3": (8, 16),
    "apple-m4": (8, 16),
    "cortex-a53": (4, 16),
    "cortex-a72": (2, 16),
    "cortex-a76": (4, 8, 16),
    "neoverse-n1": (4, 8, 16),
    "neoverse-v1": (4, 8, 16),
    "neoverse-v2": (4, 8, 16),
}
NOMINAL: Final[dict[str, Nominal]] = {
    "znver5": Nominal(clock=4.0, width=8, bandwidth=30.0, fetched=64, add_latency=2),
    "znver4": Nominal(clock=4.0, fma_units=1, loads=1, width=6, bandwidth=25.0, add_latency=3, in_halves=True),
    "znver3": Nominal(clock=3.5, width=6, bandwidth=25.0, add_latency=3),
    "znver2": Nominal(clock=3.3, width=5, fma_latency=5, add_latency=3),
    "haswell": Nominal(fma_latency=5, fetched=64, add_latency=3),
    "broadwell": Nominal(fma_latency=5, fetched=64, add_latency=3),
    "skylake-avx512": Nominal(clock=2.5, bandwidth=13.0, fetched=64, shared=16),
    "cascadelake": Nominal(clock=2.5, bandwidth=13.0, fetched=64, shared=16),
    "icelake-server": Nominal(clock=2.6, width=5, fetched=64, shared=16),
    "sapphirerapids": Nominal(clock=2.4, width=6, fetched=64, shared=16),
    "apple-m1": Nominal(clock=3.2, fma_units=4, loads=3, stores=2, width=8, bandwidth=60.0, add_latency=3),
    "cortex-a53": Nominal(clock=1.2, fma_units=1, loads=1, stores=1, width=2, bandwidth=2.0),
    "cortex-a72": Nominal(clock=1.5, fma_units=1, loads=1, stores=1, width=3, fma_latency=7, bandwidth=4.0),
    "cortex-a76": Nominal(clock=2.4, bandwidth=10.0),
}


def organised(sizes: tuple[int, ...], ways: tuple[int, ...], line: int = 64) -> tuple[CacheLevel, ...]:
    """Cache levels of given sizes; a cache too small for its ways has as many ways as lines."""
    return tuple(
        CacheLevel(f"L{level + 1}", size, max(1, min(ways[min(level, len(ways) - 1)], size // line)), line)
        for level, size in enumerate(sizes)
    )
