"""How long a core is busy with a program at best: what it starts in a cycle, what it waits for, what comes in.

`cycles` charges each miss its latency, for comparing; here what can overlap does, as out-of-order execution and
prefetching make it.  It is the Execution-Cache-Memory model (Hofmann, Alappat, Hager, Fey, Wellein, 2020): lines come
from one level after the other, and while the first cache takes one it serves no loads and stores; arithmetic goes on
meanwhile.  A run is one of many: what a cache holds altogether is there already.  For each innermost loop that is not
unrolled, with what is unrolled and vectorised in it, the fullest of these decides:

* loads, stores, arithmetic and instructions of any kind by what starts in a cycle (`target.memory.Nominal`); one
  address in an unrolled body is loaded once, and what does not change in the loop is computed before it;
* sums: an addition waits for the one before to the same element, so independent sums hide the latency.  Sums are held
  in registers in buffers of scope "local" as far as registers go, and single numbers anywhere; vectors elsewhere go
  through memory each time, and wait `FORWARDED` cycles more;
* a loop without lanes whose accesses move by one element is vectorised, as LLVM does, unless it is a sum.

`benchmarks.roofline_rates` holds it against measured times: within a factor of two, but for strides of a power of two
between lines, which leave caches few sets.

    quick_model(sch, "llvm -mcpu=znver3").busy.cycles
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, prod
from typing import Any, Final

import numpy as np

from ..arith import nodes as a
from ..arith.nodes import literal
from ..core.node import pre_order
from ..target.target import Target
from ..tir import nodes as t
from .cycles import Counts, innermost, kept_in_registers, statement_paths
from .trace import Site
from .work_of_values import Work, work_of

FORWARDED: Final = 12
"""Cycles from the store of a vector to its load; measured (8 to 17), no maker says it."""
_GRID: Final = 4096
"""Unrolled iterations whose addresses are compared one by one."""

_Paths = Mapping[int, tuple[t.BufferStore, tuple[t.For, ...]]]
Evaluate = Callable[[Any, Mapping[int, Any]], Any]
"""The value of an index where some loop variables, by identity, have others than those in the middle."""


@dataclass(frozen=True)
class Busy:
    """Cycles of one thread; `cycles` is the greater of the other two."""

    cycles: float
    computing: float
    moving: float
    """Of lines on their way, and of the first cache's loads and stores."""
    limit: str
    """What the most costly loop waits for, or "lines"."""


@dataclass
class _Body:
    """An innermost loop with its statements."""

    loop: t.For | None
    sites: list[int] = field(default_factory=list[int])
    stores: dict[int, t.BufferStore] = field(default_factory=dict[int, t.BufferStore])


def busy(counts: Counts, moved: Sequence[float], target: Target, evaluate: Evaluate) -> Busy:
    """`moved` are lines that come from each level behind the first cache in one of many runs, the nearest first."""
    parts: dict[str, float] = {}
    moving = _moving(moved, target)
    paths = statement_paths(counts.func)
    for body in _bodies(counts, paths):
        ports = _Ports(body, counts, paths, target, evaluate).ports()
        limit = max(ports, key=lambda name: ports[name])
        parts[limit] = parts.get(limit, 0.0) + ports[limit]
        moving += max(ports["loads"], ports["stores"])
    computing = sum(parts.values())
    limit = "lines" if moving > computing else max(parts, key=lambda name: parts[name], default="nothing")
    return Busy(max(computing, moving), computing, moving, limit)


def _moving(moved: Sequence[float], target: Target) -> float:
    nominal, line = target.nominal, target.cache_levels[0].line
    rates = [nominal.fetched, *[nominal.shared] * (len(moved) - 2), nominal.bandwidth / nominal.clock]
    return sum(lines * line / rate for lines, rate in zip(moved, rates[-len(moved) :], strict=True))


def _bodies(counts: Counts, paths: _Paths) -> list[_Body]:
    bodies: dict[int, _Body] = {}

    def of(stmt: int) -> _Body:
        loop = innermost(paths[stmt][1])
        return bodies.setdefault(id(loop), _Body(loop))

    for stmt in counts.executed:
        of(stmt).stores[stmt] = paths[stmt][0]
    for site in counts.sites:
        of(id(counts.statements[site.number])).sites.append(site.number)
    return list(bodies.values())


class _Ports:
    """What one body asks of the core in the whole run."""

    def __init__(self, body: _Body, counts: Counts, paths: _Paths, target: Target, evaluate: Evaluate) -> None:
        self.body, self.counts, self.nominal, self.evaluate = body, counts, target.nominal, evaluate
        self.bits, self.registers = target.lanes * 32, target.vector_registers
        self.loop = body.loop
        self.paths = paths
        sites = [counts.sites[number] for number in body.sites]
        self.written = {id(counts.statements[site.number]): site for site in sites if site.is_store}
        self.steps = counts.iterations[id(self.loop)] if self.loop is not None else 1
        self.entered = counts.entered[id(self.loop)] if self.loop is not None else 1
        self.found: dict[str, float] = dict.fromkeys(("loads", "stores", "arithmetic", "latency of sums"), 0.0)
        held = kept_in_registers(self.loop, [site.access for site in sites])
        self.held = dict(zip(body.sites, held, strict=True))
        self.summed = {
            id(store.buffer) for store in body.stores.values()
            if any(isinstance(node, t.BufferLoad) and node.buffer is store.buffer for node in pre_order(store.value))
        }  # fmt: skip
        self.spilled = self._spilled()
        self.lanes = self._automatic_lanes()

    def ports(self) -> dict[str, float]:
        """Cycles by what decides."""
        for number in self.body.sites:
            self._access(self.counts.sites[number])
        for key, store in self.body.stores.items():
            self._arithmetic(key, store)
        found, nominal = self.found, self.nominal
        control = 2 * self.steps / self.lanes if self.loop is not None else 0
        return {
            "loads": found["loads"] / nominal.loads,
            "stores": found["stores"] / nominal.stores,
            "arithmetic": found["arithmetic"] / nominal.fma_units,
            "instructions": (found["loads"] + found["stores"] + found["arithmetic"] + control) / nominal.width,
            "latency of sums": found["latency of sums"],
        }

    # --- loads and stores ---

    def _access(self, site: Site) -> None:
        """Count the instructions of a load or store, and what a sum waits for."""
        times = self._times(site)
        distinct = self._distinct(site)
        here = distinct * _instructions(site, self.bits) / self.lanes
        if self._in_registers(site):
            own = self.spilled if id(site.access.buffer) in self.summed else 0.0
            count = own * times * here + (1 - own) * self._at_ends(site, times) * here
        else:
            count = times * here
        self.found["stores" if site.is_store else "loads"] += count

    def _in_registers(self, site: Site) -> bool:
        if not self.held[site.number]:
            return False
        return not self._through_memory(site)

    def _through_memory(self, site: Site) -> bool:
        """A vector that is added to, and whose buffer is no local one: LLVM leaves it where it is."""
        buffer = site.access.buffer
        return id(buffer) in self.summed and buffer.scope != "local" and _lanes(site) > 1 and self.loop is not None

    def _at_ends(self, site: Site, times: float) -> float:
        """How often what is held is loaded before the loop or stored after it: local buffers are nowhere else."""
        if site.access.buffer.scope == "local":
            return 0.0
        return times * self.entered / max(1, self.steps)

    def _times(self, site: Site) -> float:
        """Executions of its statement."""
        stmt = id(self.counts.statements[site.number])
        return float(self.counts.executed.get(stmt, self.counts.accesses[site.number]))

    def _distinct(self, site: Site) -> float:
        """The part of the executions in one unrolled body that have an address of their own."""
        inside = self._inside(id(self.counts.statements[site.number]))
        grid = prod(extent for _, extent in inside)
        if grid <= 1:
            return 1.0
        index = site.access.indices[-1]
        base = index.base if isinstance(index, a.Ramp) else index
        used = {id(node) for node in pre_order(base)}
        varying = [(loop, extent) for loop, extent in inside if id(loop.var) in used]
        most = prod(extent for _, extent in varying)
        if 1 < most <= _GRID:
            mesh = np.meshgrid(*[np.arange(extent) for _, extent in varying], indexing="ij")
            at = {id(loop.var): values.ravel() for (loop, _), values in zip(varying, mesh, strict=True)}
            most = len(np.unique(self.evaluate(base, at)))
        return most / grid

    def _inside(self, stmt: int) -> list[tuple[t.For, int]]:
        """The unrolled loops of the body around a statement."""
        path = self.paths[stmt][1]
        place = next((number + 1 for number, loop in enumerate(path) if loop is self.loop), 0)
        return [
            (loop, self.counts.iterations[id(loop)] // max(1, self.counts.entered[id(loop)])) for loop in path[place:]
        ]

    def _spilled(self) -> float:
        """The part of the sums for which there is no register."""
        wanted = 0.0
        for number in self.body.sites:
            site = self.counts.sites[number]
            if site.is_store and self.held[number] and id(site.access.buffer) in self.summed:
                grid = prod(extent for _, extent in self._inside(id(self.counts.statements[number])))
                wanted = max(wanted, self._distinct(site) * grid * _instructions(site, self.bits))
        return max(0.0, wanted - self.registers) / wanted if wanted else 0.0

    # --- arithmetic ---

    def _arithmetic(self, key: int, store: t.BufferStore) -> None:
        times = float(self.counts.executed[key])
        site = self.written.get(key)
        inner = [self.loop, *(loop for loop, _ in self._inside(key))]
        moving = {id(loop.var) for loop in inner if loop is not None}
        stored = {id(one.buffer) for one in self.body.stores.values()}
        work: Work = work_of(store.value, self.bits, moving, stored)
        once = min(times, float(self.entered))
        self.found["arithmetic"] += (work.each * times) / self.lanes + work.once * once
        if site is None or not self.held[site.number] or id(store.buffer) not in self.summed or self.loop is None:
            return
        latency = self.nominal.fma_latency if work.fused else self.nominal.add_latency
        latency += FORWARDED * self._through_memory(site)
        if work.sums or self.lanes == 1:
            chain = times / max(1.0, self._distinct(site) * prod(extent for _, extent in self._inside(key)))
            self.found["latency of sums"] = max(self.found["latency of sums"], chain * latency)

    # --- loops that LLVM vectorises ---

    def _automatic_lanes(self) -> float:
        """Iterations that one vector does; 1 where nothing is vectorised."""
        loop = self.loop
        if loop is None or not self.body.stores or loop.kind is not t.ForKind.SERIAL:
            return 1.0
        if any(self._inside(key) or store.value.dtype.lanes > 1 for key, store in self.body.stores.items()):
            return 1.0
        if not all(self._moves_by_one(self.counts.sites[number]) for number in self.body.sites):
            return 1.0
        for store in self.body.stores.values():
            if id(store.buffer) in self.summed and not isinstance(store.value, (a.Min, a.Max)):
                return 1.0
        widest = max(self.counts.sites[number].access.buffer.dtype.bits for number in self.body.sites)
        extent = self.steps / max(1, self.entered)
        return max(1.0, extent / ceil(extent / max(1, self.bits // widest)))

    def _moves_by_one(self, site: Site) -> bool:
        """Whether an access stands still or goes to the next element; a store that stands still is of a sum."""
        if self.loop is None or _lanes(site) > 1:
            return False
        ends = np.asarray(self.evaluate(site.access.indices[-1], {id(self.loop.var): np.arange(2)})).ravel()
        step = float(ends[-1] - ends[0])
        if site.is_store and step == 0:
            return id(site.access.buffer) in self.summed
        return step in (0.0, 1.0)


def _lanes(site: Site) -> int:
    return site.access.indices[-1].dtype.lanes


def _instructions(site: Site, bits: int) -> int:
    """Loads or stores of one execution: a register at a time, lane by lane where lanes are apart."""
    index, lanes = site.access.indices[-1], _lanes(site)
    if lanes == 1:
        return 1
    together = isinstance(index, a.Ramp) and literal(index.stride, 0) == 1
    return ceil(lanes * site.access.buffer.dtype.bits / bits) if together else lanes
