"""Reuse distances: how many other lines were touched since a line was last touched (exact, for small shapes).

A fully associative LRU cache of n lines hits exactly the accesses with a distance below n, so one histogram shows the
misses of every size at once (Mattson et al., 1970).

    reuse = reuse_distance(matmul, line=64)
    reuse.misses(512)                  # of a cache with 512 lines
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .fact import Fact, table
from .trace import LIMIT, trace_of


@dataclass(frozen=True)
class Reuse(Fact):
    """Accesses by reuse distance.  `counts[b]` have a distance in edges[b] ... edges[b + 1] - 1."""

    line: int
    accesses: int
    cold: int
    """First touches: they have no distance."""
    edges: tuple[int, ...]
    """0, 1, 2, 4, 8, ..."""
    counts: tuple[int, ...]
    by_buffer: Mapping[str, tuple[int, ...]]
    exact: tuple[tuple[int, int], ...]
    """(distance, accesses) of every distance that occurs."""

    def misses(self, lines: int) -> int:
        """Misses of a fully associative LRU cache of so many lines."""
        return self.cold + sum(count for distance, count in self.exact if distance >= lines)

    def __str__(self) -> str:
        rows = [
            (f"{low:,}" if low + 1 >= high else f"{low:,} to {high - 1:,}", count, "#" * _bar(count, self.accesses))
            for low, high, count in zip(self.edges, self.edges[1:], self.counts, strict=False)
        ]
        rows.append(("first touch", self.cold, "#" * _bar(self.cold, self.accesses)))
        return table((f"other lines between ({self.line} B)", "accesses", ""), rows)


def _bar(count: int, total: int) -> int:
    return round(40 * count / total) if total else 0


def reuse_distance(
    program: Any,
    *,
    line: int = 64,
    sizes: Mapping[str, int] | None = None,
    inputs: Mapping[str, Any] | None = None,
    limit: int = LIMIT,
) -> Reuse:
    """The reuse distances of all accesses of a schedule or function, in lines of `line` bytes.

    Raises `WorkbenchError` like `simulate_cache`.
    """
    trace = trace_of(program, line=line, sizes=sizes, inputs=inputs, limit=limit)
    distance = distances(trace.address // line)
    warm = distance >= 0
    greatest = int(distance.max(initial=0))
    edges = [0, 1]
    while edges[-1] <= greatest:
        edges.append(edges[-1] * 2)
    names = np.array([site.buffer for site in trace.sites])[trace.site] if len(trace) else np.zeros(0, str)
    values, counts = np.unique(distance[warm], return_counts=True)
    return Reuse(
        line,
        len(trace),
        int((~warm).sum()),
        tuple(edges),
        tuple(np.histogram(distance[warm], edges)[0].tolist()),
        {
            str(name): tuple(np.histogram(distance[warm & (names == name)], edges)[0].tolist())
            for name in dict.fromkeys(names.tolist())
        },
        tuple(zip(values.tolist(), counts.tolist(), strict=True)),
    )


def distances(lines: np.ndarray) -> np.ndarray:
    """For each access, the distinct other lines since its line was last touched; -1 for a first touch.

    With p the previous access of the same line, the distance of access i is (i - p - 1) less the accesses j < i
    whose own previous access is after p: those touch again what was touched since p.  They are counted by merging
    blocks of doubling size, all at once (a vectorised inversion count).
    """
    count = len(lines)
    previous = np.full(count, -1, np.int64)
    order = np.argsort(lines, kind="stable")
    same = lines[order][1:] == lines[order][:-1]
    previous[order[1:][same]] = order[:-1][same]
    found = np.arange(count) - previous - 1 - _greater_before(previous)
    return np.where(previous >= 0, found, -1)


def _greater_before(values: np.ndarray) -> np.ndarray:
    """For each position, how many earlier positions hold a greater value."""
    count = len(values)
    width = 1
    size = 1
    while size < count:
        size *= 2
    padded = np.concatenate([values, np.full(size - count, -2, np.int64)])
    order = np.arange(size)
    found = np.zeros(size, np.int64)
    while width < size:
        # Each block of 2 * width positions is sorted by value; earlier halves come first among equals.
        blocks = order.reshape(-1, 2 * width)
        rank = np.argsort(padded[blocks], axis=1, kind="stable")
        merged = np.take_along_axis(blocks, rank, axis=1)
        early = rank < width
        before = np.cumsum(early, axis=1)
        late = ~early
        found[merged[late]] += (width - before)[late]
        order = merged.reshape(-1)
        width *= 2
    return found[:count]
