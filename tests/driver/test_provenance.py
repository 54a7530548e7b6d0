"""The chain from ONNX nodes to blocks and back: `origins` and `became`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.driver.programs import small_session
from workbench.core.node import post_order, pre_order
from workbench.core.origin import ImportedFrom
from workbench.relay.ir import expr as r
from workbench.relay.ir.operator import Operator
from workbench.tir import nodes as t


def names(found: Any) -> set[str]:
    """The ONNX nodes in an answer of `origins`."""
    assert all(isinstance(item, ImportedFrom) for item in found), f"not traced back to the file: {found}"
    return {item.name for item in found}


def blocks(function: Any) -> list[t.Block]:
    return [node for node in pre_order(function) if isinstance(node, t.Block) and node.name != "root"]


def convolutions(session: Any, step: str) -> list[r.Call]:
    return [
        node
        for node in session[step].after.nodes()
        if isinstance(node, r.Call) and getattr(node.op, "name", "") == "nn.conv2d"
    ]


@pytest.fixture(scope="module")
def session() -> Any:
    made = small_session()
    made.build()
    return made


def operators(session: Any, step: str) -> list[tuple[str, set[str]]]:
    """Every operator outside of primitive functions, with the ONNX nodes that it comes from, in order."""
    nodes = [node for node in post_order(session[step].after["main"]) if isinstance(node, r.Call)]
    return [(node.op.name, names(session.origins(node))) for node in nodes if isinstance(node.op, Operator)]


def test_an_operator_taken_out_of_its_kernel_comes_from_what_it_came_from_before(session: Any) -> None:
    """Not from all that was in the kernel, and not from what the next kernel begins with."""
    apart = session.rerun(insert={"FuseOps": "DefuseOps"})
    assert len(operators(session, "FoldConstant#3")) > 5
    assert operators(apart, "DefuseOps") == operators(session, "FoldConstant#3")


@pytest.mark.parametrize("step", ["Import", "SimplifyInference", "FoldScaleAxis", "EliminateCommonSubexpr"])
def test_every_convolution_comes_from_its_node(session: Any, step: str) -> None:
    found = [names(session.origins(call)) for call in convolutions(session, step)]
    assert len(found) == 3
    for wanted in ("first", "left", "right"):
        assert any(any(wanted in name for name in some) for some in found), f"{wanted}: {found}"


def test_a_convolution_comes_from_one_node_alone(session: Any) -> None:
    for call in convolutions(session, "Import"):
        assert len(session.origins(call)) == 1


def test_a_fused_function_comes_from_all_of_its_nodes(session: Any) -> None:
    fused = [
        node
        for node in session["FuseOps"].after.nodes()
        if isinstance(node, r.Call) and isinstance(node.op, r.Function)
    ]
    with_relu = next(
        call
        for call in fused
        if any(getattr(getattr(n, "op", None), "name", "") == "nn.relu" for n in pre_order(call.op))
    )
    found = names(session.origins(with_relu.op))
    assert any("first" in name for name in found) and any("relu" in name for name in found), found
    assert not any("dense" in name or "soft" in name for name in found), f"too much: {found}"


@pytest.mark.parametrize("step", ["Lower", "Schedule"])
def test_the_blocks_of_a_kernel_come_from_its_nodes(session: Any, step: str) -> None:
    module = session[step].after
    for kernel, wanted in (("softmax", "soft"), ("relu", "first"), ("dense", "dense")):
        name = next(name for name in module.names() if kernel in name)
        for block in blocks(module[name]):
            found = names(session.origins(block))
            assert any(wanted in origin or (kernel == "relu" and origin) for origin in found), f"{block.name}: {found}"


def test_a_loop_program_comes_from_its_nodes_to_the_end(session: Any) -> None:
    module = session["InsertPolls"].after
    name = next(name for name in module.names() if "softmax" in name)
    found = {
        origin
        for node in pre_order(module[name])
        if isinstance(node, t.BufferStore)
        for origin in names(session.origins(node))
    }
    assert found and all("soft" in origin for origin in found), found


def test_what_a_node_of_the_file_became(session: Any) -> None:
    label = next(name for name in names(session.origins(convolutions(session, "Import")[0])))
    became = session.became(label)
    assert list(became) == list(session.labels)
    kinds = {step: {type(thing).__name__ for thing in things} for step, things in became.items()}
    assert "Call" in kinds["Import"] and "Call" in kinds["FoldScaleAxis"] and "Function" in kinds["FuseOps"]
    assert {"Block", "PrimFunc"} & kinds["Lower"], kinds["Lower"]
    assert kinds["Schedule"] and kinds["FlattenBuffer"], "the chain breaks at the loops"


def test_there_and_back(session: Any) -> None:
    call = next(
        node
        for node in session["Import"].after.nodes()
        if isinstance(node, r.Call) and getattr(node.op, "name", "") == "nn.softmax"
    )
    things = session.became(call)["Lower"]
    assert any(isinstance(thing, t.Block) for thing in things), [type(thing).__name__ for thing in things]
    for thing in things:
        if isinstance(thing, t.Block) and thing.name != "root":
            assert names(session.origins(thing)) == names(session.origins(call))


def test_an_unknown_thing_became_nothing_and_came_from_itself(session: Any) -> None:
    stranger = r.Var("stranger")
    assert all(things == () for things in session.became(stranger).values())
    assert session.origins(stranger) == (stranger,)
