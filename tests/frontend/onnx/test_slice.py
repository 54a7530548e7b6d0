"""Slices against onnxruntime: every start, end and step around the ends of short axes."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

import workbench as wb
from tests.nightly import daily

FAR = 2**63 - 1


@pytest.mark.parametrize("extent", daily((1, 2, 3), 2))
@pytest.mark.parametrize("step", [1, 2, -1, -2, -FAR - 1, FAR])
def test_starts_and_ends_outside_of_an_axis_are_those_of_onnxruntime(extent: int, step: int) -> None:
    """Read back, a start before the axis is its first element: Python's slice is empty there.

    onnxruntime takes the greatest end, read back, for the end before the axis, against the standard (and against its
    own inference of shapes): that one is left out.
    """
    ends = (-FAR - 1, *range(-extent - 2, extent + 3), FAR if step > 0 else FAR - 1)
    cuts = list(itertools.product(ends, repeat=2))
    nodes, stored, axes = [], [], {"a": [0], "t": [step]}
    for number, (start, end) in enumerate(cuts):
        axes |= {f"s{number}": [start], f"e{number}": [end]}
        nodes.append(helper.make_node("Slice", ["x", f"s{number}", f"e{number}", "a", "t"], [f"y{number}"]))
    stored = [onnx.numpy_helper.from_array(np.array(value, np.int64), name) for name, value in axes.items()]
    outputs = [helper.make_tensor_value_info(f"y{number}", onnx.TensorProto.FLOAT, None) for number in range(len(cuts))]
    given = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [extent])]
    graph = helper.make_graph(nodes, "slices", given, outputs, stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    inputs = {"x": np.arange(1, extent + 1, dtype=np.float32)}
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = dict(zip(cuts, session.run(None, inputs), strict=True))
    found = wb.open(model).run(inputs)
    wrong = {cut: (found[f"y{number}"].tolist(), expected[cut].tolist()) for number, cut in enumerate(cuts)
             if not np.array_equal(found[f"y{number}"], expected[cut])}  # fmt: skip
    assert not wrong
