"""Whole real models, compiled, against onnxruntime with its optimisations off: the table of verdicts.

    python -m tests.conformance.models [-v] [--steps] [MODEL...]

A line is a model at one input shape: how much of the tolerance (1e-3 relative + 1e-4 absolute) the worst element of
all outputs used (above 1 is a wrong result), the relative error of the worst output as a whole (above 1e-3 is one,
too: scores of 0.001 pass the first test too easily), seconds of CPU to import and build, and kernels.  `--steps` also
reads every step's text back and runs the verifiers.
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.models import LIGHT, find_model, light_input, light_model, recorded_in

RELATIVE, ABSOLUTE = 1e-3, 1e-4

REAL: dict[str, tuple[dict[str, tuple[int, ...]], ...]] = {
    "efficientnet_lite0_imagenet": ({}, {"x": (1, 3, 224, 224)}),
    "efficientnet_lite0_imagenet_dynamo": ({},),
    "ch_ppocr_mobile_v2.0_cls_infer": ({}, {"x": (1, 3, 48, 100)}),
    "ch_PP-OCRv4_det_infer": ({}, {"x": (1, 3, 96, 160)}),
    "dnsmos_model_v8": ({}, {"input_1": (3, 900, 120)}),
    "magika_standard_v3_3": ({}, {"bytes": (4, 2048)}),
    "basic_pitch_nmp": ({}, {"serving_default_input_2:0": (2, 43844, 1)}),
    "minilm_l6_fp32": ({}, dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), (2, 33))),
    "resemblyzer_lstm": ({"mels": (2, 40, 40)}, {}),
    "silero_vad_16k_sequence": ({}, {"input": (3, 576)}),
    "silero_vad_16k_op15": ({}, {"input": (2, 576), "state": (2, 2, 128)}),
}
"""Input shapes that each real model is tried at; {} is the recorded one."""


@dataclass(frozen=True)
class ModelCase:
    """A model at one input shape."""

    name: str
    number: int = 0

    @property
    def label(self) -> str:
        return self.name if not self.number else f"{self.name}@{self.number}"

    @property
    def here(self) -> bool:
        return self.name in LIGHT or find_model(self.name) is not None

    def load(self) -> tuple[Any, dict[str, np.ndarray]]:
        """The model (a path, or a ModelProto with seeded weights) and its inputs."""
        if self.name in LIGHT:
            return light_model(self.name), light_input(self.name)
        path = find_model(self.name)
        if path is None:
            raise FileNotFoundError(f"the model {self.name}.onnx is not here; set WORKBENCH_MODELS to its folder")
        inputs, _ = recorded_in(path)
        shapes = REAL[self.name][self.number]
        return str(path), {key: tiled(value, shapes.get(key, value.shape)) for key, value in inputs.items()}


def model_cases(names: tuple[str, ...] = ()) -> tuple[ModelCase, ...]:
    """All cases, or those of the named models."""
    every = [ModelCase(name) for name in LIGHT]
    every += [ModelCase(name, number) for name, shapes in REAL.items() for number in range(len(shapes))]
    return tuple(case for case in every if not names or case.name in names or case.label in names)


def tiled(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Real data of another shape: repeated, then cut, along every axis."""
    repeats = [-(-want // have) for want, have in zip(shape, array.shape, strict=True)]
    return np.asarray(np.tile(array, repeats)[tuple(map(slice, shape))], order="C")


def onnxruntime_outputs(model: Any, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """onnxruntime's outputs by name; one thread, no optimisation."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    source = model if isinstance(model, str) else model.SerializeToString()
    runner = ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    return dict(zip([output.name for output in runner.get_outputs()], runner.run(None, dict(inputs)), strict=True))


def tolerance_used(found: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> float:
    """The largest |found - expected| / (1e-4 + 1e-3 |expected|); infinite where names, shapes or dtypes differ."""
    if list(found) != list(expected):
        return float("inf")
    worst = 0.0
    for key, value in expected.items():
        mine = found[key]
        if mine.shape != value.shape or mine.dtype != value.dtype:
            return float("inf")
        if value.size:
            allowed = ABSOLUTE + RELATIVE * np.abs(value.astype(np.float64))
            used = np.abs(mine.astype(np.float64) - value.astype(np.float64)) / allowed
            worst = max(worst, float("inf") if np.isnan(used).any() else float(used.max()))
    return worst


def says_something(value: np.ndarray) -> bool:
    """Whether a reference proves anything: finite, not constant, and no softmax that is one 1.0 and zeros."""
    if not np.isfinite(value).all() or (value.size > 3 and np.ptp(value) == 0):
        return False
    scores = value.size > 3 and bool(np.all(value >= 0)) and abs(float(value.sum()) - 1) < 1e-3
    return not scores or int((value > ABSOLUTE).sum()) > 2


def relative_error(found: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> float:
    """The largest |found - expected| / |expected| (Euclidean) of all outputs: also sees errors in scores of 0.001."""
    worst = 0.0
    for key, value in expected.items():
        wanted = value.astype(np.float64)
        size = float(np.linalg.norm(wanted)) or 1.0
        worst = max(worst, float(np.linalg.norm(found[key].astype(np.float64) - wanted)) / size)
    return worst


# --- every program of every step ----------------------------------------------------------------------------------


def each_new_function(session: Any) -> Iterator[tuple[str, str, Any]]:
    """(step, function's name, function) for all functions of all steps, each once."""
    seen: set[int] = set()
    for step in session.steps:
        if step.error is not None:
            raise step.error
        for key, function in step.after.items():
            if id(function) not in seen:
                seen.add(id(function))
                yield step.name, key, function


def failures(session: Any, check: Callable[[str, Any], None]) -> list[str]:
    """What a check says of each program that fails it."""
    from workbench.core.errors import WorkbenchError

    found: list[str] = []
    for step, key, function in each_new_function(session):
        try:
            check(key, function)
        except (WorkbenchError, AssertionError) as error:
            found.append(f"after {step}, {key}: {str(error)[:300]}")
    return found


def round_trip(key: str, function: Any) -> None:
    """The text of a function reads as the same function."""
    from workbench.core.equal import same
    from workbench.core.module import IRModule
    from workbench.driver.text import constants_in, parse, script
    from workbench.tir.nodes import PrimFunc

    constants = {} if isinstance(function, PrimFunc) else constants_in(IRModule({key: function}))
    read = parse(script(IRModule({key: function})), constants)[key]
    assert same(read, function), "the text reads as another program"


def verified(key: str, function: Any) -> None:
    """The verifier of its level has nothing to say of a function."""
    from workbench.core.module import IRModule
    from workbench.relay.ir.verify import verify as verify_relay
    from workbench.tir.nodes import PrimFunc
    from workbench.tir.verify import verify as verify_tir

    if isinstance(function, PrimFunc):
        verify_tir(function)
    else:
        violations = verify_relay(IRModule({key: function}))
        assert not violations, "; ".join(map(str, violations))


# --- the table ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """What became of one case."""

    label: str
    used: float
    relative: float
    build: float
    kernels: int
    problem: str = ""

    @property
    def passed(self) -> bool:
        return self.used <= 1 and self.relative <= RELATIVE and not self.problem


def cpu_seconds() -> float:
    """CPU time of this process and of the children it has waited for."""
    spent = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in spent)


def judge(case: ModelCase, steps: bool = False, verbose: bool = False) -> Verdict:
    """Build, run and compare one case."""
    import workbench as wb

    if not case.here:
        return Verdict(case.label, 0.0, 0.0, 0.0, 0, "absent")
    model, inputs = case.load()
    expected = onnxruntime_outputs(model, inputs)
    begun = cpu_seconds()
    session = wb.open(model, shape={key: value.shape for key, value in inputs.items()})
    compiled = session.build()
    build = cpu_seconds() - begun
    found = compiled.run(inputs)
    used = tolerance_used(found, expected)
    relative = relative_error(found, expected) if used < float("inf") else float("inf")
    problem = "" if all(says_something(value) for value in expected.values()) else "reference says nothing"
    if steps:
        begun = cpu_seconds()
        wrong = [*failures(session, round_trip), *failures(session, verified)]
        problem = f"{len(wrong)} programs: {wrong[0]}" if wrong else problem
        if verbose:
            print(f"    all steps as text and verified: {cpu_seconds() - begun:.1f} s")
    if verbose:
        slowest = sorted(session.steps, key=lambda step: -step.milliseconds)[:6]
        print("   ", ", ".join(f"{step.name} {step.milliseconds / 1000:.1f} s" for step in slowest))
    return Verdict(case.label, used, relative, build, len(session.steps[-1].after) - 1, problem)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("-v", "--verbose", action="store_true", help="the slowest steps of each")
    parser.add_argument("--steps", action="store_true", help="also texts and verifiers of all steps")
    chosen = parser.parse_args()
    print(f"{'model':<40}{'tolerance used':>15}{'relative':>10}{'build s':>9}{'kernels':>9}  problem")
    verdicts: list[Verdict] = []
    for case in model_cases(tuple(chosen.models)):
        try:
            found = judge(case, chosen.steps, chosen.verbose)
        except Exception as error:  # the point of the table is to list these
            found = Verdict(case.label, float("inf"), float("inf"), 0.0, 0, f"{type(error).__name__}: {error}"[:400])
        verdicts.append(found)
        numbers = f"{found.used:>15.4f}{found.relative:>10.1e}{found.build:>9.1f}{found.kernels:>9}"
        print(f"{found.label:<40}{numbers}  {found.problem}", flush=True)
    passed = sum(item.passed for item in verdicts)
    print(f"{passed} of {len(verdicts)} within {RELATIVE} relative + {ABSOLUTE} absolute")
    sys.exit(0 if passed == len(verdicts) else 1)


if __name__ == "__main__":
    main()
