"""Memory beside the tile lens, as plain data: a cache of any organisation, reuse distances, lifetimes, iterations."""

from __future__ import annotations

from math import prod
from typing import Any, Final

from ..analysis.cache import simulate_cache
from ..analysis.iterations import iteration_points
from ..analysis.reuse import reuse_distance
from ..arith.nodes import literal
from ..core.errors import WorkbenchError
from ..schedule.schedule import Schedule
from ..target.memory import CacheLevel
from ..tir import nodes as t
from .strings.tables import say

ACCESSES_LIMIT: Final = 1_200_000
"""Accesses that are followed one by one while a person waits."""
_ARROWS: Final = 400


def simulated(schedule: Schedule, size: int, line: int, ways: int) -> dict[str, Any]:
    """The misses of one cache, by buffer.  Raises `WorkbenchError` for a cache that cannot be."""
    level = CacheLevel("cache", size, ways, line)
    report = simulate_cache(schedule, caches=[level], limit=ACCESSES_LIMIT)
    count = report.levels[0]
    rows = [[name, counts[0], counts[1]] for name, counts in report.by_buffer().items()]
    rows.append([say.lens.all_buffers, count.accesses, count.misses])
    return {"rows": rows, "cold": count.cold, "sets": level.sets}


def reused(schedule: Schedule, line: int) -> dict[str, Any]:
    """How many other lines were touched since a line was last touched, as a histogram."""
    found = reuse_distance(schedule, line=line, limit=ACCESSES_LIMIT)
    rows: list[list[Any]] = []
    for low, high, count in zip(found.edges, found.edges[1:], found.counts, strict=False):
        rows.append([f"{low:,}" if low + 1 >= high else say.lens.distances(low, high - 1), count])
    return {"rows": [*rows, [say.lens.first_touch, found.cold]], "accesses": found.accesses, "line": line}


def lifetimes(schedule: Schedule) -> dict[str, Any]:
    """From which block to which each buffer is in use, in the order of the text; parameters live throughout."""
    stages = [site.name for site in schedule.state.tree.leaves]
    used: dict[int, tuple[t.Buffer, list[int]]] = {}
    for number, site in enumerate(schedule.state.tree.leaves):
        for region in (*site.block.reads, *site.block.writes):
            used.setdefault(id(region.buffer), (region.buffer, []))[1].append(number)
    parameters = {id(one) for one in schedule.func.params}
    rows = [
        {
            "name": buffer.name,
            "bytes": _bytes(buffer),
            "parameter": identity in parameters,
            "first": 0 if identity in parameters else min(places),
            "last": len(stages) - 1 if identity in parameters else max(places),
        }
        for identity, (buffer, places) in used.items()
    ]
    alive = [
        sum(row["bytes"] for row in rows if not row["parameter"] and row["first"] <= at <= row["last"])
        for at in range(len(stages))
    ]
    return {"stages": stages, "rows": rows, "alive": alive}


def _bytes(buffer: t.Buffer) -> int:
    """Bytes of a buffer of constant shape; 0 for others."""
    extents = [literal(extent, 0) for extent in buffer.shape]
    return prod(extents) * ((buffer.dtype.bits * buffer.dtype.lanes + 7) // 8)


def iterated(schedule: Schedule, block: str, axes: tuple[str, str] | None) -> dict[str, Any]:
    """The iterations of a block over two axes: points with the order of visit, tiles, dependences as arrows."""
    sites = {site.name: site for site in schedule.state.tree.leaves}
    if block not in sites:
        raise WorkbenchError("E-ANALYSIS-BLOCK", "there is no such block", found=block[:60], expected=", ".join(sites))
    found = iteration_points(schedule, block, axes)
    site = sites[block]
    names = [loop.var.name for loop in site.loops] + [one.var.name for one, _ in site.bindings]
    return {
        "block": block, "axes": list(found.axes), "names": names, "clipped": found.clipped, "fixed": dict(found.fixed),
        "points": [[one.x, one.y, one.order, one.tile] for one in found.points],
        "arrows": [[*one.earlier, *one.later, one.kind] for one in found.arrows[:_ARROWS]],
    }  # fmt: skip
