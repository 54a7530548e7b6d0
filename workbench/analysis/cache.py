"""An exact simulation of data caches: set-associative, least recently used, several levels.

Model (write-allocate, write-back): an access that misses a level goes on to the next one and brings the line into
every level that missed; levels are independent of each other (neither inclusive nor exclusive); lines written back
are counted but do not disturb the next level; nothing is prefetched; caches start empty.

    report = simulate_cache(matmul, "llvm -mcpu=znver3")
    report.levels[0].misses, report.cycles
    print(simulate_cache(sch, caches=[CacheLevel("L1", 1024, 2, 64)]))
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.errors import WorkbenchError
from ..target.memory import CacheLevel
from .cycles import Counts, Cycles, estimate
from .fact import Fact, bytes_text, table
from .programs import target_of
from .trace import LIMIT, AccessTrace, trace_of


@dataclass(frozen=True)
class LevelCount(Fact):
    """What one level saw."""

    cache: CacheLevel
    accesses: int
    misses: int
    written_back: int
    """Lines written back, the dirty ones at the end included."""
    cold: int
    """Misses of lines never seen before (compulsory)."""

    @property
    def hit_rate(self) -> float:
        return 1.0 - self.misses / self.accesses if self.accesses else 1.0

    @property
    def bytes_moved(self) -> int:
        """Bytes between this level and the next, both ways."""
        return (self.misses + self.written_back) * self.cache.line


@dataclass(frozen=True)
class SiteCount(Fact):
    """One load or store of the program: its accesses, and the misses at each level."""

    name: str
    buffer: str
    is_store: bool
    loops: tuple[str, ...]
    accesses: int
    misses: tuple[int, ...]


@dataclass(frozen=True)
class CacheReport(Fact):
    """See the module's header."""

    levels: tuple[LevelCount, ...]
    sites: tuple[SiteCount, ...]
    cycles: Cycles
    set_misses: tuple[int, ...]
    """Misses of each set of the first level."""

    @property
    def accesses(self) -> int:
        return sum(site.accesses for site in self.sites)

    @property
    def misses(self) -> int:
        """Misses of the first level."""
        return self.levels[0].misses

    def by_buffer(self) -> dict[str, tuple[int, ...]]:
        """Accesses, then misses by level, of each buffer."""
        return self._by(lambda site: (site.buffer,))

    def by_loop(self) -> dict[str, tuple[int, ...]]:
        """Accesses, then misses by level, of what stands under each loop (by name)."""
        return self._by(lambda site: site.loops)

    def _by(self, names: Callable[[SiteCount], tuple[str, ...]]) -> dict[str, tuple[int, ...]]:
        found: dict[str, list[int]] = {}
        for site in self.sites:
            for name in dict.fromkeys(names(site)):
                row = found.setdefault(name, [0] * (1 + len(self.levels)))
                for column, count in enumerate((site.accesses, *site.misses)):
                    row[column] += count
        return {name: tuple(row) for name, row in found.items()}

    def __str__(self) -> str:
        levels = table(
            ("cache", "size", "ways", "accesses", "misses", "cold", "written back"),
            [
                (c.cache.name, bytes_text(c.cache.size), c.cache.ways, c.accesses, c.misses, c.cold, c.written_back)
                for c in self.levels
            ],
        )
        names = [count.cache.name for count in self.levels]
        sites = table(
            ("access", "in loops", "accesses", *(f"{name} misses" for name in names)),
            [(site.name, " ".join(site.loops), site.accesses, *site.misses) for site in self.sites],
        )
        return f"{levels}\n\n{sites}\n\n{self.cycles}"


def simulate_cache(
    program: Any,
    target: Any = None,
    *,
    caches: Sequence[CacheLevel] | None = None,
    sizes: Mapping[str, int] | None = None,
    inputs: Mapping[str, Any] | None = None,
    limit: int = LIMIT,
) -> CacheReport:
    """Run the accesses of `program` (a schedule or function) through `caches`, by default those of the target.

    Exact for one thread; `limit` bounds the number of accesses.  Raises `WorkbenchError` E-ANALYSIS-SIZE for a
    program that is too large, E-ANALYSIS-DATA for one whose accesses depend on data that is not in `inputs`,
    E-ANALYSIS-CACHE for a cache that cannot be.
    """
    chosen = target_of(program, target)
    levels = tuple(caches) if caches is not None else chosen.cache_levels
    _check(levels)
    trace = trace_of(program, line=levels[0].line, sizes=sizes, inputs=inputs, limit=limit)
    missed = misses(trace.address, levels)
    counts: list[LevelCount] = []
    seen = np.ones(len(trace), bool)
    is_store = trace.is_store
    for level, miss in zip(levels, missed, strict=True):
        lines = trace.address[seen] // level.line
        counts.append(
            LevelCount(
                level, int(seen.sum()), int(miss.sum()), _written_back(lines, miss[seen], is_store[seen]),
                len(np.unique(lines)),
            )
        )  # fmt: skip
        seen = miss
    return CacheReport(
        tuple(counts), _site_counts(trace, missed),
        estimate(Counts.of(trace), [int(miss.sum()) for miss in missed], chosen),
        _by_set(trace.address[missed[0]] // levels[0].line, levels[0]),
    )  # fmt: skip


def _check(levels: Sequence[CacheLevel]) -> None:
    for level in levels:
        if level.line <= 0 or level.ways <= 0 or level.size < level.ways * level.line:
            raise WorkbenchError(
                "E-ANALYSIS-CACHE",
                f"{level.name} cannot be built",
                found=f"{level.size} bytes, {level.ways} ways, lines of {level.line} bytes",
                expected="room for one line in each way",
                fix='for example CacheLevel("L1", 1024, 2, 64)',
            )
    if not levels:
        raise WorkbenchError("E-ANALYSIS-CACHE", "there is no cache to simulate", fix="pass caches=[CacheLevel(...)]")


def misses(address: np.ndarray, levels: Sequence[CacheLevel]) -> list[np.ndarray]:
    """For each level, which of the accesses missed it (and all levels before it)."""
    found: list[np.ndarray] = []
    where = np.arange(len(address))
    for level in levels:
        missed = level_misses(address[where] // level.line, level.sets, level.ways)
        where = where[missed]
        mask = np.zeros(len(address), bool)
        mask[where] = True
        found.append(mask)
    return found


def level_misses(lines: np.ndarray, sets: int, ways: int) -> np.ndarray:
    """Which accesses to `lines` miss one cache that starts empty (exact LRU).

    Sets do not influence each other, so accesses are sorted by set; a line touched again with nothing between hits;
    a set that never sees more lines than it has ways misses each once; only the rest is walked.
    """
    missed = np.zeros(len(lines), bool)
    if not len(lines):
        return missed
    own_set = lines % sets
    order = np.argsort(own_set.astype(np.uint16) if sets <= 65536 else own_set, kind="stable")
    by_set = lines[order]
    changed = np.ones(len(order), bool)
    changed[1:] = by_set[1:] != by_set[:-1]
    order, by_set = order[changed], by_set[changed]
    _, first, names = np.unique(by_set, return_index=True, return_inverse=True)
    is_first = np.zeros(len(order), bool)
    is_first[first] = True
    in_set = own_set[order]
    distinct = np.bincount(in_set[first], minlength=sets)
    calm = distinct[in_set] <= ways
    missed[order[calm & is_first]] = True
    rest = np.flatnonzero(~calm)
    if len(rest):
        edges = np.flatnonzero(np.diff(in_set[rest])) + 1
        for part in np.split(rest, edges):
            missed[order[part[_walk(names[part].tolist(), ways)]]] = True
    return missed


def _walk(lines: list[int], ways: int) -> list[int]:
    """Positions of the misses of one set."""
    held: OrderedDict[int, None] = OrderedDict()
    missed: list[int] = []
    touch, drop, note = held.move_to_end, held.popitem, missed.append
    for position, line in enumerate(lines):
        if line in held:
            touch(line)
            continue
        note(position)
        if len(held) == ways:
            drop(last=False)
        held[line] = None
    return missed


def _written_back(lines: np.ndarray, miss: np.ndarray, is_store: np.ndarray) -> int:
    """Stays of lines in the cache, from a miss to the next of the same line, in which something was stored."""
    if not len(lines):
        return 0
    order = np.argsort(lines, kind="stable")
    begins = np.flatnonzero(miss[order])
    return int(np.logical_or.reduceat(is_store[order], begins).sum()) if len(begins) else 0


def _by_set(lines: np.ndarray, level: CacheLevel) -> tuple[int, ...]:
    return tuple(np.bincount(lines % level.sets, minlength=level.sets).tolist())


def _site_counts(trace: AccessTrace, missed: Sequence[np.ndarray]) -> tuple[SiteCount, ...]:
    """Counts by site; sites that are the same load or store in the same loops (a tile and its rest) are one."""
    count = len(trace.sites)
    columns = [np.bincount(trace.site, minlength=count)]
    columns += [np.bincount(trace.site[miss], minlength=count) for miss in missed]
    rows: dict[tuple[str, str, bool, tuple[str, ...]], list[int]] = {}
    for site in trace.sites:
        key = (site.name, site.buffer, site.is_store, site.loops)
        row = rows.setdefault(key, [0] * len(columns))
        for position, column in enumerate(columns):
            row[position] += int(column[site.number])
    return tuple(SiteCount(*key, row[0], tuple(row[1:])) for key, row in rows.items())
