"""Real networks through the importer and the interpreter, against onnxruntime."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.models import LIGHT, ROOT, light_input, light_model, model_path, recorded
from workbench.core.tensor import Tensor
from workbench.frontend.onnx import import_model
from workbench.relay.interpret import interpret
from workbench.relay.ir.expr import Call

COMMITTED = ("dnsmos_model_v8", "ch_ppocr_mobile_v2.0_cls_infer", "basic_pitch_nmp")
LARGE = (
    "efficientnet_lite0_imagenet",
    "efficientnet_lite0_imagenet_dynamo",
    "ch_PP-OCRv4_det_infer",
    "magika_standard_v3_3",
    "minilm_l6_fp32",
    "resemblyzer_lstm",
    "silero_vad_16k_sequence",
    "silero_vad_16k_op15",
)


def check(found: object, expected: list[np.ndarray]) -> None:
    results = found if isinstance(found, tuple) else (found,)
    assert len(results) == len(expected)
    for mine, theirs in zip(results, expected, strict=True):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
        np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", [*COMMITTED, *LARGE])
def test_recorded_outputs(name: str) -> None:
    inputs, outputs = recorded(name)
    found = import_model(model_path(name), {key: value.shape for key, value in inputs.items()})
    check(interpret(found.module["main"], *[inputs[key] for key in found.input_names]), outputs)


@pytest.mark.parametrize("name", [name for name in LIGHT if name not in ("vgg19", "zfnet512", "bvlc_alexnet")])
def test_light_models(name: str) -> None:
    import onnxruntime

    proto, inputs = light_model(name), light_input(name)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    expected = onnxruntime.InferenceSession(proto.SerializeToString(), options).run(None, inputs)
    assert expected[0].max() < 0.9 or name == "densenet121", "the softmax is saturated: the case proves nothing"
    found = import_model(proto)
    check(interpret(found.module["main"], *[inputs[key] for key in found.input_names]), expected)


def test_unseeded_light_weights_stay_lazy() -> None:
    """79 kB that claim 98 MB of weights: none is made at import."""
    from tests.models import _light_bytes

    found = import_model(_light_bytes("resnet50"))
    tensors = [part.data for part in found.module.nodes() if hasattr(part, "data") and isinstance(part.data, Tensor)]
    assert sum(tensor.nbytes for tensor in tensors) > 90e6
    assert sum(tensor.nbytes for tensor in tensors if tensor.fill_value is None) < 1e5


def test_shape_arithmetic_is_gone() -> None:
    """456 nodes of the older exporter: 222 constants and the shape arithmetic of 17 pads vanish."""
    path = model_path("efficientnet_lite0_imagenet")
    module = import_model(path, {"N": 1}).module
    used = Counter(part.op.name for part in module.nodes() if isinstance(part, Call))
    assert used == {
        "nn.conv2d": 49,
        "nn.bias_add": 50,
        "clip": 33,
        "nn.pad": 17,
        "add": 9,
        "nn.global_avg_pool2d": 1,
        "reshape": 1,
        "nn.dense": 1,
    }


@pytest.mark.parametrize(("picture", "label"), [("coffee", "espresso"), ("camera", "tripod")])
def test_the_first_notebook_classifies(picture: str, label: str) -> None:
    image = pytest.importorskip("PIL.Image", reason="pillow reads the photographs")
    data = ROOT / "notebooks" / "data"
    labels = (data / "imagenet_labels.txt").read_text().splitlines()
    small = image.open(data / f"{picture}.png").convert("RGB").resize((224, 224), image.Resampling.BICUBIC)
    pixels = (np.asarray(small, np.float32) / 255 - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)
    x = pixels.transpose(2, 0, 1)[None].astype(np.float32)
    scores = interpret(import_model(data / "efficientnet_lite0.onnx").module["main"], x)[0]
    probability = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    assert labels[int(scores.argmax())] == label
    assert probability.max() > 0.75
