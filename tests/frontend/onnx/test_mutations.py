"""Broken operator cases and contradicting models: imported, or refused by one located error."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import workbench as wb
from tests.frontend.onnx import mutations
from workbench.core.errors import InternalError, WorkbenchError
from workbench.frontend.onnx import import_model

SAMPLE = (
    "Add", "BatchNormalization", "Concat", "Conv", "DepthToSpace", "GRU", "Gather", "If", "LSTM", "Loop", "MaxPool",
    "Pad", "RNN", "ReduceSum", "Reshape", "Scan", "Slice", "Split", "TopK",
)  # fmt: skip


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    return {model.graph.node[0].op_type: model for model in mutations.one_case_each().values()}


@pytest.mark.slow
@pytest.mark.parametrize("operator", SAMPLE)
def test_whatever_is_broken_gives_one_located_error(operator: str, models: dict[str, Any]) -> None:
    found = list(mutations.sweep({operator: models[operator]}, seed=1))
    assert len(found) > 8
    assert not [item for item in found if item.is_fault]


@pytest.mark.nightly
def test_every_operator_broken(models: dict[str, Any], record_property) -> None:
    seed = random.randrange(10**6)
    found = list(mutations.sweep(mutations.one_case_each(2), seed))
    record_property("broken models", len(found))
    assert not [item for item in found if item.is_fault], f"seed {seed}"


# --- contradictions --------------------------------------------------------------------------------------------------


def value(name: str, shape: Any, kind: int = TensorProto.FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def held(name: str, array: Any) -> Any:
    return numpy_helper.from_array(np.asarray(array), name)


def model(nodes: list[Any], inputs: list[Any], initializers: Any = (), functions: Any = ()) -> Any:
    graph = helper.make_graph(nodes, "g", inputs, [value("y", None)], list(initializers))
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=imports, functions=functions, ir_version=9)


def looping(trips: int, nested: bool = False) -> Any:
    def body(name: str, nodes: list[Any], result: str) -> Any:
        still = helper.make_node("Identity", [f"{name}_going"], [f"{name}_still"])
        inputs = [value(f"{name}_step", [], TensorProto.INT64), value(f"{name}_going", [], TensorProto.BOOL)]
        outputs = [value(f"{name}_still", [], TensorProto.BOOL), value(result, None)]
        return helper.make_graph([*nodes, still], name, [*inputs, value(f"{name}_state", [2])], outputs)

    inner = body("inner", [helper.make_node("Add", ["inner_state", "inner_state"], ["sum"])], "sum")
    within = helper.make_node("Loop", ["trips", "", "outer_state"], ["all"], body=inner)
    chosen = body("outer", [within], "all") if nested else inner
    node = helper.make_node("Loop", ["trips", "", "x"], ["y"], body=chosen)
    return model([node], [value("x", [2])], [held("trips", np.int64(trips))])


def loop_of_few_outputs() -> Any:
    made = looping(3)
    del made.graph.node[0].attribute[0].g.output[1:]
    return made


def function_of_few_inputs() -> Any:
    add = helper.make_node("Add", ["a", "b"], ["c"])
    function = helper.make_function("own", "F", ["a", "b"], ["c"], [add], [helper.make_opsetid("", 18)])
    return model([helper.make_node("F", ["x"], ["y"], domain="own")], [value("x", [2])], functions=[function])


def lstm(**attributes: Any) -> Any:
    weights = [held("w", np.zeros((1, 12, 2), "f")), held("r", np.zeros((1, 12, 3), "f"))]
    return model([helper.make_node("LSTM", ["x", "w", "r"], ["y"], **attributes)], [value("x", [2, 1, 2])], weights)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "loop body with too few outputs": (loop_of_few_outputs, "the body gives too few outputs"),
    "function called with too few inputs": (function_of_few_inputs, "input 1 (B) has no value"),
    "rank 400": (
        lambda: model([helper.make_node("Relu", ["x"], ["y"])], [value("x", [1] * 400)]), "wb.limits.rank",
    ),
    "huge pads": (
        lambda: model(
            [helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], pads=[2**39] * 4, strides=[2**39] * 2)],
            [value("x", [1, 1, 4, 4])],
        ),
        "wb.limits.tensor_bytes",
    ),
    "0 and -1 with allowzero": (
        lambda: model(
            [helper.make_node("Reshape", ["x", "s"], ["y"], allowzero=1)], [value("x", [0, 2])],
            [held("s", np.array([0, -1]))],
        ),
        "exclude each other",
    ),
    "another hidden size": (lambda: lstm(hidden_size=5), "hidden_size is not that of the weights"),
    "activations of two directions": (
        lambda: lstm(hidden_size=3, activations=["Sigmoid", "Tanh", "Tanh"] * 2), "the wrong number of activations",
    ),
    "2^40 parts": (
        lambda: model([helper.make_node("Split", ["x"], ["y"], num_outputs=2**40)], [value("x", [4])]), "num_outputs",
    ),
    "a loop of 1000 x 1000": (lambda: looping(1000, nested=True), "wb.limits.unrolled_nodes"),
    "a loop of 300 layers": (lambda: of_layers(300), "wb.limits.unrolled_nodes"),
    "a loop of 2^40": (lambda: looping(2**40), "wb.limits.unrolled_nodes"),
}  # fmt: skip


def of_layers(trips: int) -> Any:
    """A loop of recurrent layers, each of which is written out in many nodes."""
    made = lstm()
    body = made.graph.node[0]
    body.output[0] = "all"
    still = helper.make_node("Identity", ["going"], ["still"])
    inputs = [value("step", [], TensorProto.INT64), value("going", [], TensorProto.BOOL)]
    outputs = [value("still", [], TensorProto.BOOL), value("all", None)]
    graph = helper.make_graph([body, still], "layers", inputs, outputs)
    loop = helper.make_node("Loop", ["trips", ""], ["y"], body=graph)
    weights = [*made.graph.initializer, held("trips", np.int64(trips))]
    return model([loop], [value("x", [2, 1, 2])], weights)


@pytest.mark.parametrize("name", REFUSED)
def test_contradictions_are_refused_at_import(name: str) -> None:
    build, words = REFUSED[name]
    with pytest.raises(wb.WorkbenchError) as caught:
        import_model(build())
    assert not isinstance(caught.value, InternalError)
    assert caught.value.where and caught.value.fix and words in str(caught.value)


def answers_as_onnxruntime(made: Any, inputs: dict[str, Any]) -> np.ndarray[Any, Any]:
    import onnxruntime

    (expected,) = onnxruntime.InferenceSession(made.SerializeToString()).run(None, inputs)
    (found,) = wb.open(made).run(inputs).values()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    return found


@pytest.mark.parametrize(("size", "shape"), [
    (2, (2, 5, 3)), (4, (1, 5, 2, 2)), (9, (1, 5, 2)), (2**40, (1, 5, 2)), (2**40, (1, 4, 2, 2)),
    (2**40 + 1, (1, 3, 2, 2)),
])  # fmt: skip
def test_a_window_wider_than_the_channels_reads_them_all(size: int, shape: tuple[int, ...]) -> None:
    """It ran over its whole width: 2^40 terms, each of them zero beyond the channels."""
    node = helper.make_node("LRN", ["x"], ["y"], size=size, alpha=0.5, beta=0.75, bias=2.0)
    data = np.random.default_rng(0).standard_normal(shape).astype("float32")
    graph = helper.make_graph([node], "g", [value("x", shape)], [value("y", None)])
    imports = [helper.make_opsetid("", 18)]
    found = wb.open(helper.make_model(graph, opset_imports=imports, ir_version=9)).run({"x": data})["y"]
    wide, before, after = data.astype("float64") ** 2, (size - 1) // 2, size // 2
    sums = [wide[:, max(0, at - before) : at + after + 1].sum(1) for at in range(shape[1])]
    np.testing.assert_allclose(found, data / (2.0 + 0.5 / size * np.stack(sums, 1)) ** 0.75, rtol=1e-5)


@pytest.mark.parametrize(("operator", "attributes", "shapes"), [
    ("InstanceNormalization", {}, [(1, 2, 3), (), (2,)]), ("LpPool", {"kernel_shape": [2], "p": 0}, [(1, 2, 4)]),
    ("LRN", {"size": 3}, [(4,)]), ("LRN", {"size": 0}, [(1, 4, 2, 2)]),
])  # fmt: skip
def test_operands_and_attributes_that_mean_nothing_are_refused(operator: str, attributes: Any, shapes: Any) -> None:
    names = [f"x{at}" for at in range(len(shapes))]
    node = helper.make_node(operator, names, ["y"], **attributes)
    graph = helper.make_graph([node], "g", list(map(value, names, shapes)), [value("y", None)])
    with pytest.raises(WorkbenchError, match=operator) as caught:
        import_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9))
    assert not isinstance(caught.value, InternalError) and caught.value.where


@pytest.mark.parametrize(("operator", "operand", "attributes"), [
    ("Tile", [2**62, 0], {}), ("Pad", [2**62, 0, 0, -2], {"mode": "edge"}), ("Expand", [2**62, 0], {}),
])  # fmt: skip
def test_an_endless_extent_is_refused_beside_an_empty_one(operator: str, operand: Any, attributes: Any) -> None:
    node = helper.make_node(operator, ["x", "more"], ["y"], **attributes)
    made = model([node], [value("x", (1, 2 if operator != "Expand" else 1))], [held("more", np.int64(operand))])
    with pytest.raises(WorkbenchError, match="E-LIMIT"):
        import_model(made)


def test_numbers_of_no_element_keep_their_axes() -> None:
    x = wb.relay.var("x", shape=(0, 3))
    assert wb.relay.create_executor().evaluate(wb.relay.Function([x], wb.relay.argmin(x, axis=1)))(
        np.zeros((0, 3), "float32")
    ).numpy().shape == (0,)


def test_shrink_of_unsigned_numbers() -> None:
    node = helper.make_node("Shrink", ["x"], ["y"], lambd=2.0, bias=1.0)
    graph = helper.make_graph([node], "g", [value("x", (4,), TensorProto.UINT8)], [value("y", None, TensorProto.UINT8)])
    imports = [helper.make_opsetid("", 18)]
    session = wb.open(helper.make_model(graph, opset_imports=imports, ir_version=9))
    assert session.run({"x": np.uint8([0, 2, 3, 200])})["y"].tolist() == [0, 0, 2, 199]


def test_short_loops_are_imported() -> None:
    x = np.array([1.5, -2.0], np.float32)
    found = answers_as_onnxruntime(looping(5, nested=True), {"x": x})
    np.testing.assert_array_equal(found, x * np.float32(2**25))
    import_model(looping(20, nested=True))


def test_recurrent_layers_in_branches_are_imported() -> None:
    random_numbers = np.random.default_rng(0)
    branches = []
    for name in ("then", "else"):
        shapes = {f"{name}_w": (1, 12, 2), f"{name}_r": (1, 12, 3)}
        weights = [held(key, random_numbers.normal(size=shape).astype("f")) for key, shape in shapes.items()]
        node = helper.make_node("LSTM", ["x", *shapes], [f"{name}_z"], hidden_size=3)
        branches.append(helper.make_graph([node], name, [], [value(f"{name}_z", None)], weights))
    made = lstm(hidden_size=3)
    made.graph.node[0].CopyFrom(helper.make_node("If", ["f"], ["y"], then_branch=branches[0], else_branch=branches[1]))
    made.graph.input.append(value("f", [], TensorProto.BOOL))
    x = random_numbers.normal(size=(2, 1, 2)).astype("f")
    found = [answers_as_onnxruntime(made, {"x": x, "f": np.array(flag)}) for flag in (True, False)]
    assert np.abs(found[0] - found[1]).max() > 0.01, "each branch has weights of its own"
