"""Passes outside the standard pipeline on whole networks: compiled, against onnxruntime.

Numbers: within 1e-3 relative + 1e-4 absolute of onnxruntime with its optimisations off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.integration.test_models import LITE0, photo_inputs
from tests.models import light_input, light_model
from workbench.driver.pipeline import RELAY
from workbench.relay import transform
from workbench.relay.analysis import list_op_freqs
from workbench.transform import PassContext

pytestmark = pytest.mark.slow


def expected(model: Any, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    source = model if isinstance(model, str) else model.SerializeToString()
    return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"]).run(None, inputs)


def operators_after(model: Any, inputs: dict[str, np.ndarray], *passes: Any) -> list[dict[str, int]]:
    """Compiles with `passes` before weights are packed, checks the numbers; operators at import, and before fusion."""
    at = RELAY.index("PackWeights")
    order = [*RELAY[:at], *passes, "FoldConstant", "SimplifyExpr", *RELAY[at:]]
    with PassContext(opt_level=4):
        session = wb.open(model, shape={key: value.shape for key, value in inputs.items()}, passes=order)
        made = session.run(inputs)
    for found, value in zip(made.values(), expected(model, inputs), strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-3, atol=1e-4)
    return [list_op_freqs(session["InferType"].after), list_op_freqs(session["FuseOps"].before)]


def network(name: str) -> tuple[Any, dict[str, np.ndarray]]:
    if name == "efficientnet_lite0":
        return str(LITE0), photo_inputs(LITE0, "coffee.png")
    return light_model(name), light_input(name)


def convolutions(count: dict[str, int]) -> int:
    """How many there are; where vectors are long, some go by Winograd's tiles."""
    return count["nn.conv2d"] + count.get("nn.contrib_conv2d_winograd_without_weight_transform", 0)


CONVERSIONS: dict[str, Callable[[], list[Any]]] = {
    "NHWC": lambda: [transform.ConvertLayout("NHWC")],
    "NCHW8c": lambda: [transform.CanonicalizeOps(), transform.ConvertLayout({"nn.conv2d": ["NCHW8c", "default"]})],
}


@pytest.mark.parametrize(
    ("name", "layout"), [
        ("efficientnet_lite0", "NHWC"),
        pytest.param("efficientnet_lite0", "NCHW8c", marks=pytest.mark.nightly),
        pytest.param("resnet50", "NHWC", marks=pytest.mark.nightly),
    ],
)
def test_convert_layout(name: str, layout: str) -> None:
    before, after = operators_after(*network(name), *CONVERSIONS[layout]())
    assert convolutions(after) == convolutions(before)
    assert after["layout_transform"] <= 3, "data moves at the borders only"


@pytest.mark.nightly
def test_combine_parallel_convolutions() -> None:
    before, after = operators_after(*network("inception_v1"), transform.CombineParallelConv2D())
    assert (convolutions(before), convolutions(after)) == (57, 39)
