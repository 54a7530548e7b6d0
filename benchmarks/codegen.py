"""Code generation against that of another checkout: LLVM's time a kernel, the kernels' speed, builds of whole models.

    git worktree add ../old 4caf3bf
    python -m benchmarks.codegen --against ../old [--rounds N] [SUBJECT...]

Subjects are kernels (`matmul`: 1024 x 1024 by 1024 x 1024; `conv`: 64 to 64 channels, 3 x 3, 56 x 56; weights are
constants) and networks of `benchmarks.subjects`, made by this checkout for both sides.  Both sides run in processes of
their own, in turn; times are of the processor, children included, without a cache of kernels; the least of the rounds
is quoted, since others share the machine.  Modules are read from byte code, as where the package is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
KERNELS = ("matmul", "conv")
MODELS = ("resnet50", "efficientnet_lite0", "minilm")


# --- one side, in a process of its own: it imports the checkout that PYTHONPATH names ---


def child(subject: str, made: str) -> None:
    """Answer each line of standard input with one round's figures; `made` is the folder of a network's files."""
    sys.path[:] = [path for path in sys.path if path != str(HERE.parent)]
    measure = _kernel(subject) if subject in KERNELS else None
    for _ in sys.stdin:
        print(json.dumps(measure() if measure is not None else _model(Path(made))), flush=True)
        if measure is None:
            return  # a build is cold once


def _kernel(subject: str) -> Callable[[], dict[str, float]]:
    """Milliseconds of LLVM for the kernel's module, and of one call of the kernel."""
    import numpy as np

    import workbench as wb
    from workbench.codegen.llvm import machine
    from workbench.runtime import set_num_threads

    set_num_threads(1)
    data = np.random.default_rng(0).standard_normal(_SHAPES[subject]).astype("float32")
    session = wb.open(_program(subject))
    name = next(name for name in session.kernels if name.startswith("fused"))
    job = machine.job_of(session.codegen[name].source("ll"), session.target)
    compiled = session.build()
    compiled.run({"x": data})

    def measure() -> dict[str, float]:
        found = {"LLVM": _time(lambda: machine.compile_job(job)), "run": 1e9}
        for _ in range(5):
            found["run"] = min(found["run"], _time(lambda: compiled.run({"x": data})))
        return found

    return measure


_SHAPES: dict[str, tuple[int, ...]] = {"matmul": (1024, 1024), "conv": (1, 64, 56, 56)}


def _program(subject: str) -> Any:
    import numpy as np

    from workbench import relay
    from workbench.core.module import IRModule

    draw = np.random.default_rng(1).standard_normal
    x = relay.var("x", shape=_SHAPES[subject])
    if subject == "matmul":
        body = relay.nn.dense(x, relay.const(draw((1024, 1024)).astype("float32")))
    else:
        body = relay.nn.conv2d(x, relay.const(draw((64, 64, 3, 3)).astype("float32")), padding=(1, 1))
    return IRModule.from_expr(relay.Function([x], body))


def _model(made: Path) -> dict[str, float]:
    """Milliseconds of a build from the file to linked code, and of code generation alone."""
    import workbench as wb

    shapes = {name: tuple(shape) for name, shape in json.loads((made / "shapes.json").read_text()).items()}
    begun = _processor()
    session = wb.open(str(made / "model.onnx"), shape=shapes)
    session.step(session.labels.index("Codegen") - 1)
    lowered = _processor()
    session.build()
    done = _processor()
    return {"build": (done - begun) * 1e3, "code generation": (done - lowered) * 1e3}


def _time(call: Callable[[], Any]) -> float:
    before = time.process_time()
    call()
    return (time.process_time() - before) * 1e3


def _processor() -> float:
    """Seconds of this process and of all below it, those that still wait for work among them."""
    spent = sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
    ticks = os.sysconf("SC_CLK_TCK")
    for entry in Path("/proc").iterdir() if Path("/proc/self/stat").exists() else ():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split() if entry.name.isdigit() else []
        except OSError:
            continue
        if fields and int(fields[1]) == os.getpid():
            spent += sum(map(int, fields[11:15])) / ticks
    return spent


# --- both sides ---


def _environment(folder: Path, code: str) -> dict[str, str]:
    own = {"PYTHONPATH": str(folder), "WORKBENCH_CACHE": "off", "OMP_NUM_THREADS": "1"}
    return os.environ | own | {"PYTHONPYCACHEPREFIX": code, "PYTHONDONTWRITEBYTECODE": ""}


def _make(subject: str, made: Path) -> None:
    """Write what sides build of a network: the other checkout may not know it, nor have files where we have them."""
    from benchmarks.subjects import subject as named

    model, inputs = named(subject).made()
    (made / "model.onnx").write_bytes(model.SerializeToString())
    (made / "shapes.json").write_text(json.dumps({name: array.shape for name, array in inputs.items()}))


def _start(folder: Path, subject: str, code: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(HERE), "--child", subject, "--made", code],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder, env=_environment(folder, code),
    )  # fmt: skip


def _round(process: subprocess.Popen[str]) -> dict[str, float]:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise SystemExit("one side stopped; see its message above")
    return json.loads(line)


def _measured(sides: dict[str, Path], subject: str, rounds: int, code: str) -> dict[str, dict[str, float]]:
    """By side, the least of each figure."""
    best: dict[str, dict[str, float]] = {side: {} for side in sides}
    running = {side: _start(folder, subject, code) for side, folder in sides.items()} if subject in KERNELS else {}
    for _ in range(rounds):
        for side, folder in sides.items():
            process = running.get(side) or _start(folder, subject, code)
            for name, value in _round(process).items():
                best[side][name] = min(value, best[side].get(name, value))
            if side not in running:
                process.communicate()
    for process in running.values():
        process.communicate()
    return best


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.codegen", description=__doc__)
    options.add_argument("subjects", nargs="*", default=[*KERNELS, *MODELS])
    options.add_argument("--against", type=Path, help="another checkout of the workbench")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--child", help=argparse.SUPPRESS)
    options.add_argument("--made", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.child:
        return child(chosen.child, chosen.made)
    sides = {"here": HERE.parent.parent}
    if chosen.against:
        sides["there"] = chosen.against.resolve()
    print(f"{'':<38}{'here ms':>12}{'there ms':>12}{'ratio':>8}")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as code:  # a helper may still write there
        for folder in sides.values():
            compiling = [sys.executable, "-m", "compileall", "-q", "workbench", "benchmarks", "tests/models.py"]
            subprocess.run(compiling, cwd=folder, env=_environment(folder, code), check=False)
        for subject in chosen.subjects:
            if subject not in KERNELS:
                _make(subject, Path(code))
            best = _measured(sides, subject, chosen.rounds, code)
            for name, value in best["here"].items():
                other = best.get("there", {}).get(name, float("nan"))
                print(f"{subject + ', ' + name:<38}{value:>12.1f}{other:>12.1f}{value / other:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
