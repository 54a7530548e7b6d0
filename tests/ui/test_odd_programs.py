"""Every command that looks, on programs that are empty, have no main, no parameters, no elements, scalars, tuples."""

from __future__ import annotations

from typing import Any

import pytest

from tests.nightly import some
from tests.ui.odd_programs import PROGRAMS, opened
from workbench.core.errors import WorkbenchError
from workbench.driver.given_inputs import drawn_inputs
from workbench.ui.workbench import Workbench

LAYERS = ("pane", "words", "whole", "places")
KERNELS = (
    "links", "formulas", "remarks", "schedule.open", "schedule.tree", "lens.open", "lens.exact", "lens.reuse",
    "lens.lifetimes", "llvm.open", "measure",
)  # fmt: skip
WHOLE = ("open", "kernels", "pipeline.open", "python", "checks.state", "checks.start", "checks.cancel", "share.python",
         "tensors.steps", "views.list", "changes.read")  # fmt: skip


class Asked:
    """A screen on an odd program; `refused` holds the codes of what it refused."""

    def __init__(self, name: str) -> None:
        self.screen = Workbench(opened(name))
        self.refused: dict[str, str] = {}

    def ask(self, op: str, **args: Any) -> Any:
        content = self.screen.ask(op, **args).content
        if not content["ok"]:
            self.refused[f"{op} {args}"] = content["err"]["code"]
            return None
        return content["view"]

    def everything(self) -> None:
        whole = {op: self.ask(op) for op in WHOLE}
        kernels = [kernel["name"] for kernel in (whole["kernels"] or {"kernels": []})["kernels"]] or ["main"]
        layers = [layer["name"] for layer in whole["open"]["layers"]]
        for kernel in kernels:
            for op in KERNELS:
                self.ask(op, kernel=kernel)
            for layer in layers:
                for op in LAYERS:
                    self.ask(op, layer=layer, kernel=kernel)
                for op in ("lines", "beside"):
                    self.ask(op, layer=layer, kernel=kernel, number=0, start=0, count=10)
                self.ask("find", layer=layer, kernel=kernel, text="a")
                self.ask("place", layer=layer, kernel=kernel, line=1)
                self.ask("compare", layer=layer, kernel=kernel, number=0)
        for layer in layers:
            self.ask("graph", layer=layer)
            self.ask("calls", layer=layer)
            self.ask("tree", layer=layer)
        self.ask("branches.whole", number=0)
        for step in [step["id"] for step in whole["pipeline.open"]["steps"]]:
            self.ask("pipeline.step", step=step)
            self.ask("pipeline.source", step=step)
        for step in whole["tensors.steps"]["graph"]:
            self.ask("tensors.list", step=step)
            self.ask("tensors.look", step=step, number=0)
        for step in whole["tensors.steps"]["runnable"]:
            self.ask("tensors.outputs", before=step, after=step)


@pytest.mark.parametrize("name", some(PROGRAMS, 3))
def test_every_command_answers_or_says_why_not(name: str) -> None:
    asked = Asked(name)
    asked.everything()
    assert [what for what, code in asked.refused.items() if code == "E-INTERNAL"] == []
    always = ("open", "pipeline.open", "python", "pipeline.step")
    assert [what for what in asked.refused if what.startswith(always)] == []
    asked.screen._snapshot()
    assert '"format"' in asked.screen.journal()


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in ("nothing", "a graph without main")])
def test_what_can_be_compiled_shows_its_kernels_texts(name: str) -> None:
    screen = Workbench(opened(name))
    kernels = screen.ask("kernels").content["view"]["kernels"]
    assert kernels
    for kernel in kernels:
        for layer in ("te", "schedule", "tir", "llvm", "asm"):
            content = screen.ask("pane", layer=layer, kernel=kernel["name"]).content
            assert content["ok"] and content["view"]["text"]["total"] > 0, (kernel["name"], layer)


def test_an_empty_module_has_nothing_to_run_and_says_so() -> None:
    with pytest.raises(WorkbenchError, match="has no functions") as caught:
        drawn_inputs(PROGRAMS["nothing"]())
    assert caught.value.code == "E-MODULE-FUNCTION" and "main" in caught.value.fix
    content = Workbench(opened("nothing")).ask("checks.start").content
    assert content["err"]["code"] == "E-MODULE-FUNCTION" and "no functions" in content["err"]["message"]
