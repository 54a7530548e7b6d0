"""What a program touches, access by access, in the order in which it runs: for caches, reuse and pictures.

The program is walked once and every statement is evaluated for all its iterations at a time with NumPy, so that a
million accesses take about half a second.  Distinct buffers lie one behind the other, each aligned.

Invariant: the trace lists exactly the loads and stores of the lowered program, in its order, run by one thread; a
vector access counts once for each cache line it touches (once for each element, with ``line=1``).

    trace = trace_of(matmul, line=64)
    trace.address[:4], trace.site[:4]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from ..arith.nodes import PrimExpr, Var, literal
from ..core.errors import WorkbenchError
from ..core.node import pre_order
from ..tir import nodes as t
from ..tir.array_values import Values, values
from .index_tables import loader
from .programs import constant, flat, scalar
from .sites import GuardedAccess, ordered
from .tree import loops_around

LIMIT = 4_000_000
"""Accesses that are simulated at most, unless the caller says otherwise."""
ALIGNMENT = 64
"""Bytes at which each buffer begins."""


@dataclass(frozen=True)
class Site:
    """One load or store of the lowered program."""

    number: int
    buffer: str
    is_store: bool
    loops: tuple[str, ...]
    """The loops around it, outermost first."""
    access: GuardedAccess = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        """``store C`` or ``load A``, as reports show it."""
        return f"{'store' if self.is_store else 'load'} {self.buffer}"


@dataclass
class AccessTrace:
    """The accesses of one run; `address` in bytes, `site` indexes `sites`."""

    func: t.PrimFunc
    address: np.ndarray
    site: np.ndarray
    sites: tuple[Site, ...]
    statements: tuple[t.Stmt, ...]
    """The statement of each site."""
    places: dict[str, tuple[int, int]]
    """Begin and size in bytes of each buffer."""
    executed: dict[int, int]
    """How often each store ran (by identity of the statement)."""
    entered: dict[int, int]
    """How often each loop was entered (by identity of the loop)."""
    iterations: dict[int, int]
    """How often each loop's body ran (by identity of the loop)."""

    def __len__(self) -> int:
        return len(self.address)

    @property
    def is_store(self) -> np.ndarray:
        return np.array([site.is_store for site in self.sites], bool)[self.site]


def trace_of(
    program: Any,
    *,
    line: int = 64,
    vectors: bool = True,
    sizes: Mapping[str, int] | None = None,
    inputs: Mapping[str, Any] | None = None,
    limit: int = LIMIT,
) -> AccessTrace:
    """The accesses of `program` (a schedule or function) in order.

    `line` is the granularity of vector accesses in bytes; ``vectors=False`` runs vectorised loops element by element;
    `sizes` gives symbolic extents; `inputs` arrays of buffers whose values decide what is touched.  Raises
    `WorkbenchError` E-ANALYSIS-SIZE beyond `limit` accesses, E-ANALYSIS-DATA where values are not known.
    """
    func = flat(program, sizes) if vectors else scalar(program, sizes)
    refuse_large(func, limit)
    runner = _Runner(func, line, dict(inputs or {}), limit)
    events = runner.run(func.body, 1, {}, None, ())
    if len(events.address) > limit:
        raise _too_many(len(events.address), limit)
    return AccessTrace(
        func, events.address, events.site, tuple(runner.sites.values()), tuple(runner.statements),
        runner.places, runner.executed, runner.entered, runner.iterations,
    )  # fmt: skip


def estimated_accesses(func: t.PrimFunc) -> int:
    """Accesses of a lowered function if every condition held: an upper bound, at once."""
    return sum(
        len(ordered(stmt)) * prod(max(0, literal(loop.extent, 1)) for loop in loops)
        for stmt, loops in loops_around(func.body)
    )


def refuse_large(func: t.PrimFunc, limit: int) -> None:
    """Raises `WorkbenchError` E-ANALYSIS-SIZE if `func` surely makes more than `limit` accesses: before any is made."""
    # Both arms of a condition are counted, hence the factor; `trace_of` counts what was made.
    count = estimated_accesses(func)
    if count > 2 * limit:
        raise _too_many(count, limit)


def _too_many(count: int, limit: int) -> WorkbenchError:
    return WorkbenchError(
        "E-ANALYSIS-SIZE",
        f"about {count:,} accesses are too many to simulate one by one",
        expected=f"at most {limit:,}",
        fix="shrink the shape and replay the schedule on it: sch.trace.apply_to(Schedule(smaller)); "
        "a quarter of each extent shows the same pattern; or raise limit=",
    )


def _buffers(func: t.PrimFunc) -> list[t.Buffer]:
    """Parameters first, then what is allocated, in the order of the text."""
    parameters = [parameter for parameter in func.params if isinstance(parameter, t.Buffer)]
    return parameters + [stmt.buffer for stmt, _ in loops_around(func.body) if isinstance(stmt, t.AllocBuffer)]


def places_of(func: t.PrimFunc) -> dict[str, tuple[int, int]]:
    """Where buffers lie: parameters first, then allocations, one behind the other, aligned."""
    begin = 0
    found: dict[str, tuple[int, int]] = {}
    for buffer in _buffers(func):
        size = prod(constant(extent, f"the shape of {buffer.name}") for extent in buffer.shape) * buffer.dtype.bytes
        name = buffer.name
        while name in found:
            name += "'"
        found[name] = (begin, size)
        begin += -(-size // ALIGNMENT) * ALIGNMENT
    return found


@dataclass
class _Events:
    """The accesses of several instances of a statement: how many each makes, and all of them in order."""

    counts: Any
    """A number for all, or an array of one an instance."""
    address: np.ndarray
    site: np.ndarray


_EMPTY = _Events(0, np.zeros(0, np.int64), np.zeros(0, np.int32))


class _Runner:
    def __init__(self, func: t.PrimFunc, line: int, inputs: dict[str, Any], limit: int) -> None:
        self.line, self.limit = line, limit
        self.load = loader(func, inputs)
        self.sites: dict[tuple[int, int], Site] = {}
        self.statements: list[t.Stmt] = []
        self.executed: dict[int, int] = {}
        self.entered: dict[int, int] = {}
        self.iterations: dict[int, int] = {}
        self.places = places_of(func)
        self._begin = _begins(func, self.places)
        self._used: dict[int, set[int]] = {}

    def run(self, stmt: t.Stmt, count: int, known: dict[int, Values], mask: Any, loops: tuple[str, ...]) -> _Events:
        """The accesses of `count` instances of a statement, for the values of variables in each."""
        if not count:
            return _EMPTY
        if isinstance(stmt, t.For):
            return self._loop(stmt, count, known, mask, loops)
        if isinstance(stmt, t.SeqStmt):
            return _joined(count, [self.run(inner, count, known, mask, loops) for inner in stmt.stmts])
        if isinstance(stmt, t.IfThenElse):
            return self._branch(stmt, count, known, mask, loops)
        if isinstance(stmt, t.AllocBuffer):
            return self.run(stmt.body, count, known, mask, loops)
        own = self._own(stmt, count, known, mask, loops)
        if isinstance(stmt, t.LetStmt):
            inner = {**known, **self._bound(stmt, known)}
            return _joined(count, [own, self.run(stmt.body, count, inner, mask, loops)])
        if isinstance(stmt, t.While):
            raise WorkbenchError(
                "E-ANALYSIS-DATA", "how often a while loop runs depends on values", nodes=(stmt,),
                fix="this fact cannot be had for such a program",
            )  # fmt: skip
        return own

    def _bound(self, stmt: t.LetStmt, known: dict[int, Values]) -> dict[int, Values]:
        """The value of a let if it is one of indices; what is computed of data has none, and is missed when used."""
        try:
            return {id(stmt.var): self._values(stmt.value, known)}
        except WorkbenchError:
            return {}

    def _values(self, expr: PrimExpr, known: dict[int, Values]) -> Values:
        return values(expr, known, self.load)

    def _loop(self, stmt: t.For, count: int, known: dict[int, Values], mask: Any, loops: tuple[str, ...]) -> _Events:
        low, extent = self._values(stmt.min, known), self._values(stmt.extent, known)
        extents = np.maximum(np.broadcast_to(np.asarray(extent, np.int64), (count,)), 0)
        total = int(extents.sum())
        if total > 2 * self.limit:
            raise _too_many(total, self.limit)
        self.entered[id(stmt)] = self.entered.get(id(stmt), 0) + count
        self.iterations[id(stmt)] = self.iterations.get(id(stmt), 0) + total
        fixed = int(extents[0]) if np.ndim(extent) == 0 else None
        inner = self._repeated(stmt, known, extents, fixed)
        steps = np.tile(np.arange(fixed), count) if fixed is not None else _ramps(extents)
        inner[id(stmt.var)] = steps + (np.repeat(low, extents) if np.ndim(low) else low)
        repeated = None if mask is None else np.repeat(mask, extents, axis=0)
        events = self.run(stmt.body, total, inner, repeated, (*loops, stmt.var.name))
        return _Events(_summed(events.counts, extents, fixed), events.address, events.site)

    def _repeated(self, stmt: t.For, known: dict[int, Values], extents: Any, fixed: int | None) -> dict[int, Values]:
        used = self._used.get(id(stmt))
        if used is None:
            used = self._used[id(stmt)] = {id(node) for node in pre_order(stmt.body) if isinstance(node, Var)}
        by = fixed if fixed is not None else extents
        return {key: np.repeat(value, by) if np.ndim(value) else value for key, value in known.items() if key in used}

    def _branch(
        self, stmt: t.IfThenElse, count: int, known: dict[int, Values], mask: Any, loops: tuple[str, ...]
    ) -> _Events:
        parts = [self._own(stmt, count, known, mask, loops)]
        holds = np.asarray(self._values(stmt.condition, known))
        arms = [(stmt.then_case, holds), (stmt.else_case, ~holds)]
        for arm, chosen in arms:
            if arm is not None:
                parts.append(self._arm(arm, chosen, count, known, mask, loops))
        return _joined(count, parts)

    def _arm(
        self, arm: t.Stmt, chosen: Any, count: int, known: dict[int, Values], mask: Any, loops: tuple[str, ...]
    ) -> _Events:
        """One arm, for the instances (and lanes) that take it."""
        if chosen.ndim == 0:
            return self.run(arm, count, known, mask, loops) if bool(chosen) else _EMPTY
        if chosen.ndim == 2:
            chosen = np.broadcast_to(chosen, (count, chosen.shape[1]))
            lanes = chosen if mask is None else chosen & mask
            taken = lanes.any(axis=1)
        else:
            lanes, taken = mask, np.broadcast_to(chosen, (count,))
        where = np.flatnonzero(taken)
        inner = {key: value[where] if np.ndim(value) else value for key, value in known.items()}
        events = self.run(arm, len(where), inner, None if lanes is None else lanes[where], loops)
        counts = np.zeros(count, np.int64)
        counts[where] = events.counts
        return _Events(counts, events.address, events.site)

    def _own(self, stmt: t.Stmt, count: int, known: dict[int, Values], mask: Any, loops: tuple[str, ...]) -> _Events:
        """The accesses that the statement makes itself."""
        if isinstance(stmt, t.BufferStore):
            self.executed[id(stmt)] = self.executed.get(id(stmt), 0) + count
        found = ordered(stmt)
        parts: list[_Events] = []
        for position, access in enumerate(found):
            key = (id(stmt), position)
            if key not in self.sites:
                name = self._begin[id(access.buffer)][1]
                self.sites[key] = Site(len(self.sites), name, access.is_store, loops, access)
                self.statements.append(stmt)
            parts.append(self._events(self.sites[key].number, access, count, known, mask))
        return _joined(count, parts)

    def _events(self, number: int, access: GuardedAccess, count: int, known: dict[int, Values], mask: Any) -> _Events:
        active: Any = None
        for condition, wanted in access.guards:
            holds = np.asarray(self._values(condition, known)) == wanted
            active = holds if active is None else _both(active, holds)
        buffer = access.buffer
        index = np.asarray(self._values(access.indices[-1], known), np.int64)
        if index.ndim < 2 and (active is None or active.ndim < 2) and access.indices[-1].dtype.lanes == 1:
            address = self._begin[id(buffer)][0] + index * buffer.dtype.bytes
            address = np.broadcast_to(address, (count,))
            return _picked(number, address, None if active is None else np.broadcast_to(active, (count,)))
        lanes = access.indices[-1].dtype.lanes
        index = np.broadcast_to(index, (count, lanes))
        address = self._begin[id(buffer)][0] + index * buffer.dtype.bytes
        lines = address // self.line
        keep = np.ones((count, lanes), bool)
        if mask is not None:
            keep &= mask
        if active is not None:
            keep &= active if active.ndim == 2 else np.broadcast_to(active, (count,))[:, None]
        lines = np.where(keep, lines, -1)
        keep[:, 1:] &= lines[:, 1:] != lines[:, :-1]
        return _picked(number, address, keep)


def _both(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Both conditions, of which one may be for lanes."""
    if one.ndim == 1 and other.ndim == 2:
        one = one[:, None]
    if one.ndim == 2 and other.ndim == 1:
        other = other[:, None]
    return one & other


def _begins(func: t.PrimFunc, places: dict[str, tuple[int, int]]) -> dict[int, tuple[int, str]]:
    """Begin and name of each buffer, by its identity, in the order of `places_of`."""
    return {id(buffer): (at, name) for buffer, (name, (at, _)) in zip(_buffers(func), places.items(), strict=True)}


def _picked(number: int, address: np.ndarray, keep: np.ndarray | None) -> _Events:
    if keep is None:
        return _Events(1, address, np.full(len(address), number, np.int32))
    counts = keep.astype(np.int64) if keep.ndim == 1 else keep.sum(axis=1)
    chosen = address[keep]
    return _Events(counts, chosen, np.full(len(chosen), number, np.int32))


def _ramps(extents: np.ndarray) -> np.ndarray:
    """0 ... e - 1 for each extent e, one behind the other."""
    ends = np.cumsum(extents)
    return np.arange(int(ends[-1])) - np.repeat(ends - extents, extents)


def _summed(counts: Any, extents: np.ndarray, fixed: int | None) -> Any:
    """Counts of a loop from those of its iterations."""
    if np.ndim(counts) == 0:
        return counts * (fixed if fixed is not None else extents)
    sums = np.concatenate([[0], np.cumsum(counts)])
    ends = np.cumsum(extents)
    return sums[ends] - sums[ends - extents]


def _joined(count: int, parts: list[_Events]) -> _Events:
    """Statements one behind the other, in each instance."""
    parts = [part for part in parts if len(part.address)]
    if not parts:
        return _EMPTY
    if len(parts) == 1:
        return parts[0]
    if all(np.ndim(part.counts) == 0 for part in parts):
        address = np.concatenate([part.address.reshape(count, -1) for part in parts], axis=1).reshape(-1)
        site = np.concatenate([part.site.reshape(count, -1) for part in parts], axis=1).reshape(-1)
        return _Events(sum(part.counts for part in parts), address, site)
    all_counts = [np.broadcast_to(np.asarray(part.counts, np.int64), (count,)) for part in parts]
    total = np.sum(all_counts, axis=0)
    offset = np.cumsum(total) - total
    address = np.empty(int(total.sum()), np.int64)
    site = np.empty(len(address), np.int32)
    for part, counts in zip(parts, all_counts, strict=True):
        own = np.cumsum(counts) - counts
        where = np.repeat(offset - own, counts) + np.arange(len(part.address))
        address[where], site[where] = part.address, part.site
        offset = offset + counts
    return _Events(total, address, site)
