"""Real networks from file to native code: against onnxruntime, by eye (espresso, tripod), as text, and verified.

Numbers: within 1e-3 relative + 1e-4 absolute of onnxruntime with its optimisations off.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import workbench as wb
from tests.models import ROOT, find_model, light_input, light_model, model_path, recorded
from workbench.core.equal import same
from workbench.core.module import IRModule
from workbench.driver.text import constants_in, parse, script
from workbench.relay.ir.verify import verify as verify_relay
from workbench.tir.nodes import PrimFunc
from workbench.tir.verify import verify as verify_tir

LITE0 = ROOT / "notebooks" / "data" / "efficientnet_lite0.onnx"
FOUR = ("squeezenet", "resnet50", "efficientnet_lite0", "dnsmos")
LARGE = ("efficientnet_lite0_imagenet", "efficientnet_lite0_imagenet_dynamo")


class Case(NamedTuple):
    """A model, an input, and where onnxruntime reads it from."""

    model: Any
    inputs: dict[str, np.ndarray]


def photo_inputs(path: Path, picture: str = "coffee.png") -> dict[str, np.ndarray]:
    import onnx

    name = onnx.load(str(path), load_external_data=False).graph.input[0].name
    return {name: wb.data.photo(str(ROOT / "notebooks" / "data" / picture), size=224)}


@cache
def case(name: str) -> Case:
    if name in ("squeezenet", "resnet50"):
        return Case(light_model(name), light_input(name))
    if name == "dnsmos":
        return Case(str(model_path("dnsmos_model_v8")), recorded("dnsmos_model_v8")[0])
    path = LITE0 if name == "efficientnet_lite0" else find_model(name)
    if path is None:
        pytest.skip(f"the model {name}.onnx is not here; set WORKBENCH_MODELS to a folder that has it")
    return Case(str(path), photo_inputs(path))


@cache
def session(name: str) -> Any:
    model, inputs = case(name)
    return wb.open(model, shape={key: value.shape for key, value in inputs.items()})


def reference(name: str) -> dict[str, np.ndarray]:
    """onnxruntime's outputs by name; one thread, no optimisation."""
    import onnxruntime as ort

    model, inputs = case(name)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    source = model if isinstance(model, str) else model.SerializeToString()
    runner = ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    return dict(zip([output.name for output in runner.get_outputs()], runner.run(None, inputs), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FOUR, *LARGE])
def test_native_code_agrees_with_onnxruntime(name: str) -> None:
    expected = reference(name)
    found = session(name).run(case(name).inputs)
    assert list(found) == list(expected)
    for key, value in expected.items():
        assert np.ptp(value) > 0 or value.size < 4, f"{key} is constant, which proves nothing"
        np.testing.assert_allclose(found[key], value, rtol=1e-3, atol=1e-4, err_msg=f"output {key} of {name}")


@pytest.mark.parametrize(("picture", "wanted"), [("coffee.png", "espresso"), ("camera.png", "tripod")])
def test_photographs_are_recognised(picture: str, wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_DATA", str(ROOT / "notebooks" / "data"))
    (scores,) = session("efficientnet_lite0").run(photo_inputs(LITE0, picture)).values()
    best = wb.data.top(scores, 3)
    assert best[0][0] == wanted, f"found {best}"


def test_the_photographs_are_prepared_as_the_notice_says() -> None:
    """RGB in 0..1, less the mean, over the deviation; each channel to float32 accuracy."""
    path = str(ROOT / "notebooks" / "data" / "coffee.png")
    found = wb.data.photo(path, size=224)
    pixels = np.asarray(wb.data.image(path, 224), np.float64) / 255
    expected = (pixels - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    assert found.dtype == np.float32 and found.shape == (1, 3, 224, 224)
    np.testing.assert_allclose(found[0], expected.transpose(2, 0, 1), atol=1e-6)


# --- every program of every step ----------------------------------------------------------------------------------


def each_new_function(name: str) -> list[tuple[str, str, Any, IRModule]]:
    """(step, function's name, function, its module) for all functions of all steps, each once."""
    seen: set[int] = set()
    found: list[tuple[str, str, Any, IRModule]] = []
    for step in session(name).steps:
        assert step.error is None, f"{step.name}: {step.error}"
        for key, function in step.after.items():
            if id(function) not in seen:
                seen.add(id(function))
                found.append((step.name, key, function, step.after))
    return found


def failures(name: str, check: Callable[[str, Any, IRModule], None]) -> list[str]:
    """What a check says of each program that fails it."""
    found: list[str] = []
    for step, key, function, module in each_new_function(name):
        try:
            check(key, function, module)
        except (wb.WorkbenchError, AssertionError) as error:
            found.append(f"{name} after {step}, {key}: {str(error)[:300]}")
    return found


def round_trip(key: str, function: Any, module: IRModule) -> None:
    constants = {} if isinstance(function, PrimFunc) else constants_in(IRModule({key: function}))
    read = parse(script(IRModule({key: function})), constants)[key]
    assert same(read, function), "the text reads as another program"


@pytest.mark.slow
@pytest.mark.parametrize("name", FOUR)
def test_every_program_of_every_step_survives_its_text(name: str) -> None:
    wrong = failures(name, round_trip)
    assert not wrong, f"{len(wrong)} programs:\n" + "\n".join(wrong[:5])


def verified(key: str, function: Any, module: IRModule) -> None:
    if isinstance(function, PrimFunc):
        verify_tir(function)
    else:
        violations = verify_relay(IRModule({key: function}))
        assert not violations, "; ".join(map(str, violations))


@pytest.mark.slow
@pytest.mark.parametrize("name", FOUR)
def test_every_program_of_every_step_verifies(name: str) -> None:
    wrong = failures(name, verified)
    assert not wrong, f"{len(wrong)} programs:\n" + "\n".join(wrong[:5])
