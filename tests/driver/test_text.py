"""The text of modules: exact round trip, and errors that say where."""

from __future__ import annotations

import pytest

from tests.driver.programs import small_session
from workbench import WorkbenchError
from workbench.core.equal import same
from workbench.core.module import IRModule
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
