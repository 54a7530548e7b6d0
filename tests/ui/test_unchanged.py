"""What changes nothing makes no step, no branch and nothing to undo, whichever command it is asked of."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ui.commands import graph_screen, schedule_screen
from workbench import IRModule, relay
from workbench.driver.open import open_session
from workbench.ui.workbench import Workbench


def state(screen: Workbench) -> tuple[Any, ...]:
    view = screen.ask("open").content["view"]
    return view["undo"], view["redo"], view["calls"], len(view["branches"]), screen.session.plan


def source(screen: Workbench, name: str) -> tuple[str, dict[str, Any]]:
    step = next(step.id for step in screen._steps.view.steps if step.name == name)
    return step, screen.ask("pipeline.source", step=step).content["view"]


@pytest.mark.parametrize("step", ["Import", "FoldConstant", "Schedule", "Simplify"])
@pytest.mark.parametrize("written", ["as it is", "with blank lines and a remark"])
def test_a_text_that_says_the_same_is_refused(step: str, written: str) -> None:
    screen = graph_screen()
    before, (found, shown) = state(screen), source(screen, step)
    text = shown["text"] if written == "as it is" else f"# the same\n{shown['text']}\n\n"
    view = screen.ask("pipeline.edit", step=found, function=shown["function"], text=text).content["view"]
    assert view["refused"]["code"] == "E-EDIT-UNCHANGED" and "nothing to apply" in view["refused"]["message"]
    assert state(screen) == before


def test_a_text_that_says_something_else_is_a_step() -> None:
    screen = graph_screen()
    before, (found, shown) = state(screen), source(screen, "FoldConstant")
    text = shown["text"].replace("nn.relu", "tanh")
    assert text != shown["text"]
    view = screen.ask("pipeline.edit", step=found, function="main", text=text).content["view"]
    assert "refused" not in view and state(screen)[0] == before[0] + 1


def test_an_attribute_set_to_what_it_is_is_refused() -> None:
    x = relay.var("x", shape=(4, 8))
    screen = Workbench(open_session(IRModule.from_expr(relay.Function([x], relay.nn.leaky_relu(x, 0.125)))))
    (call,) = screen.ask("calls", layer="relay").content["view"]["calls"]
    before = state(screen)
    asked = {"layer": "relay", "step": "", "place": call["place"], "number": 0, "name": "alpha"}
    content = screen.ask("set_attribute", **asked, text="0.125").content
    assert content["err"]["code"] == "E-EDIT-UNCHANGED" and state(screen) == before
    assert screen.ask("set_attribute", **asked, text="0.5").content["ok"] and state(screen)[0] == before[0] + 1


def test_going_to_the_branch_that_is_shown_is_no_change() -> None:
    screen = graph_screen()
    before, here = state(screen), screen.ask("open").content["view"]["branch"]
    assert screen.ask("branch", number=here).content["ok"] and state(screen) == before
    assert screen.ask("branch", number=0).content["ok"] and state(screen)[0] == before[0] + 1


def test_a_schedule_brought_to_where_it_is_has_no_further_move() -> None:
    screen = schedule_screen()
    before, moves = state(screen), len(screen.schedule.moves.done)
    assert screen.ask("schedule.replay", kernel="main", code=screen.code).content["ok"]
    seen = screen.schedule.fingerprint()
    assert screen.ask("lens.release", kernel="main", step=3, factors=[2, 4], seen=seen).content["ok"]
    assert state(screen) == before and len(screen.schedule.moves.done) == moves


def test_options_that_a_pass_has_already_are_no_step() -> None:
    screen = graph_screen()
    screen.ask("pipeline.undo")  # what can be done again stays
    before = state(screen)
    step = next(step.id for step in screen._steps.view.steps if step.name == "FuseOps")
    assert screen.ask("pipeline.options", step=step, values={}).content["view"] == {"step": step}
    assert state(screen) == before
    assert screen.ask("pipeline.options", step=step, values={"fuse_opt_level": 0}).content["ok"]
    assert state(screen)[0] == before[0] + 1
