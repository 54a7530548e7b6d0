"""How many threads this process may really use, and giving memory back to the machine.

Counts come from the affinity mask and the cgroup's CPU quota, never from the number of CPUs of the host.

>>> usable_threads() >= 1
True
"""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Final, cast


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
        granted = _ratio(read_text(base / "cpu.max").split())
        if granted is not None:
            return granted
    quota = read_text(folder / "cpu" / "cpu.cfs_quota_us").strip()
    period = read_text(folder / "cpu" / "cpu.cfs_period_us").strip()
    return _ratio([quota, period]) if quota and period else None


def _ratio(words: list[str]) -> int | None:
    if len(words) != 2 or not words[0].isdigit() or not words[1].isdigit() or int(words[1]) == 0:
        return None
    return max(1, -(-int(words[0]) // int(words[1])))


def _own_group() -> str:
    for line in read_text(Path("/proc/self/cgroup")).splitlines():
        if line.startswith("0::"):
            return line[3:]
    return "/"


def read_text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _malloc_trim() -> Callable[[int], int] | None:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None


_give_back: Final = _malloc_trim()
"""Looked up here: compiling a model loads no library, which its tests watch."""


def give_back_memory() -> None:
    """Hand freed memory back to the system, where the C library can (glibc keeps it otherwise, for itself)."""
    if _give_back is not None:
        _give_back(0)


def this_process() -> dict[str, str]:
    """What tells this process from every other, in texts; `is_alive` understands it."""
    return {"host": platform.node(), "number": str(os.getpid()), "began": _began(os.getpid())}


def is_alive(said: object) -> bool:
    """Whether a process that told of itself runs on this machine; False for what is not known."""
    told = cast("dict[str, object]", said) if isinstance(said, dict) else {}
    if told.get("host") != platform.node():
        return False
    number = str(told.get("number"))
    if number == str(os.getpid()):
        return told.get("began") == _began(os.getpid())
    if os.name != "posix" or not (number.isascii() and number.isdigit() and 0 < int(number) < 1 << 31):
        return False
    try:
        os.kill(int(number), 0)
    except PermissionError:  # it is another user's
        pass
    except OSError:
        return False
    return told.get("began") == _began(int(number))


def _began(number: int) -> str:
    """When a process began, as Linux counts it; elsewhere nothing."""
    words = read_text(Path(f"/proc/{number}/stat")).rpartition(")")[2].split()
    return words[19] if len(words) > 19 else ""


@lru_cache(maxsize=1)
def features() -> frozenset[str]:
    """Processor features by LLVM's names, as far as /proc/cpuinfo tells (empty elsewhere)."""
    for line in read_text(Path("/proc/cpuinfo")).splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return frozenset(word.replace("avx512_", "avx512").replace("avx_vnni", "avxvnni") for word in value.split())
    return frozenset()
