"""AffineGrid against onnxruntime and the standard's reference: batches of one, extents of one, both ranks."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import workbench as wb
from workbench.core.errors import WorkbenchError

SIZES = ([1, 1, 3, 4], [2, 5, 3, 4], [1, 3, 1, 1], [3, 1, 1, 4], [1, 1, 2, 3, 4], [2, 1, 2, 3, 4], [1, 1, 1, 3, 4])


def model(size, theta, corners):
    node = helper.make_node("AffineGrid", ["theta", "size"], ["grid"], align_corners=corners)
    given = helper.make_tensor_value_info("theta", TensorProto.FLOAT, theta)
    result = helper.make_tensor_value_info("grid", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", [given], [result], [numpy_helper.from_array(np.array(size), "size")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_places_are_those_of_the_standard(size, corners):
    rank = len(size) - 2
    theta = np.random.default_rng(1).standard_normal((size[0], rank, rank + 1)).astype(np.float32)
    proto = model(size, theta.shape, corners)
    found = wb.open(proto).run({"theta": theta})["grid"]
    if corners and 1 in size[2:]:  # it lies at -1, as in the reference; onnxruntime puts it at 1, PyTorch at 0
        ends = found.reshape(size[0], -1, rank)[:, 0]
        np.testing.assert_allclose(ends, theta[:, :, -1] - theta[:, :, :-1].sum(-1), rtol=1e-5, atol=1e-5)
        return
    for wanted in (
        onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"theta": theta})[0],
        ReferenceEvaluator(proto).run(None, {"theta": theta})[0],
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("size", "theta"), [([2, 1, 3, 4], (1, 2, 3)), ([1, 1, 3, 4], (1, 3, 4)), ([1, 1, 3], (1, 1, 2)), ([], (1, 2, 3))]
)
def test_what_does_not_fit_is_refused(size, theta):
    with pytest.raises(WorkbenchError, match="E-ONNX") as caught:
        wb.open(model(size, theta, 0))
    assert "AffineGrid" in str(caught.value)
