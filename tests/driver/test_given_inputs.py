"""Inputs that nobody gave: what is drawn, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import small_session
from workbench import WorkbenchError, relay
from workbench.driver.given_inputs import drawn_inputs, require_drawable


def test_drawn_inputs_are_those_of_the_model_and_the_same_each_time() -> None:
    session = small_session()
    module = session.history.step(session.actions, 0).stage.module
    drawn, again = drawn_inputs(module), drawn_inputs(module)
    assert list(drawn) == list(again) and drawn
    for name, array in drawn.items():
        np.testing.assert_array_equal(array, again[name])
    session.run(drawn)


def test_integers_are_zero_and_one() -> None:
    x = relay.var("x", shape=(64,), dtype="int64")
    drawn = drawn_inputs(wb.IRModule.from_expr(relay.Function([x], relay.add(x, x))))
    assert drawn["x"].dtype == np.int64 and set(drawn["x"]) == {0, 1}


def test_an_extent_that_is_not_known_is_refused_by_name() -> None:
    x = relay.var("x", shape=(relay.Any(), 4), dtype="float32")
    module = relay.transform.InferType()(wb.IRModule.from_expr(relay.Function([x], relay.nn.relu(x))))
    with pytest.raises(WorkbenchError, match="'x'") as caught:
        drawn_inputs(module)
    error = caught.value
    assert error.code == "E-RUN-DRAWN" and error.where == "input 'x'" and error.found and error.expected and error.fix


def test_arrays_beyond_the_limit_are_refused_before_they_are_drawn() -> None:
    x = relay.var("x", shape=(1 << 20, 1 << 12), dtype="float32")
    module = relay.transform.InferType()(wb.IRModule.from_expr(relay.Function([x], relay.nn.relu(x))))
    with pytest.raises(WorkbenchError, match="4,294,967,296 elements") as caught:
        drawn_inputs(module)
    error = caught.value
    assert error.code == "E-RUN-DRAWN" and error.where == "input 'x'" and error.expected and error.fix


def test_of_several_arrays_beyond_the_limit_the_largest_is_named() -> None:
    with pytest.raises(WorkbenchError, match="E-RUN-DRAWN") as caught:
        require_drawable({"parameter A": (1 << 28,), "parameter B": (1 << 29,)})
    assert caught.value.where == "parameter B, the largest of 2"
    require_drawable({"parameter A": (1 << 28,), "parameter B": (1 << 28,)})
