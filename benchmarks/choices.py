"""Whether the implementation that a model of costs chooses is the fastest: every candidate and tile of each kernel.

    python -m benchmarks.choices [--kernels N] [--tiles N] [--json FILE] [NETWORK...]

Of each network's distinct kernels, the slowest first: the time of what is chosen, of what was the fastest, and their
ratio; then the geometric mean and the worst.  Of each candidate the tiles that the model likes best are measured, and
some of all the others, in turn, in two rounds; the least time counts.  On one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict, dataclass
from math import exp, log
from pathlib import Path
from typing import Any

NETWORKS = ["resnet50", "squeezenet", "mobilenetv2", "efficientnet_lite0", "minilm"]
"""What is measured unless networks are named."""
ROUNDS = 2


@dataclass(frozen=True)
class Found:
    """One kernel: milliseconds of what is chosen and of the fastest."""

    network: str
    kernel: str
    chosen: str
    chosen_ms: float
    best: str
    best_ms: float
    tried: int

    @property
    def ratio(self) -> float:
        return self.chosen_ms / self.best_ms


def some(every: list[Any], tiles: int) -> list[Any]:
    """The first `tiles`, and as many of the others, from all of them."""
    rest = every[tiles:]
    return every[:tiles] + rest[:: max(1, len(rest) // tiles)][:tiles]


def schedules_of(kernel: Any, function: Any, tiles: int) -> dict[str, Any]:
    """By choice: the schedule of the kernel made so; what is chosen first."""
    from workbench.lower.choosing import candidates, choice_by_hand
    from workbench.lower.kernel import make_kernel
    from workbench.lower.provider import default_provider
    from workbench.schedule.errors import ScheduleError

    made = {str(kernel.choice): default_provider(kernel)}
    for one in candidates(kernel.workload):
        every = [] if one.refusal is not None else one.implementation.priced(kernel.workload)
        for config, _ in some(every, tiles):
            choice = choice_by_hand(kernel.workload, one.implementation.name, config)
            if str(choice) in made:
                continue
            try:
                made[str(choice)] = default_provider(
                    make_kernel(kernel.name, function, kernel.fingerprint, kernel.target, choice)
                )
            except ScheduleError:
                continue  # what is fused around the operator does not fit
    return made


def fastest(schedules: dict[str, Any], target: Any) -> dict[str, float]:
    """Milliseconds by choice."""
    from workbench.driver.measure import measure

    found: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, schedule in schedules.items():
            taken = measure(schedule, target, patience=0.5).seconds * 1e3
            found[name] = min(found.get(name, taken), taken)
    return found


def of_network(network: str, seen: set[str], kernels: int, tiles: int) -> list[Found]:
    import workbench as wb

    from .subjects import subject

    model, inputs = subject(network).made()
    session = wb.open(model, shape={name: value.shape for name, value in inputs.items()})
    lowered = session.step("Lower").stage.lowered
    assert lowered is not None
    functions = {call.kernel: call.relay_call.op for call in lowered.calls}  # type: ignore[attr-defined]
    work = [kernel for kernel in lowered.kernels if kernel.choice is not None and kernel.fingerprint not in seen]
    work.sort(key=lambda kernel: -kernel.choice.implementation.cycles(kernel.workload, kernel.choice.config))  # type: ignore[union-attr]
    found: list[Found] = []
    for kernel in work[:kernels]:
        seen.add(kernel.fingerprint)
        times = fastest(schedules_of(kernel, functions[kernel.name], tiles), session.target)
        best = min(times, key=lambda name: times[name])
        own = str(kernel.choice)
        found.append(Found(network, kernel.name, own, times[own], best, times[best], len(times)))
        one = found[-1]
        print(f"{one.ratio:6.2f}  {one.chosen_ms:8.3f} ms  {one.chosen:<46} {one.best_ms:8.3f} ms  {one.best:<46} "
              f"of {one.tried:<3} {network} {kernel.name[:60]}", flush=True)  # fmt: skip
    return found


def told(name: str, found: list[Found]) -> str:
    mean = exp(sum(log(one.ratio) for one in found) / len(found))
    lost = sum(one.chosen_ms for one in found) / sum(one.best_ms for one in found)
    worst = max(one.ratio for one in found)
    figures = f"{mean:.3f} (geometric mean), {worst:.2f} (worst), {lost:.3f} (all their time)"
    return f"{name}: {len(found)} kernels, chosen over fastest {figures}"


def main() -> int:
    os.environ["WORKBENCH_NUM_THREADS"] = "1"  # else some kernels run on two, as the machine happens to be free
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--kernels", type=int, default=1000, help="of each network, at most")
    tiles = "of each implementation that the model likes best; and as many others"
    parser.add_argument("--tiles", type=int, default=8, help=tiles)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    print(f"{'ratio':>6}  {'taken':>11}  {'what is chosen':<46} {'least':>11}  {'what was the fastest':<46} kernel")
    seen: set[str] = set()
    found: dict[str, list[Found]] = {}
    for network in given.networks:
        found[network] = of_network(network, seen, given.kernels, given.tiles)
    everything = [one for some in found.values() for one in some]
    for name, some in (*found.items(), ("all", everything)):
        if some:
            print(told(name, some))
    if given.json:
        given.json.write_text(json.dumps([asdict(one) for one in everything], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
