"""The lesson's matrix product against the multiply-add peak of the same run, one thread.

    python -m benchmarks.matmul [--rounds N]

Each round runs the code of notebooks/11_matmul_to_peak.ipynb in a fresh process, peak and schedules in turn, and
multiplies the same matrices with NumPy's own library on one thread.  Prints medians of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parent.parent / "notebooks" / "11_matmul_to_peak.ipynb"


def child() -> None:
    """Run the lesson once; its table as JSON on the last line, FLOP/s by step."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    scope: dict[str, Any] = {"display": lambda *_: None}  # what a notebook adds to Python
    for number, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), scope)
    import workbench as wb

    rows = {"the peak": wb.peak_flops(), **scope["table"], "numpy": _numpy(scope["a"], scope["b"])}
    print("\n" + json.dumps(rows))


def _numpy(a: Any, b: Any) -> float:
    times: list[float] = []
    for _ in range(10):
        started = time.perf_counter()
        a @ b
        times.append(time.perf_counter() - started)
    return 2 * a.shape[0] ** 3 / min(times)


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.matmul", description=__doc__)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.child:
        return child()
    rounds: list[dict[str, float]] = []
    for _ in range(chosen.rounds):
        ran = subprocess.run(
            [sys.executable, "-m", "benchmarks.matmul", "--child"],
            check=True, capture_output=True, text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        rounds.append(json.loads(ran.stdout.splitlines()[-1]))
    for name in rounds[0]:
        speed = statistics.median(row[name] for row in rounds)
        share = statistics.median(row[name] / row["the peak"] for row in rounds)
        print(f"{name:<34}{speed / 1e9:9.1f} GFLOP/s {share:8.1%} of one thread's peak")


if __name__ == "__main__":
    main()
