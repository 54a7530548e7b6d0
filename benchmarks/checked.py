"""What checked mode costs: bounds checked and memory poisoned, against the same code without, in the same process.

    python -m benchmarks.checked [--rounds N]

Each round runs both in turn; the ratio is the median over the rounds of processor time.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

LIMIT = 3.0
"""Checked mode may take so many times as long."""


def programs() -> dict[str, tuple[Any, dict[str, np.ndarray]]]:
    """Relay functions by name, with inputs."""
    from workbench import relay

    random = np.random.default_rng(0)
    a, b = (relay.var(name, shape=(384, 384)) for name in "ab")
    x, w = relay.var("x", shape=(1, 64, 56, 56)), relay.var("w", shape=(64, 64, 3, 3))
    depthwise = relay.var("w", shape=(64, 1, 3, 3))

    def drawn(*variables: Any) -> dict[str, np.ndarray]:
        return {
            each.name_hint: random.standard_normal(each.type_annotation.concrete_shape).astype("float32")
            for each in variables
        }

    conv = relay.nn.relu(relay.nn.conv2d(x, w, channels=64, kernel_size=(3, 3), padding=(1, 1)))
    grouped = relay.nn.conv2d(x, depthwise, channels=64, groups=64, kernel_size=(3, 3), padding=(1, 1))
    return {
        "dense 384": (relay.Function([a, b], relay.nn.dense(a, b)), drawn(a, b)),
        "conv2d 64x56x56": (relay.Function([x, w], conv), drawn(x, w)),
        "depthwise 64x56x56": (relay.Function([x, depthwise], grouped), drawn(x, depthwise)),
    }


def built(function: Any, inputs: dict[str, np.ndarray], checked: bool) -> Callable[[], Any]:
    """One call of the compiled function."""
    from workbench import relay
    from workbench.core.transform import PassContext

    config = {"tir.instrument_bound_checkers": True} if checked else {}
    with PassContext(opt_level=3, config=config):
        model = relay.build(function)
    return lambda: model.run(inputs)


def ratio(function: Any, inputs: dict[str, np.ndarray], rounds: int) -> float:
    """Processor time of checked mode over that of the plain code."""
    calls = [built(function, inputs, checked) for checked in (True, False)]
    for call in calls:
        call()
    found: list[float] = []
    for _ in range(rounds):
        times = []
        for call in calls:
            begin = time.process_time()
            for _ in range(5):
                call()
            times.append(time.process_time() - begin)
        found.append(times[0] / times[1])
    return statistics.median(found)


def main() -> None:
    from workbench.runtime import set_num_threads

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    chosen = parser.parse_args()
    set_num_threads(1)
    print(f"{'program':<22}{'checked / plain':>16}")
    for name, (function, inputs) in programs().items():
        print(f"{name:<22}{ratio(function, inputs, chosen.rounds):>16.2f}", flush=True)


if __name__ == "__main__":
    main()
