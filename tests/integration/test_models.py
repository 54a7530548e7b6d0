"""Real networks from file to native code: against onnxruntime, by eye (espresso, tripod), as text, and verified.

The nine light models with seeded weights (vgg19: test_memory.py) and the real ones, dynamic ones at several shapes.
Numbers: within 1e-3 relative + 1e-4 absolute of onnxruntime with its optimisations off.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.conformance.models import (
    RELATIVE,
    ModelCase,
    failures,
    model_cases,
    onnxruntime_outputs,
    relative_error,
    round_trip,
    says_something,
    tolerance_used,
    verified,
)
from tests.models import ROOT

LITE0 = ROOT / "notebooks" / "data" / "efficientnet_lite0.onnx"
IN_TEST_MEMORY = "vgg19"
NIGHTLY = (
    "resemblyzer_lstm", "inception_v1", "inception_v2", "zfnet512", "shufflenet", "bvlc_alexnet", "densenet121",
    "ch_PP-OCRv4_det_infer", "ch_ppocr_mobile_v2.0_cls_infer", "efficientnet_lite0_imagenet_dynamo",
    "silero_vad_16k_op15", "squeezenet", "basic_pitch_nmp", "dnsmos_model_v8",
)
"""Models that are like one of those that every run has, or longer than all of them."""
TWICE = ("magika_standard_v3_3", "silero_vad_16k_sequence")
"""Models whose second shapes every run has, too."""
CASES = [
    pytest.param(
        case, id=case.label,
        marks=[pytest.mark.nightly] if case.name in NIGHTLY or (case.number and case.name not in TWICE) else [],
    )
    for case in model_cases()
    if case.name != IN_TEST_MEMORY
]
pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module", params=CASES)
def opened(request: pytest.FixtureRequest) -> tuple[ModelCase, Any, Any, Any]:
    """(case, model, inputs, session), one model in memory at a time."""
    case = request.param
    if not case.here:
        pytest.skip(f"the model {case.name}.onnx is not here; set WORKBENCH_MODELS to a folder that has it")
    model, inputs = case.load()
    return case, model, inputs, wb.open(model, shape={key: value.shape for key, value in inputs.items()})


@pytest.mark.slow
def test_native_code_agrees_with_onnxruntime(opened: Any) -> None:
    _, model, inputs, session = opened
    expected = onnxruntime_outputs(model, inputs)
    assert all(says_something(value) for value in expected.values()), "the reference proves nothing"
    found = session.run(inputs)
    assert list(found) == list(expected)
    assert tolerance_used(found, expected) <= 1
    assert relative_error(found, expected) <= RELATIVE


@pytest.mark.slow
@pytest.mark.parametrize("check", [round_trip, verified])
def test_every_program_of_every_step(opened: Any, check: Any) -> None:
    """Its text reads as the same program; the verifiers have nothing to say."""
    wrong = failures(opened[-1], check)
    assert not wrong, f"{len(wrong)} programs:\n" + "\n".join(wrong[:5])


def test_a_tile_of_real_data() -> None:
    case = next(case for case in model_cases() if case.number)
    assert case.label == f"{case.name}@1"
    from tests.conformance.models import tiled

    np.testing.assert_array_equal(tiled(np.arange(3), (5,)), [0, 1, 2, 0, 1])
    assert tiled(np.asarray(7), ()).shape == ()


# --- photographs --------------------------------------------------------------------------------------------------


def photo_inputs(path: Path, picture: str) -> dict[str, np.ndarray]:
    import onnx

    name = onnx.load(str(path), load_external_data=False).graph.input[0].name
    return {name: wb.data.photo(str(ROOT / "notebooks" / "data" / picture), size=224)}


@pytest.fixture(scope="module")
def lite0() -> Any:
    return wb.open(str(LITE0))


@pytest.mark.parametrize(("picture", "wanted"), [("coffee.png", "espresso"), ("camera.png", "tripod")])
def test_photographs_are_recognised(picture: str, wanted: str, lite0: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_DATA", str(ROOT / "notebooks" / "data"))
    inputs = photo_inputs(LITE0, picture)
    found = lite0.run(inputs)
    assert tolerance_used(found, onnxruntime_outputs(str(LITE0), inputs)) <= 1
    (scores,) = found.values()
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
