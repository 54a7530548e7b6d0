"""Small networks for the tests of sessions: every stage has something to do, and all of it takes milliseconds."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

INPUT = "x"
SHAPE = (1, 3, 7, 7)
EIGHT_LANES = "llvm -vector-width=256"
"""Vectors of eight numbers on whatever processor: with longer ones some kernels lack what is planted into them."""


def small_model(seed: int = 0) -> Any:
    """Conv + BatchNormalization + Relu, two convolutions of the same data, pooling, Gemm, Softmax; an ONNX model."""
    from onnx import TensorProto, checker, helper, numpy_helper

    random = np.random.default_rng(seed)

    def weights(name: str, *shape: int) -> Any:
        drawn = random.standard_normal(shape).astype(np.float32) * np.float32(0.5)
        return numpy_helper.from_array(np.abs(drawn) + np.float32(0.5) if name == "variance" else drawn, name)

    nodes = [
        helper.make_node("Conv", ["x", "w0", "b0"], ["c0"], name="first", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c0", "scale", "shift", "mean", "variance"], ["n0"], name="norm"),
        helper.make_node("Relu", ["n0"], ["r0"], name="relu"),
        helper.make_node("Conv", ["r0", "w1"], ["c1"], name="left"),
        helper.make_node("Conv", ["r0", "w2"], ["c2"], name="right"),
        helper.make_node("Sub", ["c1", "c2"], ["d"], name="difference"),
        helper.make_node("GlobalAveragePool", ["d"], ["p"], name="pool"),
        helper.make_node("Flatten", ["p"], ["f"], name="flat"),
        helper.make_node("Gemm", ["f", "w3", "b3"], ["g"], name="dense", transB=1),
        helper.make_node("Softmax", ["g"], ["y"], name="soft"),
    ]
    held = [
        weights("w0", 6, 3, 3, 3),
        *(weights(name, 6) for name in ("b0", "scale", "shift", "mean", "variance")),
        weights("w1", 5, 6, 1, 1),
        weights("w2", 5, 6, 1, 1),
        weights("w3", 7, 5),
        weights("b3", 7),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(SHAPE))]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 7])]
    graph = helper.make_graph(nodes, "small", inputs, outputs, held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model)
    return model


def small_inputs(seed: int = 1) -> dict[str, np.ndarray]:
    """A seeded input of `small_model`."""
    return {INPUT: np.random.default_rng(seed).standard_normal(SHAPE).astype(np.float32)}


@cache
def small_session() -> Any:
    """One session on `small_model` for all tests that do not change it (sessions are values)."""
    import workbench as wb

    return wb.open(small_model())


def onnxruntime_outputs(model: Any, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """What onnxruntime gives, one thread, its optimisations off."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(
        None, inputs
    )


WIDE_SHAPE = (1, 3, 19, 19)


def wide_model(seed: int = 0) -> Any:
    """What `small_model` has not: strides, vectors, masks, grouped convolution, swish, casts, integers, arena reuse."""
    from onnx import TensorProto, checker, helper, numpy_helper

    random = np.random.default_rng(seed)

    def weights(name: str, *shape: int) -> Any:
        return numpy_helper.from_array(random.standard_normal(shape).astype(np.float32) * np.float32(0.4), name)

    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w0", "b0"], ["c0"], name="strided", pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Sigmoid", ["c0"], ["s0"], name="gate"),
        node("Mul", ["c0", "s0"], ["m0"], name="swish"),
        node("Conv", ["m0", "w1", "b1"], ["c1"], name="depthwise", pads=[1, 1, 1, 1], group=16),
        node("Sub", ["c1", "m0"], ["d1"], name="difference"),
        node("MaxPool", ["d1"], ["p1"], name="pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Conv", ["p1", "w2"], ["c2"], name="pointwise"),
        node("Mul", ["c2", "ten"], ["t2"], name="times_ten"),
        node("Cast", ["t2"], ["i2"], name="to_integer", to=TensorProto.INT32),
        node("Cast", ["i2"], ["f2"], name="back", to=TensorProto.FLOAT),
        node("Exp", ["c2"], ["e2"], name="power"),
        node("Add", ["f2", "e2"], ["a2"], name="sum"),
        node("ReduceMean", ["a2"], ["r2"], name="mean", axes=[2, 3], keepdims=0),
        node("Gemm", ["r2", "w3", "b3"], ["g3"], name="dense", transB=1),
        node("Div", ["g3", "scale"], ["q3"], name="quotient"),
        node("Softmax", ["q3"], ["y"], name="soft"),
    ]
    held = [
        weights("w0", 16, 3, 3, 3), weights("b0", 16), weights("w1", 16, 1, 3, 3), weights("b1", 16),
        weights("w2", 24, 16, 1, 1), weights("w3", 10, 24), weights("b3", 10),
        numpy_helper.from_array(np.array(10, np.float32), "ten"),
        numpy_helper.from_array(np.linspace(2, 3, 10, dtype=np.float32), "scale"),
    ]  # fmt: skip
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(WIDE_SHAPE))]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])]
    graph = helper.make_graph(nodes, "wide", inputs, outputs, held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    checker.check_model(model)
    return model


def wide_inputs(seed: int = 1) -> dict[str, np.ndarray]:
    """A seeded input of `wide_model`."""
    return {INPUT: np.random.default_rng(seed).standard_normal(WIDE_SHAPE).astype(np.float32)}


@cache
def wide_session() -> Any:
    """One session on `wide_model` for all tests that do not change it."""
    import workbench as wb

    return wb.open(wide_model(), target=EIGHT_LANES)


@cache
def parallel_session() -> Any:
    """Elementwise work that is large enough to run in parallel."""
    import workbench as wb
    from workbench import relay

    x = relay.var(INPUT, shape=(64, 4096))
    return wb.open(relay.Function([x], relay.nn.relu(relay.add(relay.multiply(x, relay.const(2.0)), x))))


def parallel_inputs(seed: int = 1) -> dict[str, np.ndarray]:
    """A seeded input of `parallel_session`, with one NaN."""
    given = np.random.default_rng(seed).standard_normal((64, 4096)).astype(np.float32)
    given[3, 5] = np.nan
    return {INPUT: given}
