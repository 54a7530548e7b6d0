"""Attributes of calls changed on a graph: again, taken back, and of one call among several that share a function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.ui.asking import ask, refused
from tests.ui.test_odd_texts import DEEP
from workbench import relay
from workbench.ui.workbench import Workbench


def leaky(screen: Workbench) -> list[Any]:
    return [call for call in ask(screen, "calls", layer="relay")["calls"] if call["op"] == "nn.leaky_relu"]


def change(screen: Workbench, call: Any, text: str) -> None:
    ask(screen, "set_attribute", layer="relay", step="", place=call["place"], number=call["number"], name="alpha",
        text=text)  # fmt: skip


def test_an_attribute_changed_twice_is_what_it_was_given_last() -> None:
    """The second change went before the first, which did not apply any more; the form showed the imported value."""
    x = relay.var("x", shape=(2, 2))
    program = wb.IRModule.from_expr(relay.Function([x], relay.nn.leaky_relu(relay.exp(x), alpha=0.5)))
    screen, given = Workbench(wb.open(program)), np.full((2, 2), -1.0, "float32")
    for text in ("0.25", "0.125"):
        (call,) = leaky(screen)
        change(screen, call, text)
        assert leaky(screen)[0]["facts"]["alpha"] == float(text)
        assert not any(layer["note"] for layer in ask(screen, "open")["layers"])
    assert "alpha=0.125" in "\n".join(ask(screen, "pane", layer="relay")["text"]["chunks"][0]["lines"])
    lines = screen.session.provenance.links.layers(screen.session.kernels[0])["relay"]
    assert "alpha=0.125" in lines.text and any(lines.lines)
    names = {"program": program}
    exec(screen.session.to_python(), names)
    rebuilt: Any = names["s"]
    assert rebuilt.tir.script() == screen.session.tir.script()
    np.testing.assert_array_equal(rebuilt.run({"x": given})["output_0"], screen.session.run({"x": given})["output_0"])
    ask(screen, "pipeline.undo")
    assert leaky(screen)[0]["facts"]["alpha"] == 0.25


def test_only_the_call_that_was_clicked_is_changed() -> None:
    """Two calls share one function: the other one keeps it."""
    p, x = relay.var("p", shape=(4,)), relay.var("x", shape=(4,))
    shared = relay.Function([p], relay.nn.leaky_relu(p, alpha=0.5)).with_attr("Primitive", 1)
    body = relay.Call(shared, [relay.negative(relay.Call(shared, [x]))])
    session = wb.open(wb.IRModule.from_expr(relay.Function([x], body)), passes=["InferType", "FuseOps"])
    screen = Workbench(session)
    change(screen, leaky(screen)[0], "0.25")
    assert [call["facts"]["alpha"] for call in leaky(screen)] == [0.25, 0.5]
    found = screen.session.run({"x": np.array([-8.0, 4.0], "float32").repeat(2)})["output_0"]
    np.testing.assert_array_equal(found, np.array([2.0, 2.0, -2.0, -2.0], "float32"))


def clipping() -> tuple[Workbench, dict[str, Any]]:
    """A screen on one clip, and the arguments of `set_attribute` for its upper bound."""
    x = relay.var("x", shape=(4,))
    screen = Workbench(wb.open(wb.IRModule.from_expr(relay.Function([x], relay.clip(x, 0.0, 6.0)))))
    (call,) = ask(screen, "calls", layer="relay")["calls"]
    return screen, {
        "layer": "relay", "step": "", "place": call["place"], "number": call["number"], "name": "a_max"
    }  # fmt: skip


@pytest.mark.parametrize(("text", "shown", "most"), [
    ("inf", "inf", np.inf), ("1e400", "inf", np.inf), (" -Infinity", "-inf", -np.inf), ("-1e400", "-inf", -np.inf),
    ("7", 7, 7),
])  # fmt: skip
def test_infinity_is_a_number_however_it_is_written(text: str, shown: Any, most: float) -> None:
    """A bound that is none: as the facts of the call show it, so it may be given."""
    screen, at = clipping()
    ask(screen, "set_attribute", **at, text=text)
    assert ask(screen, "calls", layer="relay")["calls"][0]["facts"]["a_max"] == shown
    given = np.array([-1, 2, 8, 400], "float32")
    expected = np.minimum(np.maximum(given, 0), np.float32(most))
    np.testing.assert_array_equal(screen.session.run({"x": given})["output_0"], expected)
    names = {"program": screen.session.step(0).stage.module}
    exec(screen.session.to_python(), names)
    rebuilt: Any = names["s"]
    np.testing.assert_array_equal(rebuilt.run({"x": given})["output_0"], expected)


def test_an_attribute_of_a_program_that_was_shown_before_is_not_changed_in_the_next_one() -> None:
    """Its place and number name another call there: a page may not have drawn that yet."""
    screen, at = clipping()
    seen = ask(screen, "open")["plan"]
    x = relay.var("x", shape=(4,))
    screen.session = wb.open(wb.IRModule.from_expr(relay.Function([x], relay.clip(x, 0.0, 3.0))))
    assert refused(screen, "set_attribute", **at, text="7", seen=seen)["code"] == "E-UI-STALE"
    assert ask(screen, "calls", layer="relay")["calls"][0]["facts"]["a_max"] == 3
    ask(screen, "set_attribute", **at, text="7", seen=ask(screen, "open")["plan"])
    assert ask(screen, "calls", layer="relay")["calls"][0]["facts"]["a_max"] == 7


@pytest.mark.parametrize("text", ["nan", "'inf'", "infinite", "", "1 if x", *DEEP.values()], ids=lambda text: text[:9])
def test_what_is_no_number_is_refused_as_an_attribute(text: str) -> None:
    screen, at = clipping()
    error = refused(screen, "set_attribute", **at, text=text)
    assert error["code"] == "E-OPERATOR-ATTRIBUTE" and error["expected"], error
    assert len(error["message"]) < 200


def test_a_value_that_does_not_fit_is_refused_by_its_name_and_with_a_way_out() -> None:
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    made = relay.nn.conv2d(x, w, padding=1)
    screen = Workbench(wb.open(wb.IRModule.from_expr(relay.Function([x, w], relay.add(made, made)))))
    call = next(one for one in ask(screen, "calls", layer="relay")["calls"] if one["op"] == "nn.conv2d")
    at = {"layer": "relay", "step": "", "place": call["place"], "number": call["number"]}
    error = refused(screen, "set_attribute", **at, name="groups", text="2")
    assert "groups=2 of nn.conv2d" in error["where"] and error["fix"], error
