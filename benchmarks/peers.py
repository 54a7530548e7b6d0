"""Libraries that run an ONNX model, each in a process of its own, timed in turn.

    with Contest("matmul_512", ("workbench", "onnxruntime"), threads=1) as contest:
        contest.round()   # milliseconds by peer

A process builds its subject once, warms up, then answers rounds: the least of some runs, in milliseconds.  On one
thread the time is that of the process's own (other programs on the machine take no part in it), on several it is the
clock's.  Peers share nothing: two libraries in one process disturb each other's threads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib.util import find_spec
from typing import Any

PEERS = ("workbench", "onnxruntime", "openvino")
"""In the order in which they are timed and printed; those that are not installed are left out."""
SECONDS = 0.3
"""How long a round runs a subject, at the least."""
FEWEST = 5
"""How often a round runs a subject, at the least."""

Run = Callable[[], Any]


def installed(wanted: tuple[str, ...] = PEERS) -> tuple[str, ...]:
    """Those of `wanted` that can be imported here."""
    return tuple(peer for peer in wanted if find_spec(peer) is not None)


def version(peer: str) -> str:
    from importlib import metadata

    return metadata.version({"workbench": "compiler-workbench"}.get(peer, peer))


class Stopped(Exception):
    """A peer's process ended on a subject."""


class Contest:
    """One subject in one process for each peer; a context manager that ends them."""

    def __init__(self, subject: str, peers: tuple[str, ...], threads: int = 1) -> None:
        self.subject, self.peers, self.threads = subject, peers, threads
        self.built: dict[str, dict[str, float]] = {}
        self._processes: dict[str, subprocess.Popen[str]] = {}

    def round(self) -> dict[str, float]:
        """Milliseconds of the subject by peer, timed in turn."""
        return {peer: self._asked(peer)["best"] for peer in self._processes}

    def _asked(self, peer: str) -> dict[str, float]:
        stdin = self._processes[peer].stdin
        assert stdin is not None
        stdin.write("go\n")
        stdin.flush()
        return self._answer(peer)

    def _answer(self, peer: str) -> dict[str, float]:
        stdout = self._processes[peer].stdout
        assert stdout is not None
        for line in stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise Stopped(f"{peer} stopped on {self.subject}; its message is above")

    def __enter__(self) -> Contest:
        """Starts the processes one after another and waits until each has built.  Raises `Stopped` if one ends."""
        with ExitStack() as stack:
            stack.push(self.__exit__)
            for peer in self.peers:
                self._processes[peer] = _started(peer, self.subject, self.threads)
                self.built[peer] = self._answer(peer)
            stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()


def _started(peer: str, subject: str, threads: int) -> subprocess.Popen[str]:
    one = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")} | {"WORKBENCH_CACHE": "off"}
    command = [sys.executable, "-m", "benchmarks.peers", peer, subject, str(threads)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=os.environ | one)


# --- in the process of a peer ---------------------------------------------------------------------------------------


def serve(peer: str, name: str, threads: int) -> None:
    """Build a subject, then answer a round for each line of standard input."""
    from tests.conformance.models import cpu_seconds

    from .memory import MEGABYTE, high_water
    from .subjects import subject

    model, inputs = subject(name).made()
    started = cpu_seconds()
    run = RUNS[peer](model, inputs, threads)
    built = cpu_seconds() - started
    run()
    print(json.dumps({"build": built, "memory": high_water() / MEGABYTE}), flush=True)
    clock = time.process_time if threads == 1 else time.perf_counter
    for _ in sys.stdin:
        times: list[float] = []
        begun = time.perf_counter()
        while len(times) < FEWEST or time.perf_counter() - begun < SECONDS:
            before = clock()
            run()
            times.append(clock() - before)
        print(json.dumps({"best": min(times) * 1000}), flush=True)


def _workbench(model: Any, inputs: dict[str, Any], threads: int) -> Run:
    import workbench as wb
    from workbench.runtime import set_num_threads

    set_num_threads(threads)
    session = wb.open(model, shape={name: array.shape for name, array in inputs.items()})
    compiled = session.build()
    return lambda: compiled.run(inputs)


def _onnxruntime(model: Any, inputs: dict[str, Any], threads: int) -> Run:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)


def _openvino(model: Any, inputs: dict[str, Any], threads: int) -> Run:
    import openvino

    core = openvino.Core()
    read = core.read_model(model.SerializeToString())
    read.reshape({name: list(array.shape) for name, array in inputs.items()})
    settings = {
        "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }  # fmt: skip
    request = core.compile_model(read, "CPU", settings).create_infer_request()
    tensors = {name: openvino.Tensor(array) for name, array in inputs.items()}
    return lambda: request.infer(tensors, share_inputs=True, share_outputs=True)


RUNS: dict[str, Callable[[Any, dict[str, Any], int], Run]] = {
    "workbench": _workbench,
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
}


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], int(sys.argv[3]))
