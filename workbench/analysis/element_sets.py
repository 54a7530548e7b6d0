"""The distinct elements that an access touches while loops run, as products of small enumerated sets.

Axes of an access that share a loop or a condition form a group; a group is enumerated, groups multiply.

Invariant: a set that says it is exact holds exactly the elements touched; another holds at least these.

    found = touched(access, Around(loops, {}, (), load))
    found.count, found.exact
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..arith.build import conjuncts
from ..arith.nodes import literal
from ..core.errors import WorkbenchError
from ..tir import nodes as t
from ..tir.array_values import Loader, values
from .instances import enumerate_loops, variables_in
from .programs import constant
from .sites import Guard, GuardedAccess

_MATERIALISED = 2_000_000
"""Elements of a union that are listed one by one."""


class Around(NamedTuple):
    """What an access stands in."""

    free: tuple[t.For, ...]
    """Loops that run through."""
    fixed: dict[int, Any]
    """Values of the loops that stand still."""
    conditions: tuple[Guard, ...]
    load: Loader


class Touched(NamedTuple):
    """A product set of elements: for each group of axes, the offsets that its axes contribute, sorted."""

    access: GuardedAccess
    groups: dict[frozenset[int], np.ndarray]
    exact: bool

    @property
    def count(self) -> int:
        return prod(len(offsets) for offsets in self.groups.values())


def split_guards(guards: Sequence[Guard]) -> tuple[Guard, ...]:
    """Conditions joined by `and`, one by one."""
    return tuple((part, wanted) for c, wanted in guards for part in (conjuncts(c) if wanted else [c]))


def row_major(buffer: t.Buffer) -> list[int]:
    """The strides of a compact buffer in elements."""
    extents = [constant(extent, f"the shape of {buffer.name}") for extent in buffer.shape]
    return [prod(extents[axis + 1 :]) for axis in range(len(extents))]


def touched(access: GuardedAccess, around: Around) -> Touched:
    """What one load or store touches."""
    own = {id(loop.var) for loop in around.free}
    tied = [variables_in(condition) & own for condition, _ in around.conditions]
    tied += [({id(loop.var)} | variables_in(loop.min) | variables_in(loop.extent)) & own for loop in around.free]
    axes = [variables_in(index) & own for index in access.indices]
    groups: dict[frozenset[int], np.ndarray] = {}
    exact = True
    for names in _components([*axes, *tied]):
        members = [axis for axis, used in enumerate(axes) if used & names]
        if members:
            offsets, is_exact = _offsets(access, members, names, around)
            groups[frozenset(members)] = offsets
        else:
            happens, is_exact = _happens(names, around)
            if not happens:
                return _nothing(access)
        exact = exact and is_exact
    for axis, used in enumerate(axes):
        if not used:
            groups[frozenset((axis,))], is_exact = _offsets(access, [axis], set(), around)
            exact = exact and is_exact
    for condition, wanted in around.conditions:
        if not variables_in(condition) & own:
            holds = _holds(condition, wanted, around)
            if holds is False:
                return _nothing(access)
            exact = exact and holds is not None
    return Touched(access, groups, exact)


def _nothing(access: GuardedAccess) -> Touched:
    return Touched(access, {frozenset(range(len(access.indices))): np.zeros(0, np.int64)}, True)


def _holds(condition: Any, wanted: bool, around: Around) -> bool | None:
    """Whether a condition on fixed loops holds; None if that is not known."""
    try:
        return bool(values(condition, around.fixed, around.load)) == wanted
    except WorkbenchError:
        return None


def _happens(names: set[int], around: Around) -> tuple[bool, bool]:
    """(whether loops that no index mentions have an iteration that fulfils the conditions on them, exact)."""
    if not any(variables_in(condition) & names for condition, _ in around.conditions):
        loops = [loop for loop in around.free if id(loop.var) in names]
        return all(literal(loop.extent, 1) > 0 for loop in loops), True
    found, exact, count = _enumerated(names, around)
    return found is None or count > 0, exact


def _components(sets: Sequence[set[int]]) -> list[set[int]]:
    """Sets that overlap, joined."""
    found: list[set[int]] = []
    for names in sets:
        if names:
            joined = set(names)
            apart: list[set[int]] = []
            for other in found:
                if other & joined:
                    joined |= other
                else:
                    apart.append(other)
            found = [*apart, joined]
    return found


def _enumerated(names: set[int], around: Around) -> tuple[dict[int, Any] | None, bool, int]:
    """(loops' values in all iterations that fulfil the conditions, exact, how many); None if there are too many."""
    loops = tuple(loop for loop in around.free if id(loop.var) in names)
    grid = enumerate_loops(loops, known=around.fixed)
    if grid is None:
        return None, False, 0
    count, known = grid
    holds = np.ones(count, bool)
    exact = True
    for condition, wanted in around.conditions:
        if variables_in(condition) & names:
            try:
                holds &= np.asarray(values(condition, known, around.load)) == wanted
            except WorkbenchError:
                exact = False
    kept = {key: value[holds] if np.ndim(value) else value for key, value in known.items()}
    return kept, exact, int(holds.sum())


def _offsets(access: GuardedAccess, members: list[int], names: set[int], around: Around) -> tuple[np.ndarray, bool]:
    """The distinct contributions of some axes, and whether they are exact."""
    strides = row_major(access.buffer)
    known, exact, _ = _enumerated(names, around) if names else (around.fixed, True, 1)
    if known is None:
        return _bounding(access, members, strides), False
    try:
        total = sum(values(access.indices[axis], known, around.load) * strides[axis] for axis in members)
    except WorkbenchError:
        return _bounding(access, members, strides), False
    return np.unique(np.asarray(total, np.int64)), exact


def _bounding(access: GuardedAccess, members: list[int], strides: list[int]) -> np.ndarray:
    """All of the buffer along some axes."""
    total = np.zeros(1, np.int64)
    for axis in members:
        extent = min(constant(access.buffer.shape[axis]), _MATERIALISED)
        total = (total[:, None] + np.arange(extent) * strides[axis]).reshape(-1)[:_MATERIALISED]
    return total


# --- unions -------------------------------------------------------------------------------------------------------


def union_count(group: Sequence[Touched]) -> tuple[int, bool]:
    """(distinct elements of several accesses of one buffer, exact)."""
    kept: list[Touched] = []
    for item in group:
        merged = item
        again = True
        while again:
            again = False
            for other in kept:
                joined = _merged(merged, other)
                if joined is not None:
                    kept = [item for item in kept if item is not other]
                    merged, again = joined, True
                    break
        kept.append(merged)
    exact = all(item.exact for item in group)
    if len(kept) == 1:
        return kept[0].count, exact
    total = sum(item.count for item in kept)
    if total > _MATERIALISED:
        return min(total, prod(constant(extent) for extent in group[0].access.buffer.shape)), False
    return len(np.unique(np.concatenate([_listed(item) for item in kept]))), exact


def _merged(one: Touched, other: Touched) -> Touched | None:
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
    return Touched(one.access, groups, one.exact and other.exact)


def _listed(item: Touched) -> np.ndarray:
    flat = np.zeros(1, np.int64)
    for offsets in item.groups.values():
        flat = (flat[:, None] + offsets).reshape(-1)
    return flat
