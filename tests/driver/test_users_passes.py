"""Passes of the user's in sessions: edited in their cells, named like others, not there when a file is opened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import WorkbenchError, relay
from workbench.core.transform import PASSES, PassContext, Sequential, module_pass

HEAD = """
import numpy as np
from workbench import WorkbenchError, relay
from workbench.core.transform import module_pass

def adding(mod, number):
    old = mod["main"]
    body = relay.op.add(old.body, relay.const(np.float32(number)))
    return mod.with_functions({"main": relay.Function(old.params, body, body.checked_type)})
"""
CELLS = {
    "global": "NUMBER = {}\n@module_pass(name='Adds')\ndef Adds(mod, ctx):\n    return adding(mod, NUMBER)",
    "class": "class Held:\n    number = {}\n@module_pass(name='Adds')\ndef Adds(mod, ctx):\n"
    "    return adding(mod, Held.number)",
    "dictionary": "TABLE = {{'number': {}}}\n@module_pass(name='Adds')\ndef Adds(mod, ctx):\n"
    "    return adding(mod, TABLE['number'])",
    "captured array": "def made(array):\n    @module_pass(name='Adds')\n    def Adds(mod, ctx):\n"
    "        return adding(mod, array[0])\n    return Adds\nAdds = made(np.array([{}.0]))",
    "method of a helper": "class Helper:\n    def number(self):\n        return {}\n@module_pass(name='Adds')\n"
    "def Adds(mod, ctx):\n    return adding(mod, Helper().number())",
}


@pytest.fixture(autouse=True)
def forget_test_passes() -> Iterator[None]:
    before = set(PASSES)
    yield
    for name in set(PASSES) - before:
        PASSES.remove(name)


def opened(**options: Any) -> Any:
    x = relay.var("x", shape=(2, 3))
    return wb.open(wb.IRModule.from_expr(relay.Function([x], relay.nn.relu(x))), **options)


def added(session: Any) -> float:
    """What the session's pass adds."""
    return float(next(iter(session.run({"x": np.zeros((2, 3), "float32")}).values()))[0, 0])


@pytest.mark.parametrize("cell", CELLS)
def test_a_pass_whose_surroundings_are_edited_runs_again(cell: str) -> None:
    session = opened()
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(HEAD, "first cell", "exec", dont_inherit=True), names)
    found = []
    for number in (1, 2, 1):
        exec(compile(CELLS[cell].format(number), "cell", "exec", dont_inherit=True), names)
        found.append(added(session.rerun(passes=[names["Adds"], "FuseOps"])))
    assert found == [1, 2, 1]


def test_a_pass_named_like_one_of_the_workbench_runs_where_it_is_given() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(HEAD + CELLS["global"].format(5).replace("Adds", "FoldConstant"), "cell", "exec"), names)
    assert added(opened(passes=[names["FoldConstant"], "FuseOps"])) == 5
    assert added(opened()) == 0 and added(opened(passes=["FoldConstant", "FuseOps"])) == 0


def test_a_pass_required_by_another_is_the_workbenchs() -> None:
    @module_pass(name="InferType")
    def InferType(mod: Any, ctx: PassContext) -> Any:
        raise AssertionError("not this one")

    @module_pass(name="Needs", required=["InferType"])
    def Needs(mod: Any, ctx: PassContext) -> Any:
        return mod

    assert added(opened(passes=[Needs, "FuseOps"])) == 0


def test_a_saved_session_knows_its_pass_by_its_code(tmp_path: Any) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(HEAD + CELLS["global"].format(5), "cell", "exec"), names)
    session = opened(passes=[names["Adds"], "FuseOps"])
    path = str(tmp_path / "s.wb.json")
    session.save(path)
    assert added(session) == added(wb.open(path)) == 5
    exec(compile(CELLS["global"].format(6), "cell", "exec"), names)
    with pytest.raises(WorkbenchError) as caught:
        wb.open(path)
    assert caught.value.code == "E-PASS-DIFFERS"
    assert added(session) == 5 and added(session.reload()) == 6
    PASSES.remove("Adds")
    with pytest.raises(WorkbenchError) as caught:
        wb.open(path)
    assert caught.value.code == "E-PASS-UNKNOWN" and "cell" in caught.value.fix


def test_passes_of_other_passes_are_other_passes() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(HEAD + CELLS["captured array"].format(2), "cell", "exec"), names)
    session = opened()
    chosen = [Sequential([names["made"](np.float32([number]))]) for number in (2, 3)]
    assert [added(session.rerun(insert={"FuseOps": each})) for each in chosen] == [2, 3]
