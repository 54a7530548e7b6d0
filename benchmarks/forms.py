"""One layer in many forms: each distinct convolution of a network at level 2, with variable weights, in other layouts.

    python -m benchmarks.forms [--network resnet50|mobilenetv2] [--rounds N] [LAYER...]

Of each layer the least time of each form on one thread, timed in turn, over that of the fastest form; then the
geometric means and the worst.  Who writes a layer in another form should not pay for it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from math import prod
from time import perf_counter
from typing import Any

import numpy as np

from .operators import MOBILENETV2, RESNET50, Layer
from .results import mean

BLOCK = 16
"""Channels of a block of NCHW16c."""
SECONDS = 0.1
"""How long a round runs a form, at the least."""

Form = Callable[[Layer], Any]


def _layer(layer: Layer, data: str = "NCHW", kernel: str = "OIHW", variable: bool = False) -> Any:
    """The layer as a relay function over data and weights of these layouts."""
    from workbench import relay

    blocks = (lambda count: (count // BLOCK,)) if "c" in data else (lambda count: (count,))
    inner = (BLOCK,) if "c" in data else ()
    size = (layer.size, layer.size)
    shape = (1, *size, layer.channels) if data == "NHWC" else (1, *blocks(layer.channels), *size, *inner)
    taps, inputs = (layer.kernel, layer.kernel), layer.channels // layer.groups
    weights = {
        "OIHW": (layer.filters, inputs, *taps), "HWIO": (*taps, inputs, layer.filters),
        "HWOI": (*taps, layer.channels, 1),
        f"OIHW{BLOCK}i{BLOCK}o": (layer.filters // BLOCK, inputs // BLOCK, *taps, BLOCK, BLOCK),
    }[kernel]  # fmt: skip
    x = relay.var("x", shape=shape)
    drawn = np.random.default_rng(2).standard_normal(weights, dtype=np.float32) / np.float32(prod(weights) ** 0.5)
    w = relay.var("w", shape=weights) if variable else relay.const(drawn)
    out = relay.nn.conv2d(
        x, w, strides=layer.stride, padding=layer.kernel // 2, groups=layer.groups, channels=layer.filters,
        kernel_size=taps, data_layout=data, kernel_layout=kernel,
    )  # fmt: skip
    made = relay.nn.relu(out) if layer.relu else out
    return relay.Function([x, w] if variable else [x], made)


def forms(layer: Layer) -> dict[str, tuple[Any, int]]:
    """Functions with the level at which each is compiled; blocks of channels where there are whole ones."""
    deep = layer.groups > 1
    found = {
        "level 3": (_layer(layer), 3), "level 2": (_layer(layer), 2), "variable": (_layer(layer, variable=True), 3),
        "NHWC": (_layer(layer, "NHWC", "HWOI" if deep else "HWIO"), 3),
    }  # fmt: skip
    if not deep and layer.channels % BLOCK == 0 and layer.filters % BLOCK == 0:
        found["NCHW16c"] = (_layer(layer, f"NCHW{BLOCK}c", f"OIHW{BLOCK}i{BLOCK}o"), 3)
    return found


def times(layer: Layer, rounds: int) -> dict[str, float]:
    """Milliseconds by form."""
    import workbench as wb

    runs: dict[str, Callable[[], Any]] = {}
    for name, (function, level) in forms(layer).items():
        with wb.transform.PassContext(opt_level=level):
            built = wb.open(function).build()
        random = np.random.default_rng(1)
        arrays = {spec.name: random.standard_normal(spec.shape, dtype=np.float32) for spec in built.inputs}
        runs[name] = lambda built=built, arrays=arrays: built.run(arrays)
    found = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            found[name] = min(found[name], _least(run))
    return found


def _least(run: Callable[[], Any]) -> float:
    run()
    least, until = float("inf"), perf_counter() + SECONDS
    while perf_counter() < until:
        begun = perf_counter()
        run()
        least = min(least, (perf_counter() - begun) * 1e3)
    return least


def main() -> int:
    os.environ["WORKBENCH_NUM_THREADS"] = "1"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("layers", nargs="*", help="names as benchmarks.kernels gives them; all by default")
    parser.add_argument("--network", choices=("resnet50", "mobilenetv2"), default="resnet50")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    ratios: dict[str, list[tuple[float, str]]] = {}
    for layer in RESNET50 if given.network == "resnet50" else MOBILENETV2:
        name = layer.subject(given.network).name
        if given.layers and name not in given.layers:
            continue
        found = times(layer, given.rounds)
        best = min(found.values())
        for form, taken in found.items():
            ratios.setdefault(form, []).append((taken / best, name))
        told = "  ".join(f"{form} {taken / best:.2f}" for form, taken in found.items())
        print(f"{name:<40}{best:>8.3f} ms  {told}", flush=True)
    for form, some in ratios.items():
        worst = max(some)
        print(f"{form}: geometric mean {mean([ratio for ratio, _ in some]):.2f}, worst {worst[0]:.2f} ({worst[1]})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
