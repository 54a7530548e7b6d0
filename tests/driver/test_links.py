"""One selection through all layers: each line's classes against what the programs say themselves."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import workbench as wb
from tests.driver.programs import small_session
from tests.schedule.programs import plain_matmul
from workbench import relay, te
from workbench.core.errors import WorkbenchError
from workbench.driver.links import AROUND, DOES, WHOLE, Layer, Links
from workbench.relay.ir import expr as r
from workbench.schedule import Schedule

LAYERS = ("onnx", "relay", "fused", "te", "schedule", "tir", "ll", "asm")
KERNEL = "fused_nn_conv2d_nn_bias_add_add_nn_relu"


@pytest.fixture(scope="module")
def links() -> Links:
    return small_session().provenance.links


def operators(links: Links, classes: Any) -> list[str]:
    return [thing.op.name for thing in links.things(classes)]


def texts(layer: Layer, lines: Any) -> list[str]:
    written = layer.text.split("\n")
    return [written[line - 1].strip() for line in lines]


def line_with(layer: Layer, part: str) -> int:
    return next(number for number, text in enumerate(layer.text.split("\n"), 1) if part in text)


def test_every_call_of_the_graph_is_linked_at_every_step() -> None:
    session = small_session()
    links = session.provenance.links
    graph = [label for label, action in zip(session.labels, session.actions, strict=True) if action.level == "relay"]
    for label in graph:
        layer = links.graph(label)
        calls = {number for number, text in enumerate(layer.text.split("\n"), 1) if re.search(r"= (R\.|fused_)", text)}
        dark = [number for number in sorted(calls) if not layer.on(number)]
        assert not dark, (label, texts(layer, dark))
        assert layer.every == links.graph(graph[-1]).every, label


def test_a_fused_kernel_leads_to_each_of_its_operators(links: Links) -> None:
    layers = links.layers(KERNEL)
    assert tuple(layers) == LAYERS
    own = layers["te"].every
    assert operators(links, own) == ["nn.conv2d", "nn.bias_add", "add", "nn.relu"]
    for name in ("te", "schedule", "tir", "ll", "asm"):
        assert layers[name].every == own, name
    store = layers["te"].on(line_with(layers["te"], "bias_add[vi0, vi1, vi2, vi3] = "))
    assert operators(links, store) == ["nn.bias_add"]
    fused = texts(layers["fused"], layers["fused"].lit(store))
    assert [text.split("(")[0] for text in fused if " = R." in text] == ["v1 = R.nn.bias_add"]
    assert [text.split("(")[0] for text in fused if " = fused_" in text] == ["v3 = fused_conv2d_bias_add_add_relu"]


def test_rewritten_operators_lead_to_what_they_were_made_of(links: Links) -> None:
    """The normalisation became a factor of the convolution's weights and of its bias, and an addition."""
    relay_layer, onnx = links.layers(KERNEL)["relay"], links.onnx
    norm = relay_layer.on(line_with(relay_layer, "R.nn.batch_norm"))
    assert operators(links, norm) == ["nn.conv2d", "nn.bias_add", "add"]
    assert texts(onnx, onnx.lit(norm)) == ["Conv#0 ('first')", "BatchNormalization#1 ('norm')"]


def test_a_line_of_assembly_leads_to_one_node_and_back(links: Links) -> None:
    kernel = "fused_nn_softmax"
    layers = links.layers(kernel)
    asm = layers["asm"]
    for line in asm.lit(asm.every):
        assert texts(links.onnx, links.onnx.lit(asm.on(line))) == ["Softmax#9 ('soft')"]
    chosen = links.onnx.on(line_with(links.onnx, "Softmax"))
    assert asm.lit(chosen) == asm.lit(asm.every)
    instructions = {spot.text_line for spot in small_session().provenance.native(kernel, "asm").spots}
    assert instructions == set(asm.lit(asm.every))


def test_what_only_names_bytes_has_a_class_and_no_code(links: Links) -> None:
    session = small_session()
    flat = links.onnx.on(line_with(links.onnx, "Flatten"))
    assert operators(links, flat) == ["reshape"]
    for kernel in session.kernels:
        layers = links.layers(kernel)
        assert not any(layers[name].lit(flat) for name in ("te", "schedule", "tir", "ll", "asm"))


def _shared() -> Any:
    """Two calls of one kernel."""
    x = relay.var("x", shape=(4, 8))
    one = relay.const(np.float32(1.0))
    body = relay.nn.softmax(relay.nn.softmax(x) + one)
    return wb.open(relay.Function([x], body))


def test_calls_of_a_shared_kernel_are_told_apart_in_the_graph() -> None:
    session = _shared()
    links = session.provenance.links
    kernel = next(site.kernel for site in links.sites if "softmax" in site.kernel)
    shared = [site.number for site in links.sites if site.kernel == kernel]
    layers = links.layers(kernel)
    assert len(shared) == 2 and layers["te"].every == links.at(shared[0]) | links.at(shared[1])
    first, second = (texts(layers["relay"], layers["relay"].lit(links.at(number))) for number in shared)
    assert first != second and all("softmax" in text for text in (*first, *second))
    assert "onnx" not in layers


def test_tensor_expressions_are_linked_by_statement() -> None:
    a = te.placeholder((16, 16), name="A")
    b = te.compute((16, 16), lambda i, j: a[i, j] * 2.0, name="B")
    k = te.reduce_axis((0, 16), "k")
    c = te.compute((16, 16), lambda i, j: te.sum(b[i, k] * a[k, j], axis=k), name="C")
    session = wb.open([a, c])
    schedule = session.schedule("main")
    i, j, inner = schedule.get_loops(schedule.get_block("C"))
    schedule.reorder(i, inner, j)
    schedule.vectorize(j)
    session = session.edit(schedule={"main": schedule})
    links = session.provenance.links
    layers = links.layers("main")
    assert tuple(layers) == LAYERS[3:] and len(links.sites) == 0
    doubled = layers["te"].on(line_with(layers["te"], " = A["))
    assert len(doubled) == 1 and len(layers["te"].every) == 2
    for name, layer in layers.items():
        assert layer.lit(doubled), name
        assert layer.every == layers["te"].every, name
    written = enumerate(layers["schedule"].text.split("\n"), 1)
    assert all(layers["schedule"].on(number) for number, text in written if text.strip().startswith("for "))


def test_what_does_something_is_told_from_what_is_around_it() -> None:
    """One click lit whole texts: loops, the signature and the attributes hold the classes of all that is in them."""
    schedule = Schedule(plain_matmul(8, 10, 6))
    *_, k = schedule.get_loops("C")
    outer, inner = schedule.split(k, factors=[None, 2])
    schedule.reorder(inner, outer)
    layers = wb.open(schedule).provenance.links.layers("main")
    for name, loops in (("schedule", 1), ("tir", 2)):
        layer = layers[name]
        chosen = layer.every
        assert all(" = " in text for text in texts(layer, layer.doing(chosen))), name
        assert len(layer.doing(chosen)) == 2 < len(layer.lit(chosen)), name
        written = texts(layer, [line for line in layer.lit(chosen) if layer.grade(line) == AROUND])
        assert [text.startswith("for ") for text in written].count(True) == loops, written
        whole = texts(layer, [line for line in layer.lit(chosen) if layer.grade(line) == WHOLE])
        assert [text.split("(")[0].split(" ")[0] for text in whole] == ["@T.prim_func", "def", "T.func_attr"], name
    assert 0 < len(layers["asm"].doing(layers["asm"].every)) < len(layers["asm"].lit(layers["asm"].every))


def test_what_stands_nowhere_itself_is_led_to_what_is_around_it() -> None:
    layer = Layer("asm", "a\nb\nc", (frozenset((1,)), frozenset((1, 2)), frozenset((1, 2))), (DOES, AROUND, WHOLE))
    assert layer.doing((1,)) == (1,) and layer.doing((2,)) == (2,) and layer.doing((3,)) == ()


def test_every_part_of_a_kernel_is_done_on_some_line_of_every_layer(links: Links) -> None:
    layers = links.layers(KERNEL)
    for number in layers["te"].every:
        for name, layer in layers.items():
            assert layer.doing((number,)), (name, number)
            if name in ("te", "schedule", "tir"):
                assert all(layer.grade(line) == DOES for line in layer.doing((number,))), (name, number)


def test_a_level_without_fusion_is_linked() -> None:
    x = relay.var("x", shape=(4, 8))
    with wb.PassContext(opt_level=0):
        session = wb.open(relay.Function([x], relay.nn.softmax(relay.nn.relu(x))))
    links = session.provenance.links
    for kernel in session.kernels:
        layers = links.layers(kernel)
        assert len(layers["te"].every) == 1 and layers["asm"].every == layers["te"].every
        (thing,) = links.things(layers["te"].every)
        assert isinstance(thing, r.Call)


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (lambda links: links.graph("Nothing"), "E-STEP-UNKNOWN"),
        (lambda links: links.graph("Lower"), "E-STEP-UNKNOWN"),
        (lambda links: links.loops("FuseOps", KERNEL), "E-STEP-UNKNOWN"),
        (lambda links: links.loops("Lower", "nothing"), "E-KERNEL-UNKNOWN"),
        (lambda links: links.native("asm", "nothing"), "E-KERNEL-UNKNOWN"),
        (lambda links: links.native("ptx", KERNEL), "E-SOURCE-FORM"),
        (lambda links: links.at(99), "E-ORIGIN-CALL"),
        (lambda links: links.at("first"), "E-ORIGIN-CALL"),
    ],
    ids=["no step", "no graph", "no loops", "no kernel", "no native kernel", "no form", "no call", "no number"],
)
def test_what_is_not_there_is_refused(links: Links, ask: Any, code: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        ask(links)
    assert caught.value.code == code


def test_a_line_outside_of_a_text_has_no_classes(links: Links) -> None:
    assert links.onnx.on(0) == links.onnx.on(10_000) == frozenset()


def test_nodes_that_compute_on_weights_alone_are_told_apart() -> None:
    """A convolution whose weight the file widens is no cast: it was called one."""
    weight = numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float16), "w")
    nodes = [
        helper.make_node("Cast", ["w"], ["wide"], to=TensorProto.FLOAT),
        helper.make_node("Conv", ["x", "wide"], ["c"]),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    sides = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)]
        for name, shape in (("x", [1, 3, 8, 8]), ("y", [1, 4, 6, 6]))
    ]
    model = helper.make_model(helper.make_graph(nodes, "g", *sides, [weight]))
    links = wb.open(model).provenance.links
    assert links.onnx.text.split("\n") == ["Cast#0", "Conv#1", "Relu#2"]
    assert links.onnx_of_constants == (0,)


def test_where_a_step_stops_the_layers_before_it_are_linked() -> None:
    session = small_session()
    kernel = "fused_nn_softmax"
    (*_, last) = [name for name, one in zip(session.labels, session.actions, strict=True) if one.level == "tir"]
    edited = session[last].edit({kernel: session.provenance.text(kernel, "tir").replace('T.float32("-inf")', "-1e9")})
    stopped = edited.rerun(target="llvm -mcpu=x86-64 -vector-width=32")
    assert stopped.step(stopped.labels[-2]).error is not None
    links = stopped.provenance.links
    assert len(stopped.provenance.calls) == len(session.provenance.calls)
    found = links.layers(kernel)
    assert list(found) == ["onnx", "relay", "fused", "te", "schedule"]
    assert found["schedule"].lit(found["relay"].every) and found["te"].every == found["schedule"].every
    with pytest.raises(WorkbenchError) as caught:
        stopped.provenance.text(kernel, "tir")
    assert caught.value.code == "E-EDIT-REBASE"
