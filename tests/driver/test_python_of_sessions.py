"""The lines of `to_python`, run: they make the plan that they were printed of, and name what they lack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import small_inputs, small_model, small_session
from workbench import relay


def made(session: Any, **given: Any) -> Any:
    """The session that its own lines make."""
    exec(compile(session.to_python(), "session.py", "exec"), given)
    return given["s"]


def kernel_of(session: Any) -> tuple[str, str]:
    """A kernel and its text."""
    name = next(name for name in session.kernels if "dense" in name)
    return name, session.tir[name].script()


def loops_unchanged(session: Any) -> Any:
    name, text = kernel_of(session)
    return session.edit(tir={name: text})


def changed_after_nothing(session: Any) -> Any:
    """An edit put after one that does nothing: its step was named, and not made."""
    name, text = kernel_of(session)
    assert "T.serial(1)" in text
    return loops_unchanged(session).edit(tir={name: text.replace("T.serial(1)", "T.unroll(1)", 1)}, at="Edit")


def graph_unchanged(session: Any) -> Any:
    return session.edit(relay=session.relay.script())


def pass_after_nothing(session: Any) -> Any:
    return loops_unchanged(session).rerun(insert={"Edit": "Simplify"})


@pytest.mark.parametrize("change", [loops_unchanged, changed_after_nothing, graph_unchanged, pass_after_nothing])
def test_an_edit_without_effect_is_a_step_of_the_lines_too(change: Any) -> None:
    session = change(small_session())
    again = made(session, program=small_model())
    assert again.labels == session.labels and again.plan == session.plan, session.to_python()
    for label in session.labels:
        assert again[label].script() == session[label].script(), label


def test_the_path_of_a_file_stands_in_the_lines(tmp_path: Path) -> None:
    """As it was given, the folder with it: the name alone opens nothing, or another file."""
    import onnx

    path = tmp_path / "a folder" / "small.onnx"
    path.parent.mkdir()
    onnx.save(small_model(), path)
    session = wb.open(str(path))
    assert f"wb.open({str(path)!r}" in session.to_python() and "program" not in session.to_python()
    assert made(session).plan == session.plan


@pytest.mark.parametrize("name", ["w", "s", "w:0"])
def test_arrays_bound_to_parameters_are_variables_with_a_remark(name: str) -> None:
    """They were dropped: the lines made a program with a further input."""
    x, w = relay.var("x", shape=(2, 3)), relay.var(name, shape=(4, 3))
    program, array = relay.Function([x, w], relay.nn.dense(x, w)), np.ones((4, 3), "float32")
    session = wb.open(program, params={name: array})
    text = session.to_python()
    variable = name if name == "w" else f"bound[{name!r}]"
    assert f"params={{{name!r}: {variable}}}" in text
    assert f"# {variable}: the array bound to parameter {name}" in text
    given = {"w": array} if name == "w" else {"bound": {name: array}}
    again = made(session, program=program, **given)
    assert again.plan == session.plan and again["Import"].script() == session["Import"].script()


def test_an_input_of_a_file_that_was_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import onnx

    onnx.save(small_model(), tmp_path / "small.onnx")
    monkeypatch.chdir(tmp_path)
    x = small_inputs()["x"]
    session = wb.open("small.onnx", params={"x": x})
    assert "params={'x': x}" in session.to_python()
    assert made(session, x=x).plan == session.plan != made(session, x=x + 1).plan


@pytest.mark.parametrize(
    ("at", "name"),
    [("Lower", "Simplify"), ("Lower", "LowerBlocks"), ("Schedule", "Simplify"), ("InferType", "FuseOps"),
     ("InferType", "FoldConstant")],
)  # fmt: skip
def test_a_pass_put_before_its_twin_that_is_left_out(at: str, name: str) -> None:
    """The lines left out all that stood between the two, the schedules too, which cannot be."""
    session = small_session().rerun(insert={at: name})
    twin = [label for label in session.labels if label.partition("#")[0] == name][-1]
    session = session.without(twin)
    again = made(session, program=small_model())
    assert again.labels == session.labels and again.plan == session.plan, session.to_python()
