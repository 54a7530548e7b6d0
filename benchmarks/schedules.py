"""How fast schedules answer: primitives with print, replays, legality in bulk, facts.  Processor time, medians.

    python -m benchmarks.schedules [--rounds N]

The program is a convolution with bias and relu, 64 channels of 56 x 56; the figures wanted are printed beside.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any


def convolution(channels: int = 64, size: int = 56) -> Any:
    """Padded 3 x 3 convolution, bias, relu, as blocks."""
    from workbench import te
    from workbench.arith import build

    data, weight = (
        te.placeholder((channels, size, size), name="X"),
        te.placeholder((channels, channels, 3, 3), name="W"),
    )
    bias = te.placeholder((channels,), name="bias")
    pad = te.compute(
        (channels, size + 2, size + 2),
        lambda c, y, x: build.if_then_else(
            build.all_of(y >= 1, y < size + 1, x >= 1, x < size + 1), data[c, y - 1, x - 1], 0.0
        ),
        name="pad",
    )
    rc, ry, rx = (te.reduce_axis((0, extent), name=name) for name, extent in (("rc", channels), ("ry", 3), ("rx", 3)))
    conv = te.compute(
        (channels, size, size),
        lambda o, y, x: te.sum(pad[rc, y + ry, x + rx] * weight[o, rc, ry, rx], axis=[rc, ry, rx]),
        name="conv",
    )
    relu = te.compute((channels, size, size), lambda o, y, x: build.maximum(conv[o, y, x] + bias[o], 0.0), name="relu")
    return te.create_prim_func([data, weight, bias, relu])


def tiled() -> Any:
    """The convolution with its six loops split into sixteen."""
    from workbench.schedule import Schedule

    sch = Schedule(convolution())
    o, y, x, rc, ry, rx = sch.get_loops("conv")
    sch.split(o, factors=[None, 4, 4, 2])
    sch.split(y, factors=[None, 7, 2, 2])
    sch.split(x, factors=[None, 7, 4])
    sch.split(rc, factors=[None, 8, 4])
    assert len(sch.get_loops("conv")) == 16, (ry, rx)
    return sch


def forgotten(sch: Any) -> Any:
    """The same schedule without anything that was found out about it."""
    from workbench.schedule import Schedule

    return Schedule(replace(sch.state))


def legality(sch: Any) -> Callable[[], object]:
    """Every swap of two loops, parallel and vectorise of each, of sixteen."""
    loops = sch.get_loops("conv")

    def run() -> None:
        fresh = forgotten(sch)
        for one, other in combinations(range(len(loops)), 2):
            order = list(loops)
            order[one], order[other] = order[other], order[one]
            fresh.why_not("reorder", *order[one : other + 1])
        for loop in loops:
            fresh.why_not("parallel", loop)
            fresh.why_not("vectorize", loop)

    return run


def places(sch: Any) -> Callable[[], object]:
    """compute_at of the padding at each of the sixteen loops, reverse_compute_at of the activation too."""
    loops = sch.get_loops("conv")
    pad, relu = sch.get_block("pad"), sch.get_block("relu")

    def run() -> None:
        fresh = forgotten(sch)
        for loop in loops:
            fresh.why_not("compute_at", pad, loop)
            fresh.why_not("reverse_compute_at", relu, loop)

    return run


def one_step() -> Callable[[], object]:
    from workbench.schedule import Schedule

    sch = Schedule(convolution())
    loops = sch.get_loops("conv")

    def run() -> None:
        made = sch.copy()
        made.split(loops[1], factors=[None, 8])
        made.script()

    return run


def replayed() -> Callable[[], object]:
    """A trace of thirty steps."""
    from workbench.schedule import Schedule

    func = convolution()
    sch = Schedule(func)
    sch.compute_inline("pad")
    o, y, x, rc, ry, rx = sch.get_loops("conv")
    oo, oi = sch.split(o, factors=[None, 16])
    yo, yi = sch.split(y, factors=[None, 4])
    xo, xi = sch.split(x, factors=[None, 8])
    co, ci = sch.split(rc, factors=[None, 8])
    sch.reorder(oo, yo, xo, co, ry, rx, ci, oi, yi, xi)
    sch.reverse_compute_at("relu", xo)
    for block in ("conv", "relu"):
        for loop in sch.get_loops(block)[3:]:
            sch.annotate(loop, "note", 1)
    sch.parallel(oo)
    sch.vectorize(xi)
    while len(sch.trace) < 30:
        sch.annotate(yo, f"note{len(sch.trace)}", 1)
    trace = sch.trace
    return lambda: trace.apply_to(Schedule(func))


def cache() -> Callable[[], object]:
    """A million accesses through two small caches."""
    from workbench import te
    from workbench.analysis import CacheLevel, simulate_cache

    a, b = te.placeholder((64, 64), name="A"), te.placeholder((64, 64), name="B")
    k = te.reduce_axis((0, 64), name="k")
    func = te.create_prim_func([a, b, te.compute((64, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")])
    caches = [CacheLevel("L1", 4096, 4, 64), CacheLevel("L2", 16384, 4, 64)]
    return lambda: simulate_cache(func, caches=caches)


def facts() -> Callable[[], object]:
    """Footprints of every loop of the tiled convolution at its real size."""
    from workbench.analysis import footprints

    sch = tiled()
    return lambda: footprints(sch)


def milliseconds(run: Callable[[], object], rounds: int) -> float:
    run()
    spent: list[float] = []
    for _ in range(rounds):
        begun = time.process_time()
        run()
        spent.append(time.process_time() - begun)
    return 1000 * statistics.median(spent)


def main(rounds: int = 7) -> None:
    sch = tiled()
    rows = [
        ("one primitive with print", one_step(), 15),
        ("replay of 30 steps", replayed(), 60),
        ("120 swaps, 16 parallel, 16 vectorize", legality(sch), 100),
        ("32 places for compute_at", places(sch), 300),
        ("a million accesses simulated", cache(), 1000),
        ("footprints of the tiled convolution", facts(), 1000),
    ]
    for name, run, wanted in rows:
        print(f"{name:<40} {milliseconds(run, rounds):8.1f} ms   (wanted: at most {wanted})", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="How fast schedules answer.")
    parser.add_argument("--rounds", type=int, default=7)
    main(parser.parse_args().rounds)
