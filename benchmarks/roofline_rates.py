"""Is the rate at which the roofline draws a program the one that it has?  Modelled against measured, one thread.

    python -m benchmarks.roofline_rates

A layer as it is compiled and without tiles, three layers of EfficientNet-lite0, dense layers, softmax and matrix
products, as compiled and as written.  The modelled rate is that of the last point of `analysis.roofline_path`.
Expected is a ratio between 0.5 and 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.model_rank import matmul, softmax

TARGET = "llvm -num-cores=1"
ROUNDS = 5
"""Of which the quickest counts: the model knows nothing of other processes."""
NETWORK = Path(__file__).parents[1] / "notebooks" / "data" / "efficientnet_lite0.onnx"


def session_of(name: str, shape: tuple[int, ...], weight: tuple[int, ...] = (), **attributes: Any) -> Any:
    """An operator alone."""
    import workbench as wb
    from workbench import relay

    x = relay.var("x", shape=shape)
    rest = [relay.const(np.random.default_rng(0).standard_normal(weight).astype("float32"))] if weight else []
    with wb.transform.PassContext(opt_level=2):
        return wb.open(relay.Function([x], getattr(relay.nn, name)(x, *rest, **attributes)), target=TARGET)


def as_compiled() -> Iterator[tuple[str, Any]]:
    """Kernels as sessions compile them."""
    import workbench as wb

    layer = session_of("conv2d", (1, 64, 56, 56), (64, 64, 3, 3), padding=1)
    (kernel,) = layer.kernels
    yield "convolution 64, blocks 2 x 8", layer.choose(kernel, "conv2d.blocks", blocks=2, columns=8).schedule(kernel)
    yield "the same, plain", layer.choose(kernel, "conv2d.plain").schedule(kernel)
    network = wb.open(str(NETWORK), target=TARGET)
    for end, told in (("clip", "first"), ("clip_3", "depthwise"), ("clip_19", "last")):
        yield f"EfficientNet-lite0, {told}", network.schedule(f"fused_nn_conv2d_nn_bias_add_{end}")
    for name, shape, weight in (
        ("dense", (256, 512), (512, 512)), ("dense", (1, 1280), (1000, 1280)), ("softmax", (256, 1024), ()),
    ):  # fmt: skip
        found = session_of(name, shape, weight)
        yield f"{name} {' x '.join(map(str, (*shape, *weight[:1])))}", found.schedule(found.kernels[0])


def by_hand() -> Iterator[tuple[str, Any]]:
    """Loops as written, in lanes, and in tiles of registers."""
    from workbench.schedule import Schedule

    yield "product 240, as written", Schedule(matmul(240))
    lanes = Schedule(matmul(240))
    i, j, k = lanes.get_loops("C")
    lanes.reorder(i, k, j)
    lanes.vectorize(lanes.split(j, factors=[None, 16])[1])
    yield "product 240, in lanes", lanes
    tiled = Schedule(matmul(240))
    copy = tiled.cache_write("C", 0, "local")
    i, j, k = tiled.get_loops("C")
    outer, inner = tiled.split(j, factors=[None, 16])
    top, rows = tiled.split(i, factors=[None, 8])
    tiled.reorder(top, outer, k, rows, inner)
    tiled.vectorize(inner)
    tiled.unroll(rows)
    tiled.reverse_compute_at(copy, outer)
    yield "product 240, in tiles of 8", tiled
    yield "softmax 256 x 256, as written", Schedule(softmax())


def main() -> None:
    import workbench as wb
    from workbench.analysis import flops, roofline_path
    from workbench.driver.measure import seconds
    from workbench.runtime import set_num_threads

    set_num_threads(1)
    print(f"{'GFLOP/s of one thread':<32}{'modelled':>10}{'measured':>10}{'ratio':>8}")
    for name, sch in (*as_compiled(), *by_hand()):
        modelled = roofline_path(sch, TARGET).points[-1].rate
        measured = flops(sch) / min(seconds(sch, TARGET) for _ in range(ROUNDS))
        print(f"{name:<32}{modelled / 1e9:>10.3g}{measured / 1e9:>10.3g}{modelled / measured:>8.2f}", flush=True)
    print(f"{'peak':<32}{wb.target.Target(TARGET).nominal_flops() / 1e9:>10.3g}{wb.peak_flops(TARGET) / 1e9:>10.3g}")


if __name__ == "__main__":
    main()
