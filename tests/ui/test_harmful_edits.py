"""A kernel edited on the screen so that it writes outside of its memory: commands that run it are refused."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.driver.test_first_run import add_one, small_inputs, small_session
from tests.ui.asking import ask, refused
from workbench.driver import first_run
from workbench.ui.workbench import Workbench


@pytest.mark.parametrize("index", ["i + 10000000", "i - 3"])
def test_a_harmful_edit_is_not_measured(index: str) -> None:
    first_run._verdicts.clear()
    screen = Workbench(add_one())
    step = next(one for one in ask(screen, "pipeline.open")["steps"] if one["name"] == "CompactBuffers")
    text = ask(screen, "pipeline.source", step=step["id"], function="main")["text"]
    ask(screen, "pipeline.edit", step=step["id"], function="main", text=text.replace("C[i]", f"C[{index}]"))
    edited = screen.session
    for op in ("measure", "measure"):  # the second is told what the first one found
        error = refused(screen, op, kernel="main")
        assert error["code"] == "E-EDIT-HARM" and "store to C" in error["found"] and error["kept"]
    assert screen.session is edited


def test_a_harmful_kernel_is_not_profiled() -> None:
    name = "fused_nn_global_avg_pool2d"
    text = small_session()["CompactBuffers"].program[name].script()
    last = [line for line in text.splitlines() if "] = " in line][-1]
    target = last.split(" = ")[0]
    session = small_session().edit(tir={name: text.replace(target, target.replace("[", "[9000000 + ", 1))},
                                   at="CompactBuffers")  # fmt: skip
    screen = Workbench(session)
    wanted = {"code": "E-EDIT-HARM", "where": f"kernel {name}, step Edit"}
    error = refused(screen, "run.profile")
    assert {key: error[key] for key in wanted} == wanted
    with pytest.raises(wb.WorkbenchError, match="E-EDIT-HARM"):
        session.run(small_inputs())
