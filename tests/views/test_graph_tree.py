"""A graph in words, and what a step changed as lists."""

from __future__ import annotations

import re

import workbench as wb
from tests.driver.programs import small_session
from workbench import relay
from workbench.views.graph_tree import graph_tree, spoken
from workbench.views.layers import LayersModel


def test_calls_hold_their_operators_and_say_what_changed_them() -> None:
    items = graph_tree(small_session().step("FuseOps"), {}).items
    calls = [item for item in items if item.kind == "call"]
    assert len(calls) == len(LayersModel(small_session()).graph("fused").boxes) - 1, "one box is the input"
    for number, item in enumerate(items):
        if item.kind == "operator":
            assert item.level == next(one for one in reversed(items[:number]) if one.kind == "call").level + 1
            assert "FuseOps" not in item.changed, "being put into a function alters no operator"
    assert all(item.changed[-1] == "FuseOps" for item in calls)
    steps_of = {item.id: set(item.changed) for item in calls}
    held = [item for item in items if item.kind == "operator" and item.changed]
    assert held and all(set(item.changed) <= steps_of[item.id.split("#")[0]] for item in held)
    softmax = next(item for item in items if item.title == "nn.softmax")
    assert (softmax.inputs, softmax.shape) == (1, "1×7 float32") and re.fullmatch(r"v\d+", softmax.name)


def test_the_imported_graph_was_changed_by_nothing() -> None:
    items = graph_tree(small_session().step("Import"), {}).items
    assert items and all(item.changed == () and item.kind != "operator" for item in items)


def test_what_a_step_changed_is_told_apart() -> None:
    found = spoken(small_session().step("FuseOps"))
    assert found.summary.startswith("FuseOps: ") and found.counts["added"] == len(found.added)
    assert any(line.startswith("def fused_") for line in found.added)
    assert not any(line.startswith("@") for line in found.added)
    names = [{line.split(" = ")[0] for line in lines if " = " in line} for lines in (found.added, found.removed)]
    assert found.changed and found.removed and names[0] & names[1] <= names[0]
    nothing = spoken(small_session().step("InferType"))
    assert (nothing.added, nothing.removed, nothing.changed) == ((), (), ())


def test_of_a_step_that_changed_much_all_is_counted_and_the_first_are_listed() -> None:
    """The lists' lengths were told as what there is: "300 added" of 1,480."""
    x = relay.var("x", shape=(4,), dtype="float32")
    values: relay.Expr = x
    for _ in range(320):
        values = relay.tanh(values)
    before = wb.open(relay.Function([x], x))
    found = spoken(before["InferType"].edit({"main": relay.Function([x], values)}).step("Edit"))
    assert found.counts["added"] >= 320 and len(found.added) == 300
    assert found.to_json()["counts"] == dict(found.counts)
