"""New inputs on an open screen: nothing that was found out with other ones is shown as if it were of these."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.driver.planted_rule import INPUTS, planted_rule
from workbench import WorkbenchError
from workbench.ui.workbench import Workbench

OTHERS = {name: array + 1 for name, array in INPUTS.items()}


@pytest.fixture
def screen() -> Iterator[Workbench]:
    with planted_rule() as session:
        yield Workbench(session)


def asked(screen: Workbench, op: str, **args: Any) -> dict[str, Any]:
    content = screen.ask(op, **args).content
    assert content["ok"], content
    return content["view"]


def checked(screen: Workbench) -> dict[str, Any]:
    asked(screen, "checks.start")
    check = screen.checks.check
    assert check is not None
    check.wait()
    return asked(screen, "checks.state")


def test_badges_belong_to_the_inputs_of_the_check(screen: Workbench) -> None:
    screen.inputs = INPUTS
    first = checked(screen)
    assert first["first_wrong"] == "Planted"
    screen.inputs = OTHERS
    assert asked(screen, "checks.state")["state"] == "none" and screen.checks.check is None
    again = checked(screen)
    assert [badge["tensor"] for badge in again["badges"]] != [badge["tensor"] for badge in first["badges"]]
    screen.inputs = {name: array.copy() for name, array in INPUTS.items()}
    assert asked(screen, "checks.state")["badges"] == first["badges"], "the same numbers are the same inputs"
    screen.inputs = None
    assert asked(screen, "checks.state")["state"] == "none"


def test_the_check_of_a_cell_goes_with_the_inputs_that_the_screen_had(screen: Workbench) -> None:
    screen.checks.check = screen.session.check(INPUTS).wait()
    assert asked(screen, "checks.state")["state"] == "done"
    screen.inputs = OTHERS
    assert asked(screen, "checks.state")["state"] == "none"


def test_pages_are_told_of_other_inputs_and_of_those_alone(screen: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(screen, "send", lambda content, buffers=None: told.append(content["event"]))
    screen.inputs = INPUTS
    screen.inputs = dict(INPUTS)
    assert told == ["inputs"]
    screen.inputs = OTHERS
    screen.inputs = None
    screen.inputs = None
    assert told == ["inputs"] * 3


def test_tensors_are_those_of_the_present_inputs(screen: Workbench) -> None:
    step = asked(screen, "tensors.steps")["graph"][0]
    facts = []
    for inputs in (INPUTS, OTHERS, INPUTS):
        screen.inputs = {name: array.copy() for name, array in inputs.items()}
        asked(screen, "tensors.list", step=step)
        facts.append(asked(screen, "tensors.look", step=step, number=0)["facts"])
    assert facts[0] == facts[2] != facts[1]


def test_an_array_that_is_written_later_changes_nothing(screen: Workbench) -> None:
    mine = {name: array.copy() for name, array in INPUTS.items()}
    screen.inputs = mine
    badges = checked(screen)["badges"]
    for array in mine.values():
        array[...] = 7
    assert screen.inputs is not None
    with pytest.raises(TypeError):  # it would change what runs and not what is shown
        screen.inputs[next(iter(INPUTS))] = np.ones(1)  # type: ignore[index]
    for name, array in INPUTS.items():
        np.testing.assert_array_equal(screen.inputs[name], array)
    assert asked(screen, "checks.state")["badges"] == badges


@pytest.mark.parametrize("inputs", [3, [1.0], {1: np.ones(2)}, {"x": object()}, {"x": [[1], [1, 2]]}, {"x": "one"}])
def test_what_is_no_array_by_name_is_one_error(screen: Workbench, inputs: Any) -> None:
    screen.inputs = INPUTS
    with pytest.raises(WorkbenchError) as caught:
        screen.inputs = inputs
    assert caught.value.code == "E-UI-ARGUMENT"
    assert screen.inputs is not None and set(screen.inputs) == set(INPUTS)


def test_arrays_of_the_workbench_are_taken_as_well(screen: Workbench) -> None:
    screen.inputs = {name: wb.nd.array(array) for name, array in INPUTS.items()}
    assert checked(screen)["inputs"] == "screen.inputs"
