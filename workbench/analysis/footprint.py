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
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import WorkbenchError
from ..target.memory import CacheLevel
from ..tir import nodes as t
from .arrays import values
from .cache import as_target
from .conditions import conjuncts
from .fact import Fact, bytes_text, table
from .instances import Instances, enumerate_loops, instances, variables_in
from .programs import constant, plain
from .sites import Guard, GuardedAccess, ordered

_MATERIALISED = 2_000_000
"""Elements of a union that are listed one by one."""


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
    chosen = tuple(caches) if caches is not None else as_target(target).cache_levels
    found = instances(func)
    levels = [_level(None, 0, (), found, chosen)]
    for loop, outer in loops_of(func):
        under = [item for item in found if any(other is loop for other in item.loops)]
        levels.append(_level(loop, len(outer) + 1, outer, under, chosen))
    return Footprints(chosen, tuple(levels))


def loops_of(func: t.PrimFunc) -> list[tuple[t.For, tuple[t.For, ...]]]:
    """Each loop with the loops around it, in the order of the text."""
    found: list[tuple[t.For, tuple[t.For, ...]]] = []
    stack: list[tuple[t.Stmt, tuple[t.For, ...]]] = [(func.body, ())]
    while stack:
        stmt, outer = stack.pop()
        inner = outer
        if isinstance(stmt, t.For):
            found.append((stmt, outer))
            inner = (*outer, stmt)
        if isinstance(stmt, t.SeqStmt):
            stack.extend((part, inner) for part in reversed(stmt.stmts))
        elif isinstance(stmt, t.IfThenElse):
            stack.extend((part, inner) for part in (stmt.else_case, stmt.then_case) if part is not None)
        elif isinstance(stmt, (t.For, t.LetStmt, t.AllocBuffer, t.While)):
            stack.append((stmt.body, inner))
    return found


def middle(loops: Sequence[t.For]) -> dict[int, Any]:
    """The middle iteration of each loop, given those around it."""
    known: dict[int, Any] = {}
    for loop in loops:
        low, extent = int(values(loop.min, known)), int(values(loop.extent, known))
        known[id(loop.var)] = low + max(0, extent - 1) // 2
    return known


def _level(
    loop: t.For | None, depth: int, outer: tuple[t.For, ...], found: Sequence[Instances], caches: Sequence[CacheLevel]
) -> LevelFootprint:
    fixed = middle(outer)
    touched: dict[int, list[_Touched]] = {}
    for item in found:
        free = tuple(other for other in item.loops if id(other.var) not in fixed)
        for access in ordered(item.stmt):
            touched.setdefault(id(access.buffer), []).append(
                _touched(access, free, fixed, (*item.guards, *access.guards))
            )
    buffers = tuple(_united(group) for group in touched.values())
    size = sum(buffer.bytes for buffer in buffers)
    fits = next((cache.name for cache in caches if size <= cache.size), "memory")
    name, kind = (loop.var.name, str(loop.kind)) if loop is not None else ("", "")
    extent = getattr(loop.extent, "value", -1) if loop is not None else 1
    return LevelFootprint(name, depth, extent, kind, buffers, fits)


# --- sets of elements ---------------------------------------------------------------------------------------------


class _Touched(NamedTuple):
    """A product set of elements: for each group of axes, the offsets that its axes contribute, sorted."""

    access: GuardedAccess
    groups: dict[frozenset[int], np.ndarray]
    exact: bool

    @property
    def count(self) -> int:
        return prod(len(offsets) for offsets in self.groups.values())


def row_major(buffer: t.Buffer) -> list[int]:
    extents = [constant(extent, f"the shape of {buffer.name}") for extent in buffer.shape]
    return [prod(extents[axis + 1 :]) for axis in range(len(extents))]


def _touched(
    access: GuardedAccess, free: tuple[t.For, ...], fixed: dict[int, Any], guards: tuple[Guard, ...]
) -> _Touched:
    own = {id(loop.var) for loop in free}
    conditions = [(part, wanted) for c, wanted in guards for part in (conjuncts(c) if wanted else [c])]
    tied = [variables_in(condition) & own for condition, _ in conditions]
    tied += [({id(loop.var)} | variables_in(loop.min) | variables_in(loop.extent)) & own for loop in free]
    axes = [variables_in(index) & own for index in access.indices]
    strides = row_major(access.buffer)
    groups: dict[frozenset[int], np.ndarray] = {}
    exact = True
    for names in _components([*axes, *tied]):
        members = [axis for axis, used in enumerate(axes) if used & names]
        if not members:
            exact = exact and _possible(names, free, fixed, conditions)
            continue
        offsets, is_exact = _offsets(access, members, strides, names, free, fixed, conditions)
        exact = exact and is_exact
        groups[frozenset(members)] = offsets
    for axis, used in enumerate(axes):
        if not used:
            offsets, is_exact = _constant_axis(access, axis, strides[axis], fixed)
            groups[frozenset((axis,))] = offsets
            exact = exact and is_exact
    for condition, wanted in conditions:
        if not variables_in(condition) & own and not _holds(condition, wanted, fixed):
            return _Touched(access, {frozenset(range(len(axes))): np.zeros(0, np.int64)}, exact)
    return _Touched(access, groups, exact)


def _holds(condition: Any, wanted: bool, fixed: dict[int, Any]) -> bool:
    try:
        return bool(values(condition, fixed)) == wanted
    except WorkbenchError:
        return True


def _possible(names: set[int], free: tuple[t.For, ...], fixed: dict[int, Any], conditions: Sequence[Guard]) -> bool:
    """Whether some iteration of loops that no index mentions fulfils the conditions on them: then they add nothing."""
    return not any(variables_in(condition) & names for condition, _ in conditions) or bool(
        _enumerated(names, free, fixed, conditions)[1]
    )


def _components(sets: Sequence[set[int]]) -> list[set[int]]:
    """Sets that overlap, joined."""
    found: list[set[int]] = []
    for names in sets:
        if names:
            joined = set(names)
            apart = []
            for other in found:
                if other & joined:
                    joined |= other
                else:
                    apart.append(other)
            found = [*apart, joined]
    return found


def _enumerated(
    names: set[int], free: tuple[t.For, ...], fixed: dict[int, Any], conditions: Sequence[Guard]
) -> tuple[dict[int, Any] | None, bool]:
    """(the values of loops in all iterations that fulfil the conditions, exact); None if there are too many."""
    loops = tuple(loop for loop in free if id(loop.var) in names)
    grid = enumerate_loops(loops, known=fixed)
    if grid is None:
        return None, False
    count, known = grid
    holds = np.ones(count, bool)
    exact = True
    for condition, wanted in conditions:
        if variables_in(condition) & names:
            try:
                holds &= np.asarray(values(condition, known)) == wanted
            except WorkbenchError:
                exact = False
    return {key: value[holds] if np.ndim(value) else value for key, value in known.items()}, exact


def _offsets(
    access: GuardedAccess,
    members: list[int],
    strides: list[int],
    names: set[int],
    free: tuple[t.For, ...],
    fixed: dict[int, Any],
    conditions: Sequence[Guard],
) -> tuple[np.ndarray, bool]:
    """The distinct contributions of some axes."""
    known, exact = _enumerated(names, free, fixed, conditions)
    if known is None:
        return _bounding(access, members, strides), False
    try:
        total = sum(values(access.indices[axis], known) * strides[axis] for axis in members)
    except WorkbenchError:
        return _bounding(access, members, strides), False
    return np.unique(total), exact


def _bounding(access: GuardedAccess, members: list[int], strides: list[int]) -> np.ndarray:
    """All of the buffer along some axes."""
    total = np.zeros(1, np.int64)
    for axis in members:
        extent = min(constant(access.buffer.shape[axis]), _MATERIALISED)
        total = (total[:, None] + np.arange(extent) * strides[axis]).reshape(-1)[:_MATERIALISED]
    return total


def _constant_axis(access: GuardedAccess, axis: int, stride: int, fixed: dict[int, Any]) -> tuple[np.ndarray, bool]:
    try:
        return np.array([int(values(access.indices[axis], fixed)) * stride], np.int64), True
    except WorkbenchError:
        return _bounding(access, [axis], [0] * axis + [stride]), False


def _united(group: Sequence[_Touched]) -> BufferFootprint:
    """The distinct elements of all accesses of one buffer."""
    buffer = group[0].access.buffer
    kept: list[_Touched] = []
    for item in group:
        merged = item
        again = True
        while again:
            again = False
            for other in kept:
                joined = _merged(merged, other)
                if joined is not None:
                    kept = [one for one in kept if one is not other]
                    merged, again = joined, True
                    break
        kept.append(merged)
    count, exact = _count(kept, buffer)
    return BufferFootprint(
        buffer.name,
        count,
        count * buffer.dtype.bytes,
        exact and all(item.exact for item in group),
        any(not item.access.is_store for item in group),
        any(item.access.is_store for item in group),
    )


def _merged(one: _Touched, other: _Touched) -> _Touched | None:
    """The union as one product set, if both differ in at most one group."""
    if one.count == 0 or other.count == 0:
        return other if one.count == 0 else one
    if one.groups.keys() != other.groups.keys():
        return None
    different = [key for key in one.groups if not np.array_equal(one.groups[key], other.groups[key])]
    if len(different) > 1:
        return None
    groups = dict(one.groups)
    for key in different:
        groups[key] = np.union1d(one.groups[key], other.groups[key])
    return _Touched(one.access, groups, one.exact and other.exact)


def _count(sets: Sequence[_Touched], buffer: t.Buffer) -> tuple[int, bool]:
    if len(sets) == 1:
        return sets[0].count, True
    total = sum(item.count for item in sets)
    if total > _MATERIALISED:
        return min(total, prod(constant(extent) for extent in buffer.shape)), False
    return len(np.unique(np.concatenate([_listed(item) for item in sets]))), True


def _listed(item: _Touched) -> np.ndarray:
    flat = np.zeros(1, np.int64)
    for offsets in item.groups.values():
        flat = (flat[:, None] + offsets).reshape(-1)
    return flat
