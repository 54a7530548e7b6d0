"""Whole models, one thread, against onnxruntime: separate processes, in turn; the geometric mean of the ratios.

    python -m benchmarks.models [--all] [--build] [--rounds N] [MODEL...]

Each child builds its model once, warms up, then answers rounds: it prints the median of some runs in
milliseconds of CPU time.  Build times are seconds of CPU time, helper processes excluded while they wait for more.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from math import exp, log
from typing import Any

MODELS = ("squeezenet", "resnet50", "efficientnet_lite0", "dnsmos")
"""What is measured unless models are named; the rest with --all."""
FILES = {
    "efficientnet_lite0": "efficientnet_lite0_imagenet_dynamo",
    "efficientnet_lite0_old": "efficientnet_lite0_imagenet",
    "dnsmos": "dnsmos_model_v8",
    "ocr_cls": "ch_ppocr_mobile_v2.0_cls_infer",
    "ocr_det": "ch_PP-OCRv4_det_infer",
    "magika": "magika_standard_v3_3",
    "basic_pitch": "basic_pitch_nmp",
    "minilm": "minilm_l6_fp32",
    "silero_sequence": "silero_vad_16k_sequence",
    "silero_op15": "silero_vad_16k_op15",
    "resemblyzer": "resemblyzer_lstm",
}
"""Real models by short name."""
PEERS = ("workbench", "onnxruntime")


def child(peer: str, name: str) -> None:
    """Serve rounds on standard input until it closes."""
    from tests.conformance.models import cpu_seconds

    model, inputs = _model_and_inputs(name)
    started = cpu_seconds()
    run = {"workbench": _workbench, "onnxruntime": _onnxruntime}[peer](model, inputs)
    built = cpu_seconds() - started
    run()
    print(json.dumps({"build": built}), flush=True)
    for _ in sys.stdin:
        times = []
        begun = time.perf_counter()
        while len(times) < 5 or time.perf_counter() - begun < 0.5:
            before = time.process_time()  # of one thread: other programs on the machine take no part in it
            run()
            times.append(time.process_time() - before)
        print(json.dumps({"median": statistics.median(times) * 1000}), flush=True)


def _model_and_inputs(name: str) -> tuple[Any, dict[str, Any]]:
    """A light model with seeded weights, or a real one from its file with recorded inputs."""
    import onnx

    from tests.models import LIGHT, find_model, light_input, light_model, recorded

    if name in LIGHT:
        return light_model(name), light_input(name)
    file = FILES.get(name, name)
    path = find_model(file)
    if path is None:
        raise SystemExit(f"the model {file}.onnx is not here; set WORKBENCH_MODELS to a folder that has it")
    return onnx.load(path), recorded(file)[0]


def _workbench(model: Any, inputs: dict[str, Any]) -> Any:
    import workbench as wb
    from workbench.runtime import set_num_threads

    set_num_threads(1)
    session = wb.open(model, shape={name: array.shape for name, array in inputs.items()})
    compiled = session.build()
    return lambda: compiled.run(inputs)


def _onnxruntime(model: Any, inputs: dict[str, Any]) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)


def _start(peer: str, name: str) -> tuple[subprocess.Popen[str], float]:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.models", "--child", peer, name]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    return process, float(_answer(process)["build"])


def _answer(process: subprocess.Popen[str]) -> dict[str, float]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit("a peer stopped; see its message above")
    return json.loads(line)


def _round(process: subprocess.Popen[str]) -> float:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    return _answer(process)["median"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--all", action="store_true", help="the nine light models and all real ones")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--build", action="store_true", help="print build times")
    parser.add_argument("--child", nargs=2, metavar=("PEER", "MODEL"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        child(*chosen.child)
        return
    if chosen.all:
        from tests.models import LIGHT

        chosen.models = [*LIGHT, *FILES]
    ratios: list[float] = []
    print(f"{'model':<22}{'workbench ms':>14}{'onnxruntime ms':>16}{'ratio':>8}{'build s':>10}")
    for name in chosen.models:
        started = {peer: _start(peer, name) for peer in PEERS}
        rounds = [tuple(_round(started[peer][0]) for peer in PEERS) for _ in range(chosen.rounds)]
        for process, _ in started.values():
            process.kill()
            process.wait()
        ratio = statistics.median(ours / theirs for ours, theirs in rounds)
        ratios.append(ratio)
        ours, theirs = (statistics.median(values) for values in zip(*rounds, strict=True))
        build = f"{started['workbench'][1]:>10.1f}" if chosen.build else ""
        print(f"{name:<22}{ours:>14.2f}{theirs:>16.2f}{ratio:>8.2f}{build}", flush=True)
    print(f"geometric mean of the ratios: {exp(sum(map(log, ratios)) / len(ratios)):.2f}")


if __name__ == "__main__":
    main()
