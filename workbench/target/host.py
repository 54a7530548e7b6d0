"""Facts about the machine that runs us: architecture, processor features, caches.  Read once."""

from __future__ import annotations

import platform
from functools import lru_cache
from pathlib import Path

from ..core.host import read_text, usable_threads
from .tables import ARCHITECTURE_ALIASES, BASELINES, Processor


def architecture() -> str:
    """The host's architecture as a triple spells it."""
    name = platform.machine().lower()
    return ARCHITECTURE_ALIASES.get(name, name)


@lru_cache(maxsize=1)
def features() -> frozenset[str]:
    """Processor features by LLVM's names, as far as /proc/cpuinfo tells (empty elsewhere)."""
    for line in read_text(Path("/proc/cpuinfo")).splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return frozenset(word.replace("avx512_", "avx512").replace("avx_vnni", "avxvnni") for word in value.split())
    return frozenset()


@lru_cache(maxsize=1)
def processor() -> Processor:
    """The host as a `Processor`."""
    base = BASELINES.get(architecture(), BASELINES["x86_64"])
    known = features()
    lanes, registers = base.lanes, base.vector_registers
    if "avx512f" in known and "avx512vl" in known:
        lanes, registers = 16, 32
    elif "avx2" in known and "fma" in known:
        lanes, registers = 8, 16
    return Processor(base.architecture, lanes, registers, _caches() or base.caches, tuple(sorted(known)))


def _caches() -> tuple[int, ...]:
    """Data cache sizes by level from sysfs, or empty."""
    sizes: dict[int, int] = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (read_text(folder / name).strip() for name in ("level", "type", "size"))
        if kind in ("Data", "Unified") and level.isdigit() and size.rstrip("KM").isdigit():
            scale = {"K": 1024, "M": 1024 * 1024}.get(size[-1:], 1)
            sizes[int(level)] = int(size.rstrip("KM")) * scale
    return tuple(sizes[level] for level in sorted(sizes))


@lru_cache(maxsize=1)
def cache_shapes() -> tuple[tuple[int, int], ...]:
    """(ways, bytes of a line) of the data caches by level from sysfs, or empty."""
    found: dict[int, tuple[int, int]] = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, ways, line = (
            read_text(folder / name).strip()
            for name in ("level", "type", "ways_of_associativity", "coherency_line_size")
        )
        if kind in ("Data", "Unified") and level.isdigit() and ways.isdigit() and line.isdigit():
            found[int(level)] = (max(1, int(ways)), max(1, int(line)))
    return tuple(found[level] for level in sorted(found))


__all__ = ["architecture", "cache_shapes", "features", "processor", "usable_threads"]
