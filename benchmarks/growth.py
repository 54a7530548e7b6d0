"""What compiling costs when a program grows to twice its size: seconds of processor time, children included.

    python -m benchmarks.growth [NAME...] [--sizes 400 800 1600] [--route relay|session] [--limit SECONDS]

Each build runs in a process of its own with an empty cache; the import of the compiler and one small build before it
do not count.  A ratio above 2.3 from one size to the next is marked.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from itertools import pairwise
from typing import Any

MOST = 2.3


def seconds() -> float:
    """Processor time of this process and of the children that it has waited for."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, kinds))


def child(name: str, size: int, route: str) -> None:
    """Build one program, and print what became of it."""
    from tests.growing import RELAY, TE

    _build(RELAY["elementwise"](2), "relay")  # loads what loads late
    program = (RELAY | TE)[name](size)
    begun = seconds()
    print(json.dumps({"before": begun}), flush=True)
    error = _build(program, "te" if name in TE else route)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(json.dumps({"error": error, "peak": peak}), flush=True)


def _build(program: Any, route: str) -> str:
    """Build by a route; the code of the error that refused it."""
    import workbench as wb
    from workbench import relay

    try:
        if route == "te":
            wb.build(wb.te.create_prim_func(program), target="llvm")
        elif route == "relay":
            relay.build(wb.IRModule.from_expr(program), target="llvm")
        else:
            wb.open(wb.IRModule.from_expr(program)).build()
    except wb.WorkbenchError as error:
        return f"{error.code}: {str(error).splitlines()[0]}"
    return ""


def measure(name: str, size: int, route: str, limit: float) -> dict[str, Any]:
    """One build in a process of its own: seconds of processor time in all (its helpers have ended with it)."""
    command = [sys.executable, "-m", "benchmarks.growth", "--child", name, str(size), route]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "WORKBENCH_CACHE_DIR": folder, "WORKBENCH_PROGRESS": "off"}
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=4 * limit, preexec_fn=_limited(limit)
            )
        except subprocess.TimeoutExpired:
            return {"seconds": float("inf"), "error": "out of time", "peak": 0}
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if len(lines) < 2:
        return {"seconds": float("inf"), "error": f"ended with {done.returncode} {done.stderr[-200:]}", "peak": 0}
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime - lines[0]["before"]
    return {"seconds": spent, **lines[1]}


def _limited(limit: float) -> Any:
    def apply() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 5, int(limit) + 6))

    return apply


def main(names: list[str], sizes: list[int], route: str, limit: float) -> None:
    from tests.growing import RELAY, TE

    print(f"{'program':<20}" + "".join(f"{size:>9}" for size in sizes) + "   ratios", flush=True)
    for name in names or [*RELAY, *TE]:
        spent: list[float] = []
        notes: list[str] = []
        for size in sizes:
            found = measure(name, size, route, limit)
            spent.append(found["seconds"])
            if found["error"]:
                notes.append(found["error"])
            if found["peak"] > 1024:
                notes.append(f"{found['peak']} MiB")
            if found["seconds"] > limit:
                break
        ratios = [after / max(before, 0.01) for before, after in pairwise(spent)]
        marked = " ".join(f"{ratio:.2f}{'!' if ratio > MOST else ''}" for ratio in ratios)
        print(f"{name:<20}" + "".join(f"{value:9.2f}" for value in spent), f"  {marked}", *notes[:1], flush=True)


if __name__ == "__main__":
    if "--child" in sys.argv:
        child(sys.argv[2], int(sys.argv[3]), sys.argv[4])
        raise SystemExit
    parser = argparse.ArgumentParser(description="What compiling costs when programs grow.")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sizes", type=int, nargs="+", default=[400, 800, 1600])
    parser.add_argument("--route", choices=("relay", "session"), default="relay")
    parser.add_argument("--limit", type=float, default=60.0)
    given = parser.parse_args()
    main(given.names, given.sizes, given.route, given.limit)
