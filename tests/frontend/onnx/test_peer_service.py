"""Which nodes of the file a node is that onnxruntime runs, after it has rewritten the graph in its own ways."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from onnx import TensorProto, helper

from workbench.frontend.onnx.peer_service import FileGraph, numbered, parts_of


def file(*nodes: tuple[str, str, str], weights: str = "w") -> FileGraph:
    """Nodes as (operator, what it reads, what it gives), names of one letter."""
    kinds, reads, gives = zip(*nodes, strict=True)
    return FileGraph(kinds, [tuple(names) for names in reads], [tuple(names) for names in gives], frozenset(weights))


def run(name: str, reads: list[str], *gives: str) -> Any:
    return SimpleNamespace(name=name, input=reads, output=list(gives))


def parts(graph: FileGraph, *nodes: Any) -> dict[str, set[int]]:
    return parts_of(graph, nodes, [node.name for node in nodes])


CHAIN = file(("Conv", "xw", "a"), ("BatchNormalization", "aw", "b"), ("Relu", "b", "c"), ("Exp", "c", "y"))


def test_a_fused_node_is_what_it_is_named_after_and_what_went_into_it() -> None:
    found = parts(CHAIN, run("wbt2_0__nchwc", ["x"], "reorder_1"), run("wbn3_", ["reorder_1"], "y"))
    assert found == {"wbt2_0__nchwc": {0, 1, 2}, "wbn3_": {3}}


def test_a_node_that_gives_a_later_value_is_the_later_node_too() -> None:
    found = parts(CHAIN, run("fused wbn0_", ["x"], "c"), run("wbn3_", ["c"], "y"))
    assert found == {"fused wbn0_": {0, 1, 2}, "wbn3_": {3}}


def test_a_change_of_layout_is_a_part_of_what_reads_it_and_at_the_end_of_what_it_reads() -> None:
    graph = file(("Exp", "x", "a"), ("Conv", "aw", "y"))
    found = parts(
        graph, run("wbn0_", ["x"], "a"), run("ReorderInput", ["a"], "t"), run("wbt1_0__nchwc", ["t"], "u"),
        run("ReorderOutput", ["u"], "v"),
    )  # fmt: skip
    assert found == {"wbn0_": {0}, "ReorderInput": {1}, "wbt1_0__nchwc": {1}, "ReorderOutput": {1}}


def test_a_sum_stands_in_the_convolution_that_reads_its_other_operand() -> None:
    """With the activation behind it; the convolution that reads the sum is another one."""
    graph = file(
        ("Conv", "xw", "a"), ("Conv", "aw", "b"), ("Add", "ba", "c"), ("Relu", "c", "d"), ("Conv", "dw", "e"),
        ("Relu", "e", "y"),
    )  # fmt: skip
    found = parts(
        graph, run("wbt0_0__nchwc", ["x"], "r1"), run("Reorder", ["r1"], "r2"),
        run("wbt1_0__nchwc", ["r1", "r2"], "r3"), run("wbt5_0__nchwc", ["r3"], "y"),
    )  # fmt: skip
    assert found["wbt1_0__nchwc"] == {1, 2, 3} and found["wbt5_0__nchwc"] == {4, 5}, found
    assert found["wbt0_0__nchwc"] == {0}, found


def test_sums_of_sums_are_followed() -> None:
    graph = file(("Conv", "xw", "a"), ("Conv", "aw", "b"), ("Add", "ba", "c"), ("Conv", "cw", "d"), ("Add", "dc", "y"))
    found = parts(
        graph, run("wbt0_0__nchwc", ["x"], "r1"), run("wbt1_0__nchwc", ["r1"], "r2"), run("wbt3_0__nchwc", ["r2"], "r3")
    )
    assert found == {"wbt0_0__nchwc": {0}, "wbt1_0__nchwc": {1, 2}, "wbt3_0__nchwc": {3, 4}}


def test_nodes_on_weights_alone_are_no_part_of_a_run() -> None:
    graph = file(("Constant", "", "k"), ("Transpose", "w", "v"), ("MatMul", "xv", "a"), ("Add", "ak", "y"))
    assert parts(graph, run("wbn2_", ["x", "v2"], "y")) == {"wbn2_": {2, 3}}


def test_what_nothing_tells_of_has_no_nodes() -> None:
    assert parts_of(CHAIN, [], ["mystery", "wbn3_"]) == {"mystery": set(), "wbn3_": {0, 1, 2, 3}}


def made(*nodes: Any) -> Any:
    weight = helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0])
    return helper.make_model(helper.make_graph(list(nodes), "g", [value("x")], [value("y")], [weight]))


def value(name: str) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1])


def test_nodes_and_values_are_named_by_number_and_outputs_of_the_model_stay() -> None:
    model = made(helper.make_node("Exp", ["x"], ["odd"]), helper.make_node("Add", ["odd", "w"], ["y"], name="n"))
    graph = numbered(model)
    assert [node.name for node in model.graph.node] == ["wbn0_", "wbn1_"]
    assert list(model.graph.node[1].input) == ["wbt0_0_", "w"] and list(model.graph.node[1].output) == ["y"]
    assert graph.kinds == ["Exp", "Add"] and graph.weights == {"w"} and graph.constant == frozenset()


def test_values_that_a_graph_inside_a_node_may_read_keep_their_names() -> None:
    inner = helper.make_graph([helper.make_node("Identity", ["a"], ["i"])], "b", [], [value("i")])
    branch = helper.make_node("If", ["x"], ["y"], then_branch=inner, else_branch=inner)
    model = made(helper.make_node("Exp", ["x"], ["a"]), branch)
    numbered(model)
    assert list(model.graph.node[0].output) == ["a"] and model.graph.node[0].name == "wbn0_"
