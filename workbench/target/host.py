"""Facts about the machine that runs us: processor features, caches, and how many threads we may really use.

Thread counts come from the affinity mask and the cgroup's CPU quota, never from the number of CPUs of the host.
Everything is read once and needs no third-party package.
"""

from __future__ import annotations

import os
import platform
from functools import lru_cache
from pathlib import Path

from .tables import ARCHITECTURE_ALIASES, BASELINES, Processor


@lru_cache(maxsize=1)
def usable_threads() -> int:
    """Threads that can run at once: the least of affinity, cgroup quota (rounded up) and the CPUs there are."""
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity is not None else (os.cpu_count() or 1)
    quota = _cgroup_quota()
    return max(1, min(count, quota) if quota else count)


def _cgroup_quota() -> int | None:
    """CPUs granted by the cgroup (version 2, then 1), rounded up; None without a limit."""
    folder = Path("/sys/fs/cgroup")
    own = _own_group()
    for base in dict.fromkeys((folder / own.lstrip("/"), folder)):
        granted = _ratio(_read(base / "cpu.max").split())
        if granted is not None:
            return granted
    quota = _read(folder / "cpu" / "cpu.cfs_quota_us").strip()
    period = _read(folder / "cpu" / "cpu.cfs_period_us").strip()
    return _ratio([quota, period]) if quota and period else None


def _ratio(words: list[str]) -> int | None:
    if len(words) != 2 or not words[0].isdigit() or not words[1].isdigit() or int(words[1]) == 0:
        return None
    return max(1, -(-int(words[0]) // int(words[1])))


def _own_group() -> str:
    for line in _read(Path("/proc/self/cgroup")).splitlines():
        if line.startswith("0::"):
            return line[3:]
    return "/"


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def architecture() -> str:
    """The host's architecture as a triple spells it."""
    name = platform.machine().lower()
    return ARCHITECTURE_ALIASES.get(name, name)


@lru_cache(maxsize=1)
def features() -> frozenset[str]:
    """Processor features by LLVM's names, as far as /proc/cpuinfo tells (empty elsewhere)."""
    for line in _read(Path("/proc/cpuinfo")).splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return frozenset(word.replace("avx512_", "avx512") for word in value.split())
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
        level, kind, size = (_read(folder / name).strip() for name in ("level", "type", "size"))
        if kind in ("Data", "Unified") and level.isdigit() and size.rstrip("KM").isdigit():
            scale = {"K": 1024, "M": 1024 * 1024}.get(size[-1:], 1)
            sizes[int(level)] = int(size.rstrip("KM")) * scale
    return tuple(sizes[level] for level in sorted(sizes))
