"""A deterministic estimate of cycles: the same number on every machine, for comparing schedules and for grading.

Model, for each innermost loop that is not unrolled (with what is unrolled or vectorised in it):

* what does not change from iteration to iteration is loaded before the loop and stored after it (as compilers do);
* loads, stores, vector operations (a multiply-add is one) and two instructions of loop control an iteration share the
  ports of the target: the fullest port decides;
* a sum that is carried from iteration to iteration takes the latency of an addition each time.

To the sum over loops come the misses: each level's latency for what it had to deliver.  Nothing overlaps, nothing is
prefetched, one thread runs: an estimate for comparing, not a prediction of time (`throughput` is nearer to that).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from ..arith.nodes import literal
from ..target.memory import Nominal
from ..target.target import Target
from ..tir import nodes as t
from .fact import Fact
from .instances import variables_in
from .operations import operations
from .trace import AccessTrace, Site
from .tree import loops_around


@dataclass(frozen=True)
class Cycles(Fact):
    """Cycles by cause; `total` is what schedules are compared by."""

    total: int
    compute: int
    """Of loads, stores and arithmetic, everything being in the first cache."""
    memory: int
    """Of waiting for lines."""
    limit: str
    """What the most costly loop waits for: "loads", "stores", "arithmetic", "instructions", "latency of sums"."""

    def __str__(self) -> str:
        return (
            f"{self.total:,} cycles: {self.compute:,} of computing (mostly {self.limit}), "
            f"{self.memory:,} of waiting for memory"
        )


@dataclass(frozen=True)
class Counts:
    """How often everything of a lowered function runs; by identity of statements and loops."""

    func: t.PrimFunc
    sites: tuple[Site, ...]
    statements: tuple[t.Stmt, ...]
    """The statement of each site."""
    accesses: tuple[float, ...]
    """Of each site; a vector counts once for each line that it touches."""
    executed: Mapping[int, int]
    """How often each store ran."""
    entered: Mapping[int, int]
    """How often each loop was entered."""
    iterations: Mapping[int, int]
    """How often each loop's body ran."""

    @staticmethod
    def of(trace: AccessTrace) -> Counts:
        """Counted exactly, from a run."""
        found = np.bincount(trace.site, minlength=len(trace.sites))
        return Counts(
            trace.func, trace.sites, trace.statements, tuple(map(float, found)),
            trace.executed, trace.entered, trace.iterations,
        )  # fmt: skip


@dataclass
class _Group:
    """What happens in one innermost loop."""

    loop: t.For | None
    loads: float = 0.0
    stores: float = 0.0
    arithmetic: float = 0.0
    carried: float = 0.0
    sites: list[int] = field(default_factory=list[int])


def estimate(trace: Counts, missed: Sequence[int], target: Target) -> Cycles:
    """Cycles of a program whose counts and misses by level are known."""
    nominal = target.nominal
    parts: dict[str, float] = {}
    for group in _groups(trace, target):
        cycles, limit = _group_cycles(group, trace, nominal)
        parts[limit] = parts.get(limit, 0.0) + cycles
    compute = round(sum(parts.values()))
    latency = _latencies(nominal, len(missed))
    deeper = [*missed[1:], 0]
    memory = sum((count - later) * cost for count, later, cost in zip(missed, deeper, latency, strict=True))
    limit = max(parts, key=lambda name: parts[name]) if parts else "nothing"
    return Cycles(compute + memory, compute, memory, limit)


def _latencies(nominal: Nominal, levels: int) -> tuple[int, ...]:
    """What an access costs that misses levels 1 ... n and is served by the next."""
    return (*nominal.latency[:-1], *nominal.latency[-2:-1] * levels)[: levels - 1] + nominal.latency[-1:]


def _group_cycles(group: _Group, trace: Counts, nominal: Nominal) -> tuple[float, str]:
    steps = trace.iterations[id(group.loop)] if group.loop is not None else 0
    ports = {
        "loads": group.loads / nominal.loads,
        "stores": group.stores / nominal.stores,
        "arithmetic": group.arithmetic / nominal.fma_units,
        "instructions": (group.loads + group.stores + group.arithmetic + 2 * steps) / nominal.width,
        "latency of sums": group.carried * nominal.fma_latency,
    }
    limit = max(ports, key=lambda name: ports[name])
    return ports[limit], limit


def _groups(trace: Counts, target: Target) -> list[_Group]:
    register_bits = target.lanes * 32
    paths = statement_paths(trace.func)
    groups: dict[int, _Group] = {}
    for stmt, times in trace.executed.items():
        node, path = paths[stmt]
        loop = innermost(path)
        group = groups.setdefault(id(loop), _Group(loop))
        registers = -(-node.value.dtype.bits * node.value.dtype.lanes // register_bits)
        group.arithmetic += times * operations(node.value, fused=True) * max(1, registers)
    for site in trace.sites:
        node, path = paths[id(_statement_of(trace, site.number))]
        loop = innermost(path)
        groups.setdefault(id(loop), _Group(loop)).sites.append(site.number)
    for group in groups.values():
        _count_accesses(group, trace, paths)
    return list(groups.values())


def _statement_of(trace: Counts, number: int) -> t.Stmt:
    return trace.statements[number]


def _count_accesses(group: _Group, trace: Counts, paths: dict[int, tuple[t.BufferStore, tuple[t.For, ...]]]) -> None:
    held = kept_in_registers(group.loop, [trace.sites[number].access for number in group.sites])
    for number, is_held in zip(group.sites, held, strict=True):
        site, count = trace.sites[number], trace.accesses[number]
        if is_held and group.loop is not None and trace.iterations[id(group.loop)]:
            steps = trace.iterations[id(group.loop)]
            if site.is_store and _is_summed(trace, group, site.buffer):
                group.carried = max(group.carried, count / _parallel_sums(trace, number, group.loop, paths))
            count *= trace.entered[id(group.loop)] / steps
        if site.is_store:
            group.stores += count
        else:
            group.loads += count


def _is_summed(trace: Counts, group: _Group, buffer: str) -> bool:
    return any(trace.sites[n].buffer == buffer and not trace.sites[n].is_store for n in group.sites)


def _parallel_sums(
    trace: Counts, number: int, loop: t.For, paths: dict[int, tuple[t.BufferStore, tuple[t.For, ...]]]
) -> int:
    """Elements (or vectors) that one iteration of `loop` adds to independently of each other."""
    _, path = paths[id(_statement_of(trace, number))]
    inside = path[next(i for i, item in enumerate(path) if item is loop) + 1 :]
    used = {name for index in trace.sites[number].access.indices for name in variables_in(index)}
    return max(1, prod(literal(item.extent, 1) for item in inside if id(item.var) in used))


def innermost(path: Sequence[t.For]) -> t.For | None:
    """The innermost loop around a statement that runs as a loop: not unrolled, not vectorised."""
    rolled = [loop for loop in path if loop.kind not in (t.ForKind.UNROLLED, t.ForKind.VECTORIZED)]
    return rolled[-1] if rolled else None


def kept_in_registers(loop: t.For | None, accesses: Sequence[object]) -> list[bool]:
    """Which accesses of an innermost loop touch the same element in all its iterations, and may stay in registers."""
    if loop is None:
        return [False] * len(accesses)
    moving: set[int] = set()
    stored: set[int] = set()
    still: list[bool] = []
    for access in accesses:
        indices = access.indices  # type: ignore[attr-defined]
        fixed = not any(id(loop.var) in variables_in(index) for index in indices)
        still.append(fixed)
        key = id(access.buffer)  # type: ignore[attr-defined]
        if not fixed:
            moving.add(key)
        if access.is_store:  # type: ignore[attr-defined]
            stored.add(key)
    mixed = moving & stored
    return [
        fixed and id(access.buffer) not in mixed  # type: ignore[attr-defined]
        for fixed, access in zip(still, accesses, strict=True)
    ]


def statement_paths(func: t.PrimFunc) -> dict[int, tuple[t.BufferStore, tuple[t.For, ...]]]:
    """Each statement with accesses of its own, and the loops around it."""
    return {id(stmt): (stmt, loops) for stmt, loops in loops_around(func.body)}  # type: ignore[misc]
