"""Memory that further sessions of EfficientNet-lite0 retain beside a first one, in megabytes of resident memory.

    python -m benchmarks.sessions

Each is compiled and shown once (graph, kernels, a kernel's schedule with its links), and kept.
"""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import psutil

import workbench as wb
from workbench.ui.workbench import Workbench

NETWORK = Path(__file__).resolve().parents[1] / "notebooks" / "data" / "efficientnet_lite0.onnx"
WANTED = 40.0
"""Megabytes."""


def resident() -> float:
    gc.collect()
    return float(psutil.Process().memory_info().rss) / 1e6


def used(session: Any) -> Any:
    """The session, compiled and shown."""
    screen, kernel = Workbench(session), session.kernels[0]
    asked: list[tuple[str, dict[str, Any]]] = [
        ("open", {}), ("graph", {"layer": "fused", "opened": [], "step": ""}), ("kernels", {}),
        ("pane", {"layer": "schedule", "kernel": kernel}), ("links", {"kernel": kernel}), ("pipeline.open", {}),
    ]  # fmt: skip
    for op, args in asked:
        assert screen.ask(op, **args).content["ok"], op
    session.build()
    return screen


def main() -> None:
    first = wb.open(str(NETWORK))
    kept = [used(first)]
    print(f"first session: {resident():.0f} MB in all")
    kernel = first.kernels[2]
    schedule = first.schedule(kernel)
    schedule.moves.back()
    further = {
        "opened again": lambda: wb.open(str(NETWORK)), "opened once more": lambda: wb.open(str(NETWORK)),
        "a third time": lambda: wb.open(str(NETWORK)), "a pass left out": lambda: first.without("SimplifyExpr"),
        "another schedule": lambda: first.edit(schedule={kernel: schedule}),
    }  # fmt: skip
    for name, make in further.items():
        before = resident()
        kept.append(used(make()))
        print(f"{name:<18} {resident() - before:6.1f} MB (wanted {WANTED:.0f})")


if __name__ == "__main__":
    main()
