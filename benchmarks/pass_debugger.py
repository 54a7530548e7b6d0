"""The pass debugger on a real network: a bug planted in its 2nd, its 6th and its last pass, seconds and memory.

    python -m benchmarks.pass_debugger [--model NAME] [--passes InferType ...]

Each time a fresh process opens the model, plants a wrong rule after the rules of a pass, and checks all steps beside a
loop that stands for the screen.  Printed: seconds until every step has its badge and until the first wrong rewrite is
named after that; how long the loop had to wait at most and at the 95th percentile; the memory by which this process
grew, the most that its children had, and the most of both together.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

LIMITS = {"badges": 15.0, "rewrite": 5.0, "mebibytes": 400.0}
"""Seconds until all badges are there, from there to the first wrong rewrite, and memory of the check in all."""


def models_folder() -> Path:
    return Path(os.environ.get("WORKBENCH_MODELS", Path(__file__).resolve().parents[1].parent / "shared" / "models"))


def planted(name: str) -> Any:
    """The pass of this name with a rule after its own that drops biases."""
    from workbench.core.rewrite import RuleTable
    from workbench.core.transform import PASSES, Pass, PassInfo
    from workbench.relay.ir.expr import Function
    from workbench.relay.patterns import any_, op
    from workbench.relay.transforms.rules import apply_rules

    table, good = RuleTable("planted"), PASSES[name]()

    @table.rule("drop-bias", op("nn.bias_add", any_("x"), any_("bias")))
    def drop_bias(m: Any) -> Any:
        """A bias is nothing, which is wrong."""
        return m["x"]

    def run(module: Any, context: Any) -> Any:
        made = good(module)
        return made.with_functions(
            {name: apply_rules(f, table) if isinstance(f, Function) else f for name, f in made.items()}
        )

    return Pass(PassInfo(f"Planted{name}"), run, {})


class Sampler:
    """The most resident memory of this process and of its children, in MiB, looked at every 20 ms."""

    def __init__(self) -> None:
        self.begun = self.own = resident(os.getpid())
        self.children = self.together = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(0.02):
            own, children = resident(os.getpid()), min(_of_children() for _ in range(4))
            self.own, self.children = max(self.own, own), max(self.children, children)
            self.together = max(self.together, own - self.begun + children)

    def close(self) -> None:
        self._stop.set()
        self._thread.join()


def _of_children() -> float:
    """Of several looks the least counts: a child has its parent's memory until it runs its own program (`vfork`)."""
    time.sleep(0.003)
    return sum(map(resident, descendants(os.getpid())))


def resident(process: int) -> float:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def descendants(process: int) -> list[int]:
    found: list[int] = []
    waiting = [process]
    while waiting:
        current = waiting.pop()
        for task in Path(f"/proc/{current}/task").glob("*/children"):
            try:
                own = [int(word) for word in task.read_text().split()]
            except OSError:
                continue
            found += own
            waiting += own
    return found


def measured(model: str, label: str) -> dict[str, Any]:
    """One planted bug, in this process."""
    import workbench as wb

    path = models_folder() / f"{model}.onnx"
    stored = np.load(f"{path}.io.npz")
    inputs = {key[4:]: stored[key] for key in stored.files if key.startswith("in__")}
    shape = {name: array.shape for name, array in inputs.items()}
    session = wb.open(str(path), shape=shape)
    session = session.rerun(replace={label: planted(label.partition("#")[0])})
    sampler = Sampler()
    begin = time.perf_counter()
    check = session.check(inputs)
    waits: list[float] = []
    while check.state == "running":
        asked = time.perf_counter()
        time.sleep(0.005)
        waits.append(time.perf_counter() - asked - 0.005)
    badges = time.perf_counter() - begin
    wrong = check.first_wrong
    begin = time.perf_counter()
    found = check.narrow() if wrong is not None else None
    rewrite = time.perf_counter() - begin
    sampler.close()
    return {
        "pass": label, "wrong": wrong, "rule": found.rule if found else "", "badges": badges, "rewrite": rewrite,
        "longest": max(waits), "95th": float(np.percentile(waits, 95)),
        "grown": sampler.own - sampler.begun, "children": sampler.children,
        "together": sampler.together,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="efficientnet_lite0_imagenet_dynamo")
    parser.add_argument("--passes", nargs="*", default=["SimplifyInference", "FoldConstant#2", "FuseOps"])
    parser.add_argument("--one", action="store_true", help="measure the one pass in this process, and print JSON")
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(measured(chosen.model, chosen.passes[0])))
        return
    if not (models_folder() / f"{chosen.model}.onnx").is_file():
        sys.exit(f"{chosen.model}.onnx is not in {models_folder()}: set WORKBENCH_MODELS")
    heads = f"{'pass':<20}{'first wrong':<26}{'rule':<12}{'badges s':>9}{'rewrite s':>10}"
    print(f"{heads}{'longest ms':>11}{'95th ms':>9}{'grown MiB':>10}{'children':>9}{'together':>9}", flush=True)
    for label in chosen.passes:
        command = [
            sys.executable,
            "-m",
            "benchmarks.pass_debugger",
            "--one",
            "--model",
            chosen.model,
            "--passes",
            label,
        ]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(run.stdout.splitlines()[-1])
        print(
            f"{label:<20}{found['wrong'] or 'none':<26}{found['rule']:<12}{found['badges']:>9.1f}"
            f"{found['rewrite']:>10.2f}{found['longest'] * 1e3:>11.0f}{found['95th'] * 1e3:>9.1f}"
            f"{found['grown']:>10.0f}{found['children']:>9.0f}{found['together']:>9.0f}",
            flush=True,
        )
    print(", ".join(f"{name} at most {limit:g}" for name, limit in LIMITS.items()))


if __name__ == "__main__":
    main()
