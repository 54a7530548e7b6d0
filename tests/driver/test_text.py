"""The text of modules: exact round trip, and errors that say where."""

from __future__ import annotations

import re

import pytest

import workbench as wb
from tests.driver.programs import small_session
from workbench import WorkbenchError, relay
from workbench.core.equal import same
from workbench.core.module import IRModule
from workbench.driver.edit_check import place
from workbench.driver.text import constants_in, parse, script


def test_every_program_of_every_step_survives_its_text() -> None:
    for step in small_session().steps:
        module = step.after
        read = parse(script(module), constants_in(module))
        assert read.names() == module.names(), step.name
        for name in module.names():
            assert same(read[name], module[name]), f"{name} after {step.name} reads as another program"


def test_an_empty_module_has_a_text() -> None:
    assert "class Module" in script(IRModule({}))


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("R.nn.softmax", "R.nn.softmacks", "softmacks"),
        ("return v", "return w", "return w"),
        ("R.nn.relu(", "R.nn.relu((", "relu(("),
        ("def main(", "def main[", "@R.function"),
    ],
)
def test_an_error_names_its_line_in_the_whole_text(old: str, new: str, line: str) -> None:
    module = small_session()["EliminateCommonSubexpr"].after
    text = script(module).replace(old, new)
    number = next(index for index, content in enumerate(text.split("\n"), 1) if line in content)
    with pytest.raises(WorkbenchError) as caught:
        parse(text, constants_in(module))
    assert f"line {number}" in caught.value.where, f"{caught.value}\nexpected line {number}"


@pytest.mark.parametrize(
    "text", ["", "x", "import os", "class Module:\n    pass", "@R.function", "\0", "def f(): pass"]
)
def test_other_texts_are_refused(text: str) -> None:
    try:
        made = parse(text)
    except WorkbenchError:
        return
    assert len(made) == 0, f"{text!r} was read as {made.names()}"


def test_text_is_not_executed(tmp_path: object) -> None:
    text = "@R.function\ndef main(x: R.Tensor((2,), 'float32')):\n    return __import__('os').abort()\n"
    with pytest.raises(WorkbenchError):
        parse(text)


# --- edits are checked where they stand ---


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ("R.nn.relu(", "R.nn.relux(", "E-RELAY-PARSE", "R.nn.relux("),
        ("channels=5", "channels=4", "E-TYPE-SHAPE", "channels=4"),
        ("newshape=(1, 5)", "newshape=(1, 6)", "E-TYPE-RESHAPE", "newshape=(1, 6)"),
        ("R.subtract(v14", "R.subtract(w14", "E-RELAY-PARSE", "R.subtract(w14"),
    ],
)
@pytest.mark.parametrize("whole", [False, True])
def test_an_error_in_an_edited_graph_names_its_line(old: str, new: str, code: str, line: str, whole: bool) -> None:
    session = small_session()
    program = session["SimplifyInference"].program
    text = (program.script() if whole else program["main"].script()).replace(old, new, 1)
    with pytest.raises(WorkbenchError) as caught:
        session.edit(relay=text if whole else {"main": text}, at="SimplifyInference")
    found = place(caught.value)
    assert caught.value.code == code and found is not None
    assert line in text.split("\n")[found[0] - 1]


def test_an_error_in_an_edited_kernel_names_its_line() -> None:
    session = small_session()
    name = session.kernels[0]
    text = re.sub(r"(conv2d\w*\[[^]]+)\] = (conv2d\w*\[)", r"\1 + 9] = \2", session.tir[name].script())
    with pytest.raises(WorkbenchError) as caught:
        session.edit(tir={name: text})
    found = place(caught.value)
    assert caught.value.code == "E-TIR-VERIFY" and caught.value.kept == "the program before the edit"
    assert found is not None and " + 9] = conv2d" in text.split("\n")[found[0] - 1]


def test_trouble_that_was_there_before_is_left_to_the_steps() -> None:
    x = relay.var("x", shape=(2, 3), dtype="float32")
    function = relay.Function([x], relay.nn.relu(x))
    wrong = IRModule({"main": function, "other": relay.Function([x], relay.Call(relay.GlobalVar("nowhere"), [x]))})
    session = wb.open(wrong, passes=["FuseOps"])
    text = session[0].program["main"].script().replace("nn.relu", "tanh")
    assert session.edit(relay={"main": text}, at="Import").labels[1] == "Edit"
