"""The time that `import workbench` adds to bare Python: medians of child processes, in turn."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time


def once(code: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - started


def main(rounds: int = 15) -> None:
    once("import workbench")
    pairs = [(once("import workbench"), once("pass")) for _ in range(rounds)]
    added = statistics.median(with_it - bare for with_it, bare in pairs)
    print(f"import workbench: {added * 1000:.0f} ms over bare Python")


if __name__ == "__main__":
    main()
