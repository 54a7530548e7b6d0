"""Peak memory of compiling a model whose weights are large, against the size of the weights.

    python -m benchmarks.memory [MODEL] [--via session|build|bytes]

A child writes the model with seeded weights to a file (light models of the onnx package, vgg19 unless said otherwise);
another compiles and runs that file, and reads its own high-water mark of resident memory from the kernel.  The figure
counts the helper processes that compile code as well, each with its own mark.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

MEGABYTE = 1 << 20


def write(name: str, path: str) -> None:
    """Write a light model with seeded weights, an input and onnxruntime's output; answers the bytes of its weights."""
    import math

    import numpy as np
    import onnx

    from tests.conformance.models import onnxruntime_outputs
    from tests.models import light_input, light_model

    proto, inputs = light_model(name), light_input(name)
    onnx.save(proto, path)
    (output,) = onnxruntime_outputs(path, inputs).values()
    np.savez(f"{path}.npz", expected=output, **{f"in__{key}": value for key, value in inputs.items()})
    print(json.dumps({"weights": sum(4 * math.prod(tensor.dims) for tensor in proto.graph.initializer)}))


def measure(path: str, via: str) -> None:
    """Compile and run the file in this process; answers bytes of resident memory."""
    import numpy as np

    import workbench as wb

    before = high_water()
    helpers: dict[int, int] = {}
    threading.Thread(target=watch, args=(helpers,), daemon=True).start()
    compiled: Any
    if via == "build":
        module, params = wb.relay.frontend.from_onnx(path)
        compiled = wb.relay.build(module, target="llvm", params=params)
    else:
        compiled = wb.open(Path(path).read_bytes() if via == "bytes" else path).build()
    built = high_water()
    with np.load(f"{path}.npz") as stored:
        inputs = {key[4:]: stored[key] for key in stored.files if key.startswith("in__")}
        (found,) = compiled.run(inputs).values()
        allowed = 1e-4 + 1e-3 * np.abs(stored["expected"])
        used = float(np.max(np.abs(found - stored["expected"]) / allowed))
    answer = {"before": before, "built": built, "run": high_water(), "helpers": sum(helpers.values())}
    print(json.dumps({**answer, "used": used}))


def watch(marks: dict[int, int]) -> None:
    """Note the high-water mark of every child, over and over."""
    while True:
        for child in children():
            marks[child] = max(marks.get(child, 0), high_water(child))
        time.sleep(0.05)


def children() -> list[int]:
    """Processes that this one started and that still run.

    The kernel's own figure for ended children (ru_maxrss) cannot be used: a child starts with its parent's mark.
    """
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        if int(fields[1]) == os.getpid():
            found.append(int(folder.name))
    return found


def high_water(process: int | str = "self") -> int:
    """The most bytes that a process has had resident."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0  # it ended meanwhile
    for line in text.splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return 0


def compile_peak(name: str = "vgg19", via: str = "session") -> dict[str, Any]:
    """The measured bytes: weights, before, built, run, helpers; `ratio`, the peak over the weights; and `used`, the
    part of the tolerance (1e-3 relative + 1e-4 absolute) that the output used."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / f"{name}.onnx")
        weights = _child("--write", name, path)["weights"]
        found = _child("--measure", path, via)
    peak = found["run"] + found["helpers"]
    return {**found, "weights": weights, "peak": peak, "ratio": peak / weights}


def _child(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.memory", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", nargs="?", default="vgg19")
    parser.add_argument("--via", choices=("session", "build", "bytes"), default="session")
    parser.add_argument("--write", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.write:
        return write(*chosen.write)
    if chosen.measure:
        return measure(*chosen.measure)
    found = compile_peak(chosen.model, chosen.via)
    for key in ("weights", "before", "built", "run", "helpers", "peak"):
        print(f"{key:<8}{found[key] / MEGABYTE:>9.0f} MB")
    print(f"part of the tolerance used by the output: {found['used']:.4f}")
    print(f"peak over weights: {found['ratio']:.2f}")
    return None


if __name__ == "__main__":
    main()
