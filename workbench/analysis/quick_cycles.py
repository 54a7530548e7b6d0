"""The estimate of cycles by formulas: a few milliseconds for a program of any size, for ranking schedules.

The cost model is that of `cycles`, without a run: how often each statement runs is a product of extents, and misses
come from footprints.  For each cache the outermost loop is taken of which one iteration fits; what all its iterations
touch is fetched once for each time that the loop is entered.  What a loop touches of a buffer is counted by the steps
of its accesses, in lines; conditions are taken to hold.

    quick_cycles(sch).total
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any

import numpy as np

from ..arith import nodes as a
from ..arith.nodes import literal
from ..core.errors import WorkbenchError
from ..core.walks import parents_first
from ..target.memory import CacheLevel
from ..tir import nodes as t
from ..tir.array_values import values
from .cycles import Counts, Cycles, estimate
from .index_tables import loader
from .instances import variables_in
from .programs import constant, flat, target_of
from .sites import GuardedAccess, ordered
from .throughput import Busy, busy
from .trace import Site


@dataclass(frozen=True)
class QuickModel:
    """What the formulas say of a program."""

    cycles: Cycles
    """Of one thread."""
    missed: tuple[int, ...]
    """Lines that each cache fetches, the nearest first."""
    busy: Busy
    """How long one thread is busy where everything overlaps that can."""
    work: Mapping[int, int]
    """Elements stored, by the extent of the parallel loop around them; 1 stands for none."""

    def speedup(self, threads: int) -> float:
        """How much faster so many threads are at best: what stands in no parallel loop waits for one of them."""
        taken = sum(count * -(-extent // threads) / extent for extent, count in self.work.items())
        return sum(self.work.values()) / taken if taken else 1.0


def quick_cycles(program: Any, target: Any = None, sizes: Mapping[str, int] | None = None) -> Cycles:
    """The modelled cycles of a schedule or function of constant shape.

    Raises `WorkbenchError` E-ANALYSIS-SIZE for extents without a value, E-ANALYSIS-DATA for loops that depend on data.
    """
    chosen = target_of(program, target)
    reader = _Reader(flat(program, sizes))
    return estimate(reader.counts(), _fetched(reader, chosen.cache_levels), chosen)


def quick_model(program: Any, target: Any = None, sizes: Mapping[str, int] | None = None) -> QuickModel:
    """The same with what it is made of, and the throughput; raises what `quick_cycles` raises."""
    chosen = target_of(program, target)
    reader = _Reader(flat(program, sizes))
    levels, counts = chosen.cache_levels, reader.counts()
    missed = _fetched(reader, levels)
    # Of many runs: what a cache holds altogether does not come from behind it again.
    all_lines = _lines(reader.root.accesses, _extents(reader.root), levels[0].line)
    moved = [0 if number and all_lines <= level.size // level.line else lines
             for number, (level, lines) in enumerate(zip(levels, missed, strict=True))]  # fmt: skip
    cycles = estimate(counts, missed, chosen)
    return QuickModel(cycles, tuple(missed), busy(counts, moved, chosen, reader.evaluate), reader.work)


def _fetched(reader: _Reader, levels: Sequence[CacheLevel]) -> list[int]:
    """Lines that each cache fetches."""
    missed = [ceil(_missed(reader.root, level)) for level in levels]
    # A line that a larger cache misses, the smaller one has missed as well.
    for place in range(len(missed) - 1, 0, -1):
        missed[place - 1] = max(missed[place - 1], missed[place])
    return missed


@dataclass
class _Access:
    """One load or store: its address as a step for each loop around it, in bytes."""

    buffer: t.Buffer
    steps: Mapping[int, float]
    width: int
    """Bytes that one execution touches."""


@dataclass
class _Nest:
    """A loop, or the whole function, with what is inside it in the order of the text."""

    loop: t.For | None
    extent: int
    entered: int
    accesses: list[_Access]
    """Of all statements inside, at any depth."""
    inside: list[_Nest]
    own: list[_Access]
    """Of the statements that stand in no loop inside this one."""


class _Reader:
    """One walk over a lowered function: the nests, and how often everything runs."""

    def __init__(self, func: t.PrimFunc) -> None:
        self.func = func
        self.sites: list[Site] = []
        self.statements: list[t.Stmt] = []
        self.accesses: list[float] = []
        self.executed: dict[int, int] = {}
        self.entered: dict[int, int] = {}
        self.iterations: dict[int, int] = {}
        self.work: dict[int, int] = {}
        self._load = loader(func, {})
        self._middle: dict[int, Any] = {}
        self.root = _Nest(None, 1, 1, [], [], [])
        self._walk(func.body, [self.root], 1)

    def counts(self) -> Counts:
        return Counts(
            self.func, tuple(self.sites), tuple(self.statements), tuple(self.accesses),
            self.executed, self.entered, self.iterations,
        )  # fmt: skip

    def evaluate(self, index: Any, at: Mapping[int, Any]) -> Any:
        """An index where some variables, by identity, have these values, and the others those in the middle."""
        return values(index, {**self._middle, **at}, self._load)

    def _walk(self, stmt: t.Stmt, nests: list[_Nest], times: int) -> None:
        if isinstance(stmt, t.For):
            self._loop(stmt, nests, times)
            return
        if isinstance(stmt, t.While):
            raise WorkbenchError("E-ANALYSIS-DATA", "how often a while loop runs depends on values", nodes=(stmt,))
        self._statement(stmt, nests, times)
        if isinstance(stmt, t.SeqStmt):
            for part in stmt.stmts:
                self._walk(part, nests, times)
        elif isinstance(stmt, t.IfThenElse):
            self._walk(stmt.then_case, nests, times)
        elif isinstance(stmt, (t.LetStmt, t.AllocBuffer)):
            self._walk(stmt.body, nests, times)

    def _loop(self, stmt: t.For, nests: list[_Nest], times: int) -> None:
        low = int(np.max(values(stmt.min, self._middle, self._load)))
        extent = max(0, int(np.max(values(stmt.extent, self._middle, self._load))))
        self.entered[id(stmt)] = self.entered.get(id(stmt), 0) + times
        self.iterations[id(stmt)] = self.iterations.get(id(stmt), 0) + times * extent
        self._middle[id(stmt.var)] = low + max(0, extent - 1) // 2
        made = _Nest(stmt, extent, times, [], [], [])
        nests[-1].inside.append(made)
        self._walk(stmt.body, [*nests, made], times * extent)

    def _statement(self, stmt: t.Stmt, nests: list[_Nest], times: int) -> None:
        if isinstance(stmt, t.BufferStore):
            self.executed[id(stmt)] = self.executed.get(id(stmt), 0) + times
            spread = (nest.extent for nest in nests if nest.loop and nest.loop.kind is t.ForKind.PARALLEL)
            extent = max(1, next(spread, 1))
            self.work[extent] = self.work.get(extent, 0) + times * stmt.value.dtype.lanes
        loops = [nest.loop for nest in nests if nest.loop is not None]
        for access in ordered(stmt):
            self.sites.append(
                Site(
                    len(self.sites),
                    access.buffer.name,
                    access.is_store,
                    tuple(loop.var.name for loop in loops),
                    access,
                )
            )
            self.statements.append(stmt)
            width, lines = _width(access)
            self.accesses.append(float(times * lines))
            found = _Access(access.buffer, self._steps(access, loops), width)
            for nest in nests:
                nest.accesses.append(found)
            nests[-1].own.append(found)

    def _steps(self, access: GuardedAccess, loops: Sequence[t.For]) -> dict[int, float]:
        """How far the address moves from one iteration of each loop to the next, on average."""
        index = access.indices[-1]
        base = index.base if isinstance(index, a.Ramp) else index
        used = variables_in(base)
        found: dict[int, float] = {}
        for loop in loops:
            if id(loop.var) not in used:
                continue
            here = self._middle[id(loop.var)]
            extent = self.iterations[id(loop)] // max(1, self.entered[id(loop)])
            first = here - max(0, extent - 1) // 2
            ends = [
                float(np.min(values(base, {**self._middle, id(loop.var): at}, self._load)))
                for at in (here, here + 1, first, first + extent - 1)
            ]
            step = ends[1] - ends[0] or (ends[3] - ends[2]) / max(1, extent - 1)
            if extent > 1 and step:
                found[id(loop.var)] = abs(step) * access.buffer.dtype.bytes
        return found


def _width(access: GuardedAccess) -> tuple[int, int]:
    """(bytes from the first to the last lane of one execution, lines that it touches)."""
    index, size = access.indices[-1], access.buffer.dtype.bytes
    if not isinstance(index, a.Ramp):
        lanes = index.dtype.lanes
        return size * lanes, lanes
    apart = abs(int(literal(index.stride, 64)))
    lanes = index.dtype.lanes
    return size * ((lanes - 1) * apart + 1), min(lanes, max(1, -(-lanes * apart * size // 64)))


def _missed(nest: _Nest, level: CacheLevel) -> float:
    """Lines that a cache fetches in the whole run for what stands in `nest`."""
    everything, room = _extents(nest), level.size // level.line
    once = dict(everything)
    if nest.loop is not None:
        del once[id(nest.loop.var)]
    if _lines(nest.accesses, once, level.line) <= room:
        return nest.entered * _lines(nest.accesses, everything, level.line)
    alone = sum(max(1, access.width // level.line) for access in nest.own)
    return nest.entered * nest.extent * alone + sum(_missed(inner, level) for inner in nest.inside)


def _lines(accesses: Sequence[_Access], extents: Mapping[int, int], line: int) -> float:
    """Distinct lines that the accesses touch while the loops of `extents` run and all others stand still.

    Accesses of one buffer that move alike count once, others add up, to the size of the buffer at most.
    """
    found: dict[int, dict[tuple[tuple[int, float], ...], float]] = {}
    most: dict[int, float] = {}
    for access in accesses:
        steps = {key: step for key, step in access.steps.items() if key in extents}
        kind, buffer = tuple(sorted(steps.items())), access.buffer
        own = found.setdefault(id(buffer), {})
        own[kind] = max(own.get(kind, 0.0), _count(steps, extents, access.width, line))
        elements = prod(constant(extent, f"the shape of {buffer.name}") for extent in buffer.shape)
        most[id(buffer)] = max(1.0, elements * buffer.dtype.bytes / line)
    return sum(min(sum(own.values()), most[key]) for key, own in found.items())


def _extents(nest: _Nest) -> dict[int, int]:
    """The extents of a nest's loop and of all loops inside, by variable."""
    nests = parents_first([nest], lambda one: one.inside)
    return {id(inner.loop.var): inner.extent for inner in nests if inner.loop is not None}


def _count(steps: Mapping[int, float], extents: Mapping[int, int], width: int, line: int) -> float:
    """Lines of an access that moves by these steps: steps within what is covered already widen it, others repeat it."""
    span, times = float(width), 1.0
    for key, step in sorted(steps.items(), key=lambda item: item[1]):
        if step <= max(span, line):
            span += step * (extents[key] - 1)
        else:
            times *= extents[key]
    return times * max(1.0, span / line)
