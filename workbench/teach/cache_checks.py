"""Checks of figures that the models of `analysis` compute: misses of a cache, cycles, footprints.

    CACHE = CacheLevel("L1", 2048, 2, 64)
    checks=(misses_at_most(lambda shapes: shapes["n"] ** 3 // 4, CACHE, "C"), ...)

The models are exact and deterministic: the same program has the same figure on every machine, so that a mark does not
depend on the processor it was given on.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

from ..analysis.cache import CacheReport, simulate_cache
from ..core.errors import WorkbenchError
from ..schedule.schedule import Schedule
from ..target.memory import CacheLevel
from .checks import Bound, bound_of, verdict_of
from .exercise import Check, Verdict
from .work import Work

CACHE: Final = CacheLevel("L1", 2048, 2, 64)
"""A small cache for small programs: 32 lines of 16 float32 each, two ways."""
TARGET: Final = "llvm -mcpu=x86-64-v3"
"""Whose ports and latencies count cycles: always the same."""
TILES: Final = (8, 16, 4)
TRIES: Final = 24


def misses_at_most(limit: Bound, cache: CacheLevel = CACHE, block: str = "", points: int = 2) -> Check:
    """One run of the program misses `cache` at most so often; `block` is where the hints look for a better order."""

    def run(work: Work) -> Verdict:
        report = simulated(work, cache)
        allowed = bound_of(limit, work)
        if report.misses <= allowed:
            return Verdict(True, f"{report.misses:,} misses of {report.accesses:,} accesses (at most {allowed:,})")
        worst = max(report.sites, key=lambda site: site.misses[0])
        reason = (
            f"{report.misses:,} misses, at most {allowed:,} may be; {worst.name} alone misses {worst.misses[0]:,} "
            f"of {worst.accesses:,} times"
        )
        return Verdict(False, reason, (worst.buffer, *worst.loops), "split, then reorder")

    check = Check(f"few misses of a cache of {cache.size:,} bytes", run, points)
    return _with_remedy(check, block)


def cycles_at_most(limit: Bound, cache: CacheLevel = CACHE, block: str = "", points: int = 2) -> Check:
    """The estimate of cycles (`analysis.cycles`) is at most so large."""

    def run(work: Work) -> Verdict:
        cycles = simulated(work, cache).cycles
        allowed = bound_of(limit, work)
        if cycles.total <= allowed:
            return Verdict(True, f"{cycles.total:,} cycles (at most {allowed:,})")
        reason = f"{cycles.total:,} cycles, at most {allowed:,} may be; the loops wait for {cycles.limit}"
        return Verdict(False, reason, primitive="reorder")

    return _with_remedy(Check("few cycles", run, points), block)


def simulated(work: Work, cache: CacheLevel = CACHE) -> CacheReport:
    return simulate_cache(work.function, TARGET, caches=[cache])


def _with_remedy(check: Check, block: str) -> Check:
    from dataclasses import replace

    if not block:
        return check
    made: list[Check] = []

    def remedy(work: Work) -> tuple[str, ...] | None:
        return tiling(made[0], work, block)

    made.append(replace(check, remedy=remedy))
    return made[0]


def tiling(check: Check, work: Work, block: str) -> tuple[str, ...] | None:
    """Lines from the start that pass the check: another order of the block's loops, else tiles, found by trying."""
    for lines in itertools.islice(_orders_and_tiles(work, block), TRIES):
        sch = Schedule(work.start)
        try:
            _do(sch, block, lines)
        except WorkbenchError:
            continue
        if verdict_of(check, Work(work.shapes, work.start, sch.func, sch)).passed:
            return tuple(lines)
    return None


def _orders_and_tiles(work: Work, block: str) -> Iterator[list[str]]:
    loops = [loop.target.name for loop in Schedule(work.start).get_loops(block)]
    begin = f"{', '.join(loops)}{',' if len(loops) == 1 else ''} = sch.get_loops({block!r})"
    for order in itertools.permutations(loops):
        if list(order) != loops:
            yield [begin, f"sch.reorder({', '.join(order)})"]
    for tiled, tile in itertools.product(_subsets(loops), TILES):
        splits = [f"{name}o, {name}i = sch.split({name}, factors=[None, {tile}])" for name in tiled]
        outer = [f"{name}o" for name in tiled]
        middle = [name for name in loops if name not in tiled]
        inner = [f"{name}i" for name in tiled]
        yield [begin, *splits, f"sch.reorder({', '.join([*outer, *middle, *inner])})"]


def _subsets(loops: list[str]) -> list[tuple[str, ...]]:
    """What to tile, pairs first."""
    return [pair for size in (2, 3) for pair in itertools.combinations(loops, size)]


def _do(sch: Schedule, block: str, lines: list[str]) -> None:
    """Carry out lines made here (their form is known; nothing is evaluated)."""
    held: dict[str, Any] = {}
    for line in lines:
        left, _, call = line.rpartition(" = ") if " = sch." in line else ("", "", line)
        name, _, rest = call.removeprefix("sch.").rstrip(")").partition("(")
        if name == "get_loops":
            made: Any = sch.get_loops(block)
        elif name == "split":
            made = sch.split(held[rest.split(",")[0]], factors=[None, int(rest.rpartition(" ")[2].rstrip("]"))])
        else:
            made = sch.reorder(*[held[word] for word in rest.split(", ")])
        held.update(zip([word.strip() for word in left.split(",") if word.strip()], made or (), strict=False))
