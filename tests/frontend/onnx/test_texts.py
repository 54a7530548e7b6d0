"""Names in a model's file that are no UTF-8: each is text all the same, or the model is refused in one message."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import workbench as wb
from workbench.core.errors import WorkbenchError
from workbench.frontend.onnx.texts import with_texts


def model() -> Any:
    """Every field of text of a model has a word of its own in it."""
    branches = [
        helper.make_graph(
            [helper.make_node("Identity", ["hidden"], [f"{one}out"], name=f"{one}node")],
            f"{one}graph", [], [helper.make_tensor_value_info(f"{one}out", TensorProto.FLOAT, None)],
        )
        for one in ("then", "else")
    ]  # fmt: skip
    nodes = [
        helper.make_node("Relu", ["first"], ["middle"], name="relunode", doc_string="nodetext"),
        helper.make_node("Gemm", ["middle", "weight"], ["hidden"], transB=1),
        helper.make_node("If", ["choice"], ["chosen"], then_branch=branches[0], else_branch=branches[1]),
        helper.make_node("Twice", ["chosen"], ["result"], domain="owndomain"),
        helper.make_node("Conv", ["image", "kernel"], ["second"], auto_pad="SAME_UPPER"),
    ]
    body = [helper.make_node("Add", ["inside", "inside"], ["outside"])]
    twice = helper.make_function("owndomain", "Twice", ["inside"], ["outside"], body, [helper.make_opsetid("", 17)])
    held = {"weight": np.ones((7, 5)), "kernel": np.ones((1, 1, 3, 3))}
    graph = helper.make_graph(
        nodes, "graphname",
        [helper.make_tensor_value_info("first", TensorProto.FLOAT, ["batch", 5]),
         helper.make_tensor_value_info("choice", TensorProto.BOOL, []),
         helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, 5, 5])],
        [helper.make_tensor_value_info("result", TensorProto.FLOAT, ["batch", 7]),
         helper.make_tensor_value_info("second", TensorProto.FLOAT, [1, 1, 5, 5])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in held.items()],
        doc_string="graphtext", value_info=[helper.make_tensor_value_info("middle", TensorProto.FLOAT, ["batch", 5])],
    )  # fmt: skip
    made = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("owndomain", 1)], ir_version=8,
        functions=[twice], producer_name="producer", producer_version="numbered", doc_string="modeltext",
        domain="modeldomain",
    )  # fmt: skip
    helper.set_model_props(made, {"metakey": "metavalue"})
    return made


DATA = model().SerializeToString()
WORDS = sorted({word for word in re.findall(rb"[A-Za-z_]{3,}", DATA)})


@pytest.mark.parametrize("count", [1, -1], ids=["once", "everywhere"])
@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.decode())
def test_a_damaged_text_is_text_or_one_refusal(word: bytes, count: int, tmp_path: Path) -> None:
    damaged = DATA.replace(word, word[:1] + b"\xff" + word[2:], count)
    assert damaged != DATA
    try:
        session = wb.open(damaged, shape={"first": (3, 5)})
    except WorkbenchError as error:
        assert len(str(error).splitlines()) <= 6
        return
    assert repr(session) and session._repr_mimebundle_() and session["Import"].script()
    session.save(str(tmp_path / "s.wb.json"))
    assert wb.open(str(tmp_path / "s.wb.json"))["Import"].script() == session["Import"].script()


def test_an_operator_is_named_with_the_damage() -> None:
    with pytest.raises(WorkbenchError) as caught:
        wb.open(DATA.replace(b"Relu", b"Re\xffu"), shape={"first": (3, 5)})
    assert caught.value.code == "E-ONNX-UNSUPPORTED" and "Re\\xffu" in str(caught.value)


def test_a_damaged_name_of_an_input_is_used_as_it_is_shown() -> None:
    nodes = [helper.make_node("Relu", ["first"], ["last"])]
    first, last = ([helper.make_tensor_value_info(name, TensorProto.FLOAT, [3])] for name in ("first", "last"))
    plain = helper.make_model(helper.make_graph(nodes, "g", first, last), opset_imports=[helper.make_opsetid("", 17)])
    session = wb.open(plain.SerializeToString().replace(b"first", b"f\xfcrst").replace(b"last", b"l\xe4st"))
    made = session.run({"f\\xfcrst": np.array([-1, 0, 1], np.float32)})
    np.testing.assert_array_equal(made["l\\xe4st"], [0, 0, 1])


def test_a_models_object_is_left_alone() -> None:
    given = ModelProto.FromString(DATA.replace(b"graphname", b"gr\xffphname"))
    before = given.SerializeToString()
    wb.open(given, shape={"first": (3, 5)})
    assert given.SerializeToString() == before and with_texts(given, own=False) is not given
    whole = model()
    assert with_texts(whole, own=False) is whole
