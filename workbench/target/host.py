"""Facts about the machine that runs us: architecture, processor features, caches.  Read once."""

from __future__ import annotations

import platform
from functools import lru_cache
from pathlib import Path
from typing import Final

from ..core.host import features, read_text, usable_threads
from .tables import ARCHITECTURE_ALIASES, BASELINES, Processor


def architecture() -> str:
    """The host's architecture as a triple spells it."""
    name = platform.machine().lower()
    return ARCHITECTURE_ALIASES.get(name, name)


_AMD: Final = {23: "znver2", 25: "znver3", 26: "znver5"}
"""LLVM's names by family; of the earlier half of family 23 none is right, and with AVX-512 family 25 is Zen 4."""
_INTEL: Final = {
    **dict.fromkeys((60, 63, 69, 70), "haswell"), **dict.fromkeys((61, 71, 79, 86), "broadwell"),
    85: "skylake-avx512", 106: "icelake-server", 108: "icelake-server", 143: "sapphirerapids", 207: "sapphirerapids",
}  # fmt: skip
"""By model, of family 6."""


@lru_cache(maxsize=1)
def known_as() -> str:
    """LLVM's name of the host's processor, where /proc/cpuinfo tells it and it is one of those above; else empty."""
    lines = (line.partition(":") for line in read_text(Path("/proc/cpuinfo")).splitlines())
    told: dict[str, str] = {}
    for key, _, value in lines:
        told.setdefault(key.strip(), value.strip())
    return named(told.get("vendor_id", ""), told.get("cpu family", ""), told.get("model", ""), features())


def named(vendor: str, family: str, model: str, known: frozenset[str]) -> str:
    """The name of a processor that calls itself so and has these features."""
    if not (family.isdigit() and model.isdigit()):
        return ""
    if vendor == "AuthenticAMD":
        name = _AMD.get(int(family), "")
        if name == "znver2" and int(model) < 0x30:
            return ""
        return "znver4" if name == "znver3" and "avx512f" in known else name
    name = _INTEL.get(int(model), "") if vendor == "GenuineIntel" and family == "6" else ""
    return "cascadelake" if name == "skylake-avx512" and "avx512vnni" in known else name


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


__all__ = ["architecture", "cache_shapes", "features", "known_as", "named", "processor", "usable_threads"]
