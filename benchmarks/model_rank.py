"""Does the model of cycles order schedules as the machine does?  Rank correlation over random schedules.

    python -m benchmarks.model_rank [--count N] [--seed N] [--exact]

Five programs, N random schedules of each (splits, orders, lanes, unrolling, fused and moved stages; one thread).  For
each the modelled cycles are compared with the measured time.  Printed: Spearman's rank correlation of the quick model
(`analysis.quick_cycles`), with `--exact` also of the one that simulates every access, and how many times as long as
the best schedule the one takes that the model ranks first.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.schedules import convolution

NEEDED = 0.6
"""The correlation from which on factors, and not ranks alone, may be shown."""


def matmul(size: int = 96) -> Any:
    from workbench import te

    a, b = te.placeholder((size, size), name="A"), te.placeholder((size, size), name="B")
    k = te.reduce_axis((0, size), name="k")
    return te.create_prim_func(
        [a, b, te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]
    )


def softmax(rows: int = 256, columns: int = 256) -> Any:
    from workbench import te

    x = te.placeholder((rows, columns), name="X")
    k, m = (te.reduce_axis((0, columns), name=name) for name in "km")
    top = te.compute((rows,), lambda i: te.max(x[i, k], axis=k), name="top")
    raised = te.compute((rows, columns), lambda i, j: te.exp(x[i, j] - top[i]), name="raised")
    total = te.compute((rows,), lambda i: te.sum(raised[i, m], axis=m), name="total")
    return te.create_prim_func([x, te.compute((rows, columns), lambda i, j: raised[i, j] / total[i], name="Y")])


def chain(size: int = 384) -> Any:
    from workbench import te
    from workbench.arith import build

    x, y = te.placeholder((size, size), name="X"), te.placeholder((size, size), name="Y")
    scaled = te.compute((size, size), lambda i, j: x[i, j] * 3.0 + 1.0, name="scaled")
    mixed = te.compute((size, size), lambda i, j: scaled[i, j] + y[j, i], name="mixed")
    return te.create_prim_func(
        [x, y, te.compute((size, size), lambda i, j: build.maximum(mixed[i, j], 0.0), name="kept")]
    )


def reduction(rows: int = 512, columns: int = 512) -> Any:
    from workbench import te

    x = te.placeholder((rows, columns), name="X")
    k = te.reduce_axis((0, rows), name="k")
    return te.create_prim_func([x, te.compute((columns,), lambda j: te.sum(x[k, j], axis=k), name="S")])


PROGRAMS: dict[str, Callable[[], Any]] = {
    "matmul 96": matmul,
    "convolution 16": convolution,
    "softmax 256": softmax,
    "elementwise 384": chain,
    "column sums 512": reduction,
}


def divisors(extent: int) -> list[int]:
    return [length for length in range(2, extent) if extent % length == 0]


def drawn(func: Any, draw: random.Random) -> Any:
    """A random legal schedule; steps that are refused are left out."""
    from workbench.core.errors import WorkbenchError
    from workbench.schedule import Schedule

    sch = Schedule(func)
    names = [site.name for site in sch.state.tree.leaves]

    def attempt(step: Callable[[], Any]) -> None:
        try:
            step()
        except WorkbenchError:
            return

    for name in names[:-1]:
        what = draw.choice(("stay", "inline", "move"))
        if what == "inline":
            attempt(lambda name=name: sch.compute_inline(name))
        elif what == "move":
            loops = sch.get_loops(names[-1])
            attempt(lambda name=name, loops=loops: sch.compute_at(name, draw.choice(loops)))
    for name in [site.name for site in sch.state.tree.leaves]:
        attempt(lambda name=name: _within(sch, name, draw))
    return sch


def _within(sch: Any, name: str, draw: random.Random) -> None:
    """Split, order, and mark the loops of one block."""
    from workbench.core.errors import WorkbenchError

    def extent(loop: Any) -> int:
        return int(getattr(sch.get(loop).extent, "value", 1))

    for loop in sch.get_loops(name):
        lengths = divisors(extent(loop))
        if lengths and draw.random() < 0.6:
            sch.split(loop, factors=[None, draw.choice(lengths)])
    for _ in range(3):
        loops = sch.get_loops(name)
        draw.shuffle(loops)
        try:
            sch.reorder(*loops)
            break
        except WorkbenchError:
            continue
    for mark, most, chance in (("vectorize", 64, 0.7), ("unroll", 8, 0.4)):
        fitting = [loop for loop in sch.get_loops(name) if 1 < extent(loop) <= most]
        if fitting and draw.random() < chance:
            try:
                getattr(sch, mark)(fitting[-1])
            except WorkbenchError:
                continue


def ranks(values: list[float]) -> np.ndarray:
    """The place of each value; equal ones share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2)[inverse]


def spearman(one: list[float], other: list[float]) -> float:
    return float(np.corrcoef(ranks(one), ranks(other))[0, 1])


def compared(make: Callable[[], Any], count: int, seed: int, exact: bool) -> tuple[list[float], ...]:
    """Seconds, quick cycles and (if asked for) simulated cycles of `count` different schedules."""
    from workbench.analysis.cache import simulate_cache
    from workbench.analysis.quick_cycles import quick_cycles
    from workbench.driver.measure import seconds

    func, draw = make(), random.Random(seed)
    found: list[tuple[float, float, float]] = []
    seen: set[str] = set()
    for _ in range(20 * count):
        sch = drawn(func, draw)
        if sch.fingerprint() in seen:
            continue
        seen.add(sch.fingerprint())
        simulated = float(simulate_cache(sch, limit=20_000_000).cycles.total) if exact else 0.0
        found.append((seconds(sch), float(quick_cycles(sch).total), simulated))
        if len(found) == count:
            break
    return tuple(list(column) for column in zip(*found, strict=True))


def main() -> None:
    from workbench.runtime import set_num_threads

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--exact", action="store_true")
    chosen = parser.parse_args()
    set_num_threads(1)
    heads = f"{'program':<18}{'schedules':>10}{'quick':>8}{'exact':>8}{'first over best':>17}{'seconds':>9}"
    print(heads, flush=True)
    for name, make in PROGRAMS.items():
        begin = time.perf_counter()
        times, quick, simulated = compared(make, chosen.count, chosen.seed, chosen.exact)
        told = f"{spearman(simulated, times):>8.2f}" if chosen.exact else f"{'':>8}"
        lost = times[int(np.argmin(quick))] / min(times)
        took = time.perf_counter() - begin
        print(f"{name:<18}{len(times):>10}{spearman(quick, times):>8.2f}{told}{lost:>17.2f}{took:>9.0f}", flush=True)
    print(f"factors may be shown from {NEEDED} on, for every program")


if __name__ == "__main__":
    main()
