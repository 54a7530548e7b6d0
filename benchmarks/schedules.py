"""How quickly schedules answer: legality in bulk, drop targets, one primitive with its printed text, a trace again.

    python -m benchmarks.schedules [--rounds N]

Milliseconds of processor time, medians over the rounds, beside what a screen can bear.  Every round begins with a
fresh state, so that nothing is remembered from the round before.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

LIMITS = {
    "legality of 16 loops: swaps, parallel, vectorize": 100.0,
    "compute_at of the padding: every loop": 300.0,
    "one primitive and the text": 15.0,
    "a trace of 30 steps again": 60.0,
    "a split into 160 loops": 1000.0,
}
"""Milliseconds that each may take."""


def convolution(size: int = 16) -> Any:
    """Padding, a 3 x 3 convolution, bias and relu, on `size` channels of size x size."""
    from workbench import te
    from workbench.arith import build

    data, weight = te.placeholder((size, size, size), name="X"), te.placeholder((size, size, 3, 3), name="W")
    bias = te.placeholder((size,), name="bias")
    pad = te.compute(
        (size, size + 2, size + 2),
        lambda c, y, x: build.if_then_else(
            build.all_of(y >= 1, y < size + 1, x >= 1, x < size + 1), data[c, y - 1, x - 1], 0.0
        ),
        name="pad",
    )
    rc, ry, rx = (te.reduce_axis((0, extent), name=name) for extent, name in ((size, "rc"), (3, "ry"), (3, "rx")))
    conv = te.compute(
        (size, size, size),
        lambda o, y, x: te.sum(pad[rc, y + ry, x + rx] * weight[o, rc, ry, rx], axis=[rc, ry, rx]),
        name="conv",
    )
    relu = te.compute((size,) * 3, lambda o, y, x: build.maximum(conv[o, y, x] + bias[o], 0.0), name="relu")
    return te.create_prim_func([data, weight, bias, relu])


def tiled(sch: Any) -> None:
    """The convolution in 16 loops: three levels in space, two and three in its sums."""
    block = sch.get_block("conv")
    o, y, x, rc, ry, rx = sch.get_loops(block)
    for loop in (o, y, x):
        sch.split(loop, factors=[None, 2, 2])
    outer, _ = sch.split(rc, factors=[None, 4])
    sch.split(outer, factors=[None, 2])
    sch.split(ry, factors=[None, 1])
    sch.split(rx, factors=[None, 3])


def thirty_steps(sch: Any) -> None:
    """A whole schedule: tiles, producer and consumer moved in, parallel, vectors, unrolled sums."""
    tiled(sch)
    block = sch.get_block("conv")
    loops = sch.get_loops(block)
    o0, o1, o2, y0, y1, y2, x0, x1, x2 = loops[:9]
    sums = loops[9:]
    sch.reorder(o0, y0, x0, o1, y1, x1, *sums[:3], o2, y2, *sums[3:], x2)
    sch.compute_at(sch.get_block("pad"), x0)
    sch.reverse_compute_at(sch.get_block("relu"), x0)
    sch.unroll(sums[-1])
    sch.vectorize(x2)
    sch.parallel(sch.fuse(o0, y0))
    relu, pad = sch.get_loops(sch.get_block("relu")), sch.get_loops(sch.get_block("pad"))
    sch.vectorize(relu[-1])
    _, inner = sch.split(pad[-1], factors=[None, 2])
    sch.unroll(inner)
    init = sch.decompose_reduction(block, sums[0])
    sch.unroll(sch.get_loops(init)[-2])
    sch.annotate(block, "remark", "inner product")


def milliseconds(call: Callable[[Any], Any], prepare: Callable[[], Any], rounds: int) -> float:
    """The median processor time of `call` on what `prepare` gives."""
    found: list[float] = []
    for _ in range(rounds + 1):
        given = prepare()
        begin = time.process_time()
        call(given)
        found.append((time.process_time() - begin) * 1000)
    return statistics.median(found[1:])


def measured(rounds: int) -> dict[str, float]:
    """Milliseconds by question."""
    from workbench import te
    from workbench.schedule import Schedule

    func = convolution()
    done = Schedule(func)
    thirty_steps(done)
    assert len(done.trace) >= 30

    def sixteen() -> Any:
        sch = Schedule(func)
        tiled(sch)
        return sch

    def plain() -> Any:
        sch = Schedule(func)
        return sch, sch.get_loops(sch.get_block("conv"))

    def one(given: Any) -> None:
        sch, loops = given
        sch.split(loops[0], factors=[None, 4])
        sch.script()

    def bare() -> Any:
        a = te.placeholder((640, 8), name="A")
        sch = Schedule(te.create_prim_func([a, te.compute((640, 8), lambda i, j: a[i, j] * 2.0, name="B")]))
        return sch, sch.get_loops("B")[0]

    names = list(LIMITS)
    return {
        names[0]: milliseconds(lambda sch: sch.legal_moves("conv"), sixteen, rounds),
        names[1]: milliseconds(lambda sch: sch.drop_targets("pad"), sixteen, rounds),
        names[2]: milliseconds(one, plain, rounds),
        names[3]: milliseconds(lambda sch: sch.replay(done.trace), lambda: Schedule(func), rounds),
        names[4]: milliseconds(lambda given: given[0].split(given[1], factors=[None, *(1,) * 159]), bare, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    found = measured(parser.parse_args().rounds)
    print(f"{'question':<52}{'ms':>8}{'limit':>8}")
    for name, taken in found.items():
        print(f"{name:<52}{taken:>8.1f}{LIMITS[name]:>8.0f}", flush=True)


if __name__ == "__main__":
    main()
