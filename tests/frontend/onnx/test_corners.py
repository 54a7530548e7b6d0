"""Corners of single operators where the standard's versions, types and empty tensors part; against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import workbench as wb
from workbench import WorkbenchError

HALF = np.random.default_rng(0).uniform(-300, 300, (2, 3, 4, 5)).astype(np.float16)
ROW = np.arange(1, 9, dtype=np.float32).reshape(1, 1, 2, 4)


def model(op: str, inputs: dict[str, Any], opset: int, out: Any, attributes: dict[str, Any]) -> Any:
    """One node; operands besides the first are constants, empty ones left out by name."""
    first, *others = inputs
    node = helper.make_node(op, [name if inputs[name] is not None else "" for name in inputs], ["out"], **attributes)
    kind = helper.np_dtype_to_tensor_dtype(inputs[first].dtype)
    stored = [
        helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(inputs[name].dtype), inputs[name].shape, inputs[name])
        for name in others if inputs[name] is not None
    ]  # fmt: skip
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info(first, kind, inputs[first].shape)],
        [helper.make_tensor_value_info("out", kind if out is None else out, None)], stored,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def both(made: Any, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    name = made.graph.input[0].name
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    (expected,) = onnxruntime.InferenceSession(made.SerializeToString(), options).run(None, {name: x})
    return wb.open(made).run({name: x})["out"], expected


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint32", "int64", "float32"])
@pytest.mark.parametrize(("lambd", "bias"), [(2.7, 0.5), (2.0, 1.0), (0.5, 1.5), (-1.0, 0.0)])
def test_integers_shrink_by_fractions(dtype: str, lambd: float, bias: float) -> None:
    """The bias was made an integer first; numbers without sign were refused."""
    x = np.array([0, 1, 2, 3, 5, 8], dtype)
    x = x if np.dtype(dtype).kind == "u" else np.concatenate([x, -x])
    found, expected = both(model("Shrink", {"x": x}, 13, None, {"lambd": lambd, "bias": bias}), x)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("dtype", "values", "bias"), [("uint8", [1, 2, 200], 3.0), ("int8", [100, -100, 1], -100.0)])
def test_shrunk_integers_keep_the_bits_that_they_have(dtype: str, values: list[int], bias: float) -> None:
    x = np.array(values, dtype)
    found, expected = both(model("Shrink", {"x": x}, 13, None, {"lambd": 0.5, "bias": bias}), x)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("training", [0, 1])
def test_samples_of_one_channel_need_no_axis_of_channels(training: int) -> None:
    """IndexError before."""
    x = np.array([1, 2, 3], np.float32)
    held = {name: np.array([number], np.float32) for name, number in (("s", 2), ("b", 1), ("m", 0), ("v", 1))}
    made = model("BatchNormalization", {"x": x, **held}, 15, None, {} if not training else {"training_mode": 1})
    wanted = 2 * x + 1 if not training else 2 * (x - x.mean()) / x.std() + 1
    np.testing.assert_allclose(wb.open(made).run({"x": x})["out"], wanted, rtol=1e-4)


@pytest.mark.parametrize(
    ("op", "inputs", "attributes"),
    [
        ("CumSum", {"x": ROW, "a": np.zeros(0, np.int64)}, {}),
        ("OneHot", {"x": np.array([1, 2]), "k": np.zeros(0, np.int64), "v": np.array([0, 1], np.int64)}, {}),
        ("OneHot", {"x": np.array([1, 2]), "k": np.array([3]), "v": np.array([5], np.int64)}, {}),
        ("TopK", {"x": ROW, "k": np.zeros(0, np.int64)}, {}),
        ("ConstantOfShape", {"x": np.array([3])}, {"value": helper.make_tensor("v", TensorProto.INT64, [2], [1, 2])}),
    ],
)  # fmt: skip
def test_operands_of_another_number_of_elements_are_refused(op: str, inputs: Any, attributes: Any) -> None:
    """Internal errors, and two that were accepted, before."""
    with pytest.raises(WorkbenchError) as caught:
        wb.open(model(op, inputs, 17, None, attributes))
    assert caught.value.code == "E-ONNX-NODE" and op in str(caught.value)


@pytest.mark.parametrize("scales", [[1, 1, 0.6, 0.6], [1, 1, 0.5, 2], [1, 1, 3, 0.3], [1, 1, 1.6, 2.3]])
def test_nearest_of_version_ten_is_the_next_where_an_axis_shrinks(scales: list[float]) -> None:
    """The previous element was taken."""
    found, expected = both(model("Resize", {"x": ROW, "s": np.array(scales, np.float32)}, 10, None, {}), ROW)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_scales_of_a_cropped_region_are_of_the_whole_axis(mode: str) -> None:
    """The region's length was scaled."""
    roi = np.array([0, 0, 0.1, 0.1, 1, 1, 0.8, 1], np.float32)
    inputs = {"x": ROW, "roi": roi, "s": np.array([1, 1, 1.6, 2.3], np.float32)}
    attributes = {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": mode}
    found, expected = both(model("Resize", inputs, 13, None, attributes), ROW)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("op", "attributes"),
    [
        ("GlobalLpPool", {"p": 3}), ("LpPool", {"p": 3, "kernel_shape": [2, 2]}), ("ReduceL2", {"axes": [2, 3]}),
        ("LpNormalization", {"axis": -1}), ("MeanVarianceNormalization", {}), ("ReduceLogSum", {"axes": [2, 3]}),
        ("InstanceNormalization", {}), ("Mean", {}),
    ],
)  # fmt: skip
def test_powers_of_halves_do_not_overflow(op: str, attributes: dict[str, Any]) -> None:
    """They are computed in float32, of which the root is a number of 16 bits again."""
    found, _ = run_half(op, attributes)
    x = HALF.astype(np.float64)
    large = np.abs(HALF).astype(np.float64) * 100
    axes = (2, 3)
    wanted = {
        "GlobalLpPool": lambda: (np.abs(x) ** 3).sum(axes, keepdims=True) ** (1 / 3),
        "LpPool": lambda: sum(np.abs(x[:, :, i : i + 3, j : j + 4]) ** 3 for i in (0, 1) for j in (0, 1)) ** (1 / 3),
        "ReduceL2": lambda: np.sqrt((x * x).sum(axes, keepdims=True)),
        "ReduceLogSum": lambda: np.log(large.sum(axes, keepdims=True)),
        "InstanceNormalization": lambda: (x - x.mean(axes, keepdims=True)) / x.std(axes, keepdims=True),
        "Mean": lambda: (large + large) / 2,
        "LpNormalization": lambda: x / np.sqrt((x * x).sum(-1, keepdims=True)),
        "MeanVarianceNormalization": lambda: (x - x.mean((0, 2, 3), keepdims=True)) / x.std((0, 2, 3), keepdims=True),
    }[op]()
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=2e-3, atol=2e-3)


def run_half(op: str, attributes: dict[str, Any]) -> tuple[np.ndarray, str]:
    x = np.abs(HALF) * np.float16(100) if op in ("ReduceLogSum", "Mean") else HALF
    more = {"InstanceNormalization": {"s": np.ones(3, np.float16), "b": np.zeros(3, np.float16)}, "Mean": {"y": x}}
    made = model(op, {"x": x, **more.get(op, {})}, 13, None, attributes)
    found = wb.open(made).run({"x": x})["out"]
    return found, str(found.dtype)


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_a_scalar_has_no_axes_on_which_it_could_be_found(value: float) -> None:
    """ValueError before; the standard's shape is (0, how many)."""
    node = helper.make_node("NonZero", ["c"], ["out"])
    made = helper.make_model(
        helper.make_graph(
            [node], "g", [], [helper.make_tensor_value_info("out", TensorProto.INT64, None)],
            [helper.make_tensor("c", TensorProto.FLOAT, [], [value])],
        ),
        opset_imports=[helper.make_opsetid("", 13)], ir_version=8,
    )  # fmt: skip
    found = wb.open(made).run({})["out"]
    assert found.shape == (0, int(value != 0)) and found.dtype == np.int64


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_a_scalar_has_nothing_to_pad(mode: str) -> None:
    """An error of NumPy's in the reference implementation before."""
    function = wb.relay.Function([], wb.relay.nn.pad(wb.relay.const(2.5), pad_width=(), pad_mode=mode))
    assert wb.relay.create_executor().evaluate(function)().numpy() == 2.5
    assert list(wb.open(function).run({}).values()) == [2.5]


@pytest.mark.parametrize("opset", [11, 13])
def test_hardmax_of_nothing_is_nothing(opset: int) -> None:
    x = np.zeros((1, 0), np.float32)
    assert wb.open(model("Hardmax", {"x": x}, opset, None, {})).run({"x": x})["out"].shape == (1, 0)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_gates_are_clipped_after_the_peephole_is_added(direction: str) -> None:
    rng, ways, hidden = np.random.default_rng(1), 1 + (direction == "bidirectional"), 3

    def drawn(*shape: int) -> np.ndarray:
        return rng.uniform(-2, 2, shape).astype(np.float32)

    inputs = {
        "x": drawn(4, 2, 5), "w": drawn(ways, 4 * hidden, 5), "r": drawn(ways, 4 * hidden, hidden),
        "b": drawn(ways, 8 * hidden), "lengths": None, "h": drawn(ways, 2, hidden), "c": drawn(ways, 2, hidden),
        "p": drawn(ways, 3 * hidden),
    }  # fmt: skip
    made = model("LSTM", inputs, 17, None, {"hidden_size": hidden, "clip": 0.7, "direction": direction})
    found, expected = both(made, inputs["x"])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("ends", ["no trips", "a false condition"])
def test_a_loop_that_never_runs_stacks_nothing(ends: str) -> None:
    def value(name: str, shape: list[int], kind: int = TensorProto.FLOAT) -> Any:
        return helper.make_tensor_value_info(name, kind, shape)

    body = helper.make_graph(
        [
            helper.make_node("Add", ["a", "x"], ["b"]), helper.make_node("Cast", ["b"], ["s"], to=TensorProto.INT32),
            helper.make_node("Identity", ["go"], ["on"]),
        ], "body",
        [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("a", [3, 4])],
        [value("on", [], TensorProto.BOOL), value("b", [3, 4]), value("s", [3, 4], TensorProto.INT32)],
    )  # fmt: skip
    held = [
        helper.make_tensor("n", TensorProto.INT64, [], [0 if ends == "no trips" else 3]),
        helper.make_tensor("go0", TensorProto.BOOL, [], [ends == "no trips"]),
    ]
    graph = helper.make_graph(
        [helper.make_node("Loop", ["n", "go0", "x"], ["y", "ys"], body=body)], "g", [value("x", [3, 4])],
        [value("y", [3, 4]), value("ys", [0, 3, 4], TensorProto.INT32)], held,
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    expected = onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"x": x})
    found = wb.open(made).run({"x": x})
    for name, array in zip(("y", "ys"), expected, strict=True):
        assert found[name].shape == array.shape and found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)
