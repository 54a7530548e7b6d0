"""Gemm of integers against the standard's reference (onnxruntime has no kernel for them)."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import workbench as wb


def model(dtype, alpha, beta, addend=True):
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    names = {"a": [2, 3], "b": [3, 2], **({"c": [2]} if addend else {})}
    inputs = [helper.make_tensor_value_info(name, kind, shape) for name, shape in names.items()]
    node = helper.make_node("Gemm", list(names), ["y"], alpha=alpha, beta=beta)
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", kind, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
@pytest.mark.parametrize("alpha, beta", [(0.5, 2.0), (1.0, 0.25), (2.5, 1.5), (3.0, 2.0), (0.0, 0.5), (0.5, 0.0)])
def test_factors_between_integers_scale_before_the_sum_is_cut(dtype, alpha, beta):
    given = {
        "a": np.array([[4, 6, 1], [0, 3, 7]], dtype), "b": np.array([[10, 1], [1, 2], [3, 5]], dtype),
        "c": np.array([3, 7], dtype),
    }  # fmt: skip
    proto = model(dtype, alpha, beta)
    np.testing.assert_array_equal(wb.open(proto).run(given)["y"], ReferenceEvaluator(proto).run(None, given)[0])


def test_negative_numbers_are_cut_towards_zero():
    given = {"a": np.array([[-1, 0, 0], [1, 0, 0]], "int32"), "b": np.array([[3, 5]] * 3, "int32")}
    proto = model("int32", 0.5, 1.0, addend=False)
    assert wb.open(proto).run(given)["y"].tolist() == [[-1, -2], [1, 2]]


def test_a_negative_factor_of_unsigned_numbers_counts():
    given = {"a": np.eye(2, 3, dtype="uint32"), "b": np.ones((3, 2), "uint32"), "c": np.array([9, 8], "uint32")}
    assert wb.open(model("uint32", -1.0, 1.0)).run(given)["y"].tolist() == [[8, 7], [8, 7]]
