"""The importer's entries: what comes back, names, origins, weights as parameters, converters from outside."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tests.frontend.onnx.hostile import FLOAT, INT64, ints, model, node, value, weights
from workbench.core import origin
from workbench.core.module import IRModule
from workbench.core.origin import ImportedFrom
from workbench.frontend.onnx import coverage, from_onnx, import_model, onnx_op
from workbench.frontend.onnx.emit import call, like
from workbench.frontend.onnx.table import CONVERTERS
from workbench.relay.interpret import interpret
from workbench.relay.ir.expr import Call, Constant, Var


def three_nodes():
    random = np.random.default_rng(0)
    kernel = random.standard_normal((4, 3, 3, 3), dtype=np.float32)
    return model(
        [
            node("Conv", ["x", "w", "b"], ["c"], name="conv_out", pads=[1, 1, 1, 1]),
            node("Relu", ["c"], ["r"]),
            node("MaxPool", ["r"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
        ],
        [value("x", ("N", 3, 8, 8))],
        [value("y", None)],
        [weights("w", kernel), weights("b", np.ones(4, "f"))],
    )


def test_classic_call() -> None:
    mod, params = from_onnx(three_nodes(), {"x": (1, 3, 8, 8)})
    assert isinstance(mod, IRModule) and params == {}
    assert [variable.name_hint for variable in mod["main"].params] == ["x"]
    assert repr(mod["main"].body.checked_type) == "Tensor[(1, 4, 4, 4), float32]"


def test_classic_name() -> None:
    from workbench import relay

    assert relay.frontend.from_onnx is from_onnx


def test_weights_as_parameters() -> None:
    proto = three_nodes()
    found = import_model(proto, {"N": 1}, freeze_params=False)
    assert [variable.name_hint for variable in found.module["main"].params] == ["x", "w", "b"]
    assert set(found.params) == {"w", "b"} and found.input_names == ("x",)
    x = np.random.default_rng(1).standard_normal((1, 3, 8, 8), dtype=np.float32)
    frozen = interpret(import_model(proto, {"N": 1}).module["main"], x)
    free = interpret(found.module["main"], x, *[found.params[name].numpy() for name in ("w", "b")])
    assert np.array_equal(frozen, free)


def test_path_bytes_and_proto_agree(tmp_path) -> None:
    proto = three_nodes()
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    modules = [import_model(item, {"N": 2}).module for item in (proto, proto.SerializeToString(), path, str(path))]
    assert all(modules[0].same(other) for other in modules)


def test_every_expression_has_its_origin() -> None:
    found = import_model(three_nodes(), {"N": 1})
    labels = {}
    for part in found.module["main"].body, *found.module.nodes():
        if isinstance(part, (Call, Constant, Var)):
            labels[getattr(getattr(part, "op", part), "name", type(part).__name__)] = {
                item.name for item in found.origins.of(part) if isinstance(item, ImportedFrom)
            }
    assert labels["nn.conv2d"] == labels["nn.bias_add"] == {"Conv#0 ('conv_out')"}
    assert labels["nn.relu"] == {"Relu#1"}
    assert labels["nn.max_pool2d"] == {"MaxPool#2"}
    assert labels["Var"] == {"input 'x'"}
    assert labels["Constant"] <= {"initializer 'w'", "initializer 'b'"}


def test_origins_go_to_an_ambient_table() -> None:
    with origin.recording() as table:
        found = import_model(three_nodes(), {"N": 1})
    assert found.origins is table and found.module["main"].body in table


def test_outputs_names_and_tuples() -> None:
    proto = model(
        [node("Split", ["x"], ["a", "b"], axis=1)], [value("x", (2, 4))], [value("b", None), value("a", None)]
    )
    found = import_model(proto)
    assert found.output_names == ("b", "a")
    x = np.arange(8, dtype="f").reshape(2, 4)
    second, first = interpret(found.module["main"], x)
    assert np.array_equal(first, x[:, :2]) and np.array_equal(second, x[:, 2:])


def test_a_default_input_is_a_weight() -> None:
    proto = model(
        [node("Add", ["x", "w"], ["y"])], [value("x"), value("w", (3,))], initializers=[weights("w", np.ones(3, "f"))]
    )
    assert import_model(proto).input_names == ("x",)


def test_inputs_fixed_to_values() -> None:
    proto = model([node("Reshape", ["x", "s"], ["y"])], [value("x"), value("s", (2,), INT64)])
    found = import_model(proto, values={"s": np.array([3, -1])})
    assert found.input_names == ("x",)
    assert found.module["main"].body.checked_type.concrete_shape == (3, 2)


def test_a_shape_that_differs_from_the_file_is_noted() -> None:
    found = import_model(three_nodes(), {"x": (1, 3, 16, 16)})
    assert found.input_types[0].concrete_shape == (1, 3, 16, 16)
    assert "given by shape=" in found.notes[0]


def test_shape_arithmetic_folds() -> None:
    proto = model(
        [
            node("Shape", ["x"], ["s"]),
            node("Gather", ["s", "zero"], ["n"]),
            node("Unsqueeze", ["n", "axis"], ["n1"]),
            node("Concat", ["n1", "rest"], ["t"], axis=0),
            node("Reshape", ["x", "t"], ["y"]),
        ],
        [value("x", (2, 3, 4))],
        initializers=[weights("zero", np.int64(0)), ints("axis", 0), ints("rest", -1)],
    )
    body = import_model(proto).module["main"].body
    assert body.op.name == "reshape" and body.checked_type.concrete_shape == (2, 12)
    assert isinstance(body.args[0], Var)


def test_a_known_condition_takes_its_branch() -> None:
    from onnx import helper

    then = helper.make_graph([node("Relu", ["x"], ["t"])], "then", [], [value("t", None)])
    other = helper.make_graph([node("Neg", ["x"], ["e"])], "else", [], [value("e", None)])
    nodes = [node("Size", ["x"], ["n"]), node("Equal", ["n", "six"], ["c"]),
             node("If", ["c"], ["y"], then_branch=then, else_branch=other)]  # fmt: skip
    proto = model(nodes, [value("x", ("rows", 3))], initializers=[weights("six", np.int64(6))])
    assert import_model(proto, {"rows": 2}).module["main"].body.op.name == "nn.relu"
    assert import_model(proto, {"rows": 3}).module["main"].body.op.name == "negative"


def test_functions_of_the_model_are_inlined() -> None:
    from onnx import helper

    scale = node("LeakyRelu", ["a"], ["b"])
    scale.attribute.add(name="alpha", type=1, ref_attr_name="slope")
    imports = [helper.make_opsetid("", 17)]
    function = helper.make_function("my", "Leak", ["a"], ["b"], [scale], imports, attributes=["slope"])
    proto = model([node("Leak", ["x"], ["y"], domain="my", slope=0.5, name="leak")])
    proto.opset_import.append(helper.make_opsetid("my", 1))
    proto.functions.append(function)
    found = import_model(proto)
    body = found.module["main"].body
    assert body.op.name == "nn.leaky_relu" and body.op.alpha == 0.5
    assert {item.name for item in found.origins.of(body)} == {"LeakyRelu#0", "Leak#0 ('leak')"}


def test_a_converter_from_outside() -> None:
    @onnx_op("Double", domain="my.company")
    def double(node, x, *, times: int = 2):
        return call("multiply", x, like(times, x))

    try:
        proto = model([node("Double", ["x"], ["y"], domain="my.company", times=3)])
        proto.opset_import.add(domain="my.company", version=1)
        x = np.ones((2, 3), "f")
        assert np.array_equal(interpret(import_model(proto).module["main"], x), 3 * x)
    finally:
        del CONVERTERS["my.company", "Double"]


@pytest.mark.nightly
def test_a_chain_of_20000_nodes_imports() -> None:
    from tests.frontend.onnx.hostile import chain

    assert sum(isinstance(part, Call) for part in import_model(chain(20_000)).module.nodes()) == 20_000


def test_coverage_lists_operators() -> None:
    rows = coverage()
    assert {"Conv", "Add", "Softmax", "LSTM", "Resize"} <= {row.operator for row in rows}
    assert any(row.operator == "Softmax" and row.opsets == "7-28" and "float32" in row.types for row in rows)


@pytest.mark.parametrize("number", [FLOAT])
def test_onnx_is_not_imported_before_use(number: int) -> None:
    code = "import sys, workbench.frontend.onnx; sys.exit('onnx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=30).returncode == 0


def test_functions_inside_functions_are_inlined() -> None:
    from onnx import helper

    imports = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    inner = helper.make_function("my", "Twice", ["a"], ["b"], [node("Add", ["a", "a"], ["b"])], imports)
    calls = [node("Twice", ["a"], ["t"], domain="my"), node("Twice", ["t"], ["b"], domain="my")]
    outer = helper.make_function("my", "FourTimes", ["a"], ["b"], calls, imports)
    proto = model([node("FourTimes", ["x"], ["y"], domain="my", name="four")])
    proto.opset_import.append(helper.make_opsetid("my", 1))
    proto.functions.extend([outer, inner])
    found = import_model(proto)
    data = np.arange(found.input_types[0].size, dtype=np.float32).reshape(found.input_types[0].concrete_shape)
    np.testing.assert_array_equal(interpret(found.module["main"], data), 4 * data)
    assert "FourTimes#0 ('four')" in {item.name for item in found.origins.of(found.module["main"].body)}
