"""How quickly facts about schedules are had: footprints at real size, caches simulated access by access.

    python -m benchmarks.facts [--rounds N]

Milliseconds of processor time, medians over the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
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


def cache() -> Callable[[], object]:
    """A million accesses through two small caches."""
    from workbench import te
    from workbench.analysis import CacheLevel, simulate_cache

    a, b = te.placeholder((64, 64), name="A"), te.placeholder((64, 64), name="B")
    k = te.reduce_axis((0, 64), name="k")
    func = te.create_prim_func([a, b, te.compute((64, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")])
    caches = [CacheLevel("L1", 4096, 4, 64), CacheLevel("L2", 16384, 4, 64)]
    return lambda: simulate_cache(func, caches=caches)


def tiled_footprints() -> Callable[[], object]:
    """Footprints of every loop of the tiled convolution at its real size."""
    from workbench.analysis import footprints

    sch = tiled()
    return lambda: footprints(sch)


def distances() -> Callable[[], object]:
    """Reuse distances of a quarter of a million random accesses."""
    import numpy as np

    from workbench.analysis.reuse import distances

    lines = np.random.default_rng(0).integers(0, 4096, 250_000)
    return lambda: distances(lines)


def glance() -> Callable[[], object]:
    """All facts of a small tiled convolution, its cache simulated."""
    from workbench.analysis import facts
    from workbench.schedule import Schedule

    sch = Schedule(convolution(8, 14))
    o, _, x, *_ = sch.get_loops("conv")
    sch.split(o, factors=[None, 4])
    sch.split(x, factors=[None, 7])
    return lambda: facts(sch, "llvm -mcpu=haswell")


def milliseconds(run: Callable[[], object], rounds: int) -> float:
    run()
    spent: list[float] = []
    for _ in range(rounds):
        begun = time.process_time()
        run()
        spent.append(time.process_time() - begun)
    return 1000 * statistics.median(spent)


def main(rounds: int = 7) -> None:
    rows = [
        ("a million accesses simulated", cache()),
        ("footprints of a convolution of 16 loops", tiled_footprints()),
        ("reuse distances of 250,000 accesses", distances()),
        ("all facts of a small convolution", glance()),
    ]
    for name, run in rows:
        print(f"{name:<40} {milliseconds(run, rounds):8.1f} ms", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="How quickly facts are had.")
    parser.add_argument("--rounds", type=int, default=7)
    main(parser.parse_args().rounds)
