"""Runs of loop programs take what runs of models take: numbers for inputs without axes, lists, symbolic extents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import te
from workbench.core.errors import WorkbenchError

ROW = np.arange(2, dtype=np.float32)


def shifted() -> Any:
    x, y = te.placeholder((), name="X"), te.placeholder((2,), name="Y")
    return wb.open([x, y, te.compute((2,), lambda i: x() + y[i], name="C")])


@pytest.mark.parametrize("number", [3, 3.0, np.float32(3), np.array(3, np.float32)], ids=repr)
def test_a_number_is_an_input_without_axes(number: Any) -> None:
    session = shifted()
    assert session.run({"X": number, "Y": ROW})["C"].tolist() == [3, 4]
    assert session.check_numerics({"X": number, "Y": ROW}).first_wrong is None


def test_a_list_is_an_array() -> None:
    assert shifted().run({"X": 1, "Y": [1, 2]})["C"].tolist() == [2, 3]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"X": [1.0], "Y": ROW}, "E-RUN-SHAPE"),
        ({"X": 1.0, "Y": [1, 2, 3]}, "E-RUN-SHAPE"),
        ({"X": np.float64(1), "Y": ROW}, "E-RUN-DTYPE"),
        ({"X": "one", "Y": ROW}, "E-CALL-KIND"),
    ],
)
def test_what_is_no_such_input_is_refused(given: Any, code: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        shifted().run(given)
    assert caught.value.code == code


def test_what_is_written_stays_the_array_that_was_given() -> None:
    out = np.zeros(2, np.float32)
    assert shifted().run({"X": 1, "Y": ROW, "C": out})["C"] is out and out.tolist() == [1, 2]


def test_extents_are_those_of_the_arrays() -> None:
    """They were asked for by name, and refused as one argument too many when they were given."""
    extent, factor = te.var("n"), te.var("k")
    y = te.placeholder((extent,), name="Y")
    program = te.create_prim_func([y, factor, te.compute((extent,), lambda i: y[i] * te.cast("float32", factor))])
    name = program.params[-1].name
    out = np.zeros(3, np.float32)
    assert wb.open(program).run({"Y": [1, 2, 3], "k": 2, name: out})[name].tolist() == [2, 4, 6]
    with pytest.raises(WorkbenchError, match="E-RUN-OUTPUT"):
        wb.open(program).run({"Y": [1, 2, 3], "k": 2})
