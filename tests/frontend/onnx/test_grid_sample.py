"""GridSample against onnxruntime: every way to read between pixels: inside, around the border, far outside."""

from __future__ import annotations

import itertools

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import workbench as wb
from tests.nightly import daily

SHAPES = ((4, 5), (1, 2))
SPANS = (1.0, 1.4, 3.0, 50.0)
"""Of the places; the image lies between -1 and 1."""


@pytest.mark.parametrize(
    ("mode", "padding", "corners"),
    daily(
        itertools.product(("nearest", "linear", "cubic"), ("zeros", "border", "reflection"), (0, 1)),
        ("nearest", "border", 1), ("linear", "reflection", 0), ("cubic", "zeros", 1),
    ),
)
def test_as_onnxruntime_reads(mode, padding, corners):
    random = np.random.default_rng(3)
    for shape in SHAPES:
        given = {
            "x": random.standard_normal((1, 2, *shape)).astype(np.float32),
            "g": np.concatenate([random.uniform(-span, span, (1, 3, 5, 2)) for span in SPANS], 1).astype(np.float32),
        }
        attributes = {"mode": mode, "padding_mode": padding, "align_corners": corners}
        declared = [helper.make_tensor_value_info(name, TensorProto.FLOAT, each.shape) for name, each in given.items()]
        result = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
        node = helper.make_node("GridSample", ["x", "g"], ["y"], **attributes)
        model = helper.make_model(
            helper.make_graph([node], "g", declared, result), opset_imports=[helper.make_opsetid("", 20)], ir_version=9
        )
        wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, given)[0]
        found = wb.open(model).run(given)["y"]
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4, err_msg=str(shape))
