"""Reductions that read along memory with the last iterator of their result: vectors of results, in registers.

for jo in parallel:
    total_local[0:64] = 0                       four vectors of sixteen lanes
    for k: total_local[:] += A[k, jo * 64 + (0:64)]
    total[jo * 64 + (0:64)] = total_local[:]
"""

from __future__ import annotations

from ...tir import nodes as t
from ..references import LoopRV
from ..schedule import Schedule
from .loops import UNROLLED_TAPS, attempted, parallel, taps_of
from .shapes import extent, iterations, of_kind, site_of, whole_lanes

VECTORS = 4
"""Vectors of results that are reduced side by side."""


def in_registers(schedule: Schedule, name: str, lanes: int, most: int) -> bool:
    """Reduce into vectors along the last spatial iterator that stay in registers, up to `most` of them side by side.

    False, and nothing done, where that is not possible.
    """
    site = site_of(schedule, name)
    items = site.block.iter_vars
    size = extent(items[of_kind(items, t.IterKind.SPATIAL)[-1]]) or 0
    vector = whole_lanes(size, lanes) or lanes
    together = next((count for count in range(most, 1, -1) if size % (count * vector) == 0), 1)
    if site.block.init is None or len(site.block.writes) != 1 or size < vector:
        return False
    return attempted(schedule, lambda: _reduced(schedule, name, together, vector)) is not None


def _reduced(schedule: Schedule, name: str, together: int, vector: int) -> LoopRV:
    """The loop inside which so many vectors of results are reduced."""
    site = site_of(schedule, name)
    items = site.block.iter_vars
    spatial, reduced = of_kind(items, t.IterKind.SPATIAL), of_kind(items, t.IterKind.REDUCE)
    block = schedule.get_block(name)
    *around, last = schedule.get_loops(schedule.cache_write(block, 0, "local"))
    part, *inner = schedule.split(last, factors=[None, together, vector])
    schedule.unroll(inner[0])
    schedule.vectorize(inner[1])
    at = parallel(schedule, [*around, part], iterations(site)) or part
    schedule.compute_at(block, at, preserve_unit_loops=True)
    own = schedule.get_loops(block)[-len(items) :]
    sums = schedule.split(own[spatial[-1]], factors=[together, vector])
    taps = [own[number] for number in reduced]
    schedule.reorder(*taps, *[own[number] for number in spatial[:-1]], *sums)
    schedule.unroll(sums[0])
    schedule.vectorize(sums[1])
    if 0 < taps_of(items) <= UNROLLED_TAPS:
        for tap in taps:
            schedule.unroll(tap)
    schedule.decompose_reduction(block, taps[0])
    return at
