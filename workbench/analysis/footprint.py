"""Footprints: which part of each buffer is touched while a loop runs once, and which cache that fits.

For each loop, the loops around it stand still at their middle iteration and the loop runs through once.  Distinct
elements are counted exactly: the axes of an access fall into groups that share no loop and no condition; each group
is enumerated, the groups multiply, and several accesses of one buffer are united.  Where a group has more than a
million points and no simple form, or depends on data, the bounding box counts, and `exact` is false.

    for level in footprints(sch, "llvm -mcpu=znver3").levels:
        level.loop, level.bytes, level.fits
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..arith.nodes import literal
from ..core.errors import WorkbenchError
from ..target.memory import CacheLevel
from ..tir import nodes as t
from ..tir.array_values import Loader, values
from .element_sets import Around, Touched, split_guards, touched, union_count
from .fact import Fact, bytes_text, table
from .index_tables import loader
from .instances import Instances, instances
from .programs import plain, target_of
from .sites import ordered
from .tree import loops_around


@dataclass(frozen=True)
class BufferFootprint(Fact):
    """What is touched of one buffer."""

    buffer: str
    elements: int
    bytes: int
    exact: bool
    reads: bool
    writes: bool


@dataclass(frozen=True)
class LevelFootprint(Fact):
    """What is touched while a loop runs through once; `loop` is empty for the whole function."""

    loop: str
    depth: int
    extent: int
    kind: str
    buffers: tuple[BufferFootprint, ...]
    fits: str
    """The first cache with room for all of it, or "memory"."""

    @property
    def bytes(self) -> int:
        return sum(buffer.bytes for buffer in self.buffers)

    @property
    def exact(self) -> bool:
        return all(buffer.exact for buffer in self.buffers)

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "bytes": self.bytes, "exact": self.exact}


@dataclass(frozen=True)
class Footprints(Fact):
    """See the module's header.  `levels` are in the order of the text, the whole function first."""

    caches: tuple[CacheLevel, ...]
    levels: tuple[LevelFootprint, ...]

    def __getitem__(self, loop: str) -> LevelFootprint:
        """The level of a loop by its name (of several, the one that touches most); of the whole function by ""."""
        found = [level for level in self.levels if level.loop == loop]
        if not found:
            raise WorkbenchError(
                "E-ANALYSIS-LOOP",
                f"there is no loop {loop!r}",
                expected=", ".join(level.loop for level in self.levels if level.loop),
            )
        return max(found, key=lambda level: level.bytes)

    def __str__(self) -> str:
        rows = [
            (
                "  " * level.depth + (level.loop or "all"),
                level.extent,
                level.kind,
                " + ".join(f"{b.buffer} {bytes_text(b.bytes)}" for b in level.buffers),
                ("" if level.exact else "at most ") + bytes_text(level.bytes),
                level.fits,
            )
            for level in self.levels
        ]
        caches = ", ".join(f"{cache.name} {bytes_text(cache.size)}" for cache in self.caches)
        return table(("loop", "extent", "kind", "touches", "in all", "fits"), rows) + f"\n({caches})"


def footprints(
    program: Any,
    target: Any = None,
    *,
    caches: Sequence[CacheLevel] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> Footprints:
    """What each loop of a schedule or function touches, against the caches of `target` (or `caches`).

    Raises `WorkbenchError` E-ANALYSIS-SIZE for extents without a value.
    """
    func = plain(program, sizes)
    chosen = tuple(caches) if caches is not None else target_of(program, target).cache_levels
    load = loader(func)
    found = instances(func, load)
    levels = [_level(None, 0, (), found, chosen, load)]
    for loop, outer in loops_of(func):
        under = [item for item in found if any(other is loop for other in item.loops)]
        levels.append(_level(loop, len(outer) + 1, outer, under, chosen, load))
    return Footprints(chosen, tuple(levels))


def loops_of(func: t.PrimFunc) -> list[tuple[t.For, tuple[t.For, ...]]]:
    """Each loop with the loops around it, in the order of the text."""
    return [(stmt, outer) for stmt, outer in loops_around(func.body) if isinstance(stmt, t.For)]


def middle(loops: Sequence[t.For]) -> dict[int, Any]:
    """The middle iteration of each loop, given those around it."""
    known: dict[int, Any] = {}
    for loop in loops:
        low, extent = int(values(loop.min, known)), int(values(loop.extent, known))
        known[id(loop.var)] = low + max(0, extent - 1) // 2
    return known


def _level(
    loop: t.For | None,
    depth: int,
    outer: tuple[t.For, ...],
    found: Sequence[Instances],
    caches: Sequence[CacheLevel],
    load: Loader,
) -> LevelFootprint:
    fixed = middle(outer)
    groups: dict[int, list[Touched]] = {}
    for item in found:
        free = tuple(other for other in item.loops if id(other.var) not in fixed)
        for access in ordered(item.stmt):
            around = Around(free, fixed, split_guards((*item.guards, *access.guards)), load)
            groups.setdefault(id(access.buffer), []).append(touched(access, around))
    buffers = tuple(_footprint(group) for group in groups.values())
    size = sum(buffer.bytes for buffer in buffers)
    fits = next((cache.name for cache in caches if size <= cache.size), "memory")
    name, kind = (loop.var.name, str(loop.kind)) if loop is not None else ("", "")
    extent = literal(loop.extent, -1) if loop is not None else 1
    return LevelFootprint(name, depth, extent, kind, buffers, fits)


def _footprint(group: Sequence[Touched]) -> BufferFootprint:
    """The distinct elements of all accesses of one buffer."""
    buffer = group[0].access.buffer
    count, exact = union_count(group)
    return BufferFootprint(
        buffer.name,
        count,
        count * buffer.dtype.bytes,
        exact,
        any(not item.access.is_store for item in group),
        any(item.access.is_store for item in group),
    )
