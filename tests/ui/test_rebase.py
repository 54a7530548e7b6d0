"""Changes by hand that do not apply any more are dropped from the screen, which had only Python for it."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.driver.test_rebase import leaky
from tests.ui.asking import ask, refused, restarted
from tests.ui.test_changes import step_id
from workbench.ui.workbench import Workbench


def in_conflict() -> Workbench:
    """A screen on a session with an edit of loops of which one part fits no more, since the graph has another alpha."""
    session = wb.open(leaky())
    (kernel,) = session.kernels
    edited = session.edit(tir={kernel: session.tir[kernel].script().replace("0.125", "0.25")})
    screen = Workbench(edited)
    ask(screen, "pipeline.without", step=step_id(screen, "EliminateCommonSubexpr"))
    ask(screen, "pipeline.edit", step=step_id(screen, "InferType"), function="main",
        text=session["InferType"].program["main"].script().replace("alpha=0.125", "alpha=0.5"))  # fmt: skip
    step = screen.session["Edit#2"]
    assert step.error is not None and step.error.code == "E-EDIT-REBASE"
    return screen


@pytest.mark.usefixtures("kept_here")
def test_what_does_not_apply_is_dropped_and_comes_back_by_undo(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = in_conflict()
    before = screen.session.plan
    ask(screen, "pipeline.rebase")
    view = ask(screen, "pipeline.open")
    assert view["call"] == 's = s.rebase(keep="applicable")' and all(step["error"] is None for step in view["steps"])
    assert [step["name"] for step in view["steps"] if step["left_out"]] == ["EliminateCommonSubexpr"]
    assert refused(screen, "pipeline.rebase")["code"] == "E-EDIT-APPLIES"
    after = screen.session.plan
    ask(screen, "pipeline.undo")
    assert screen.session.plan == before
    ask(screen, "pipeline.redo")
    restarted(monkeypatch)
    session = wb.open(leaky())
    (kernel,) = session.kernels
    again = Workbench(session.edit(tir={kernel: session.tir[kernel].script().replace("0.125", "0.25")}))
    assert ask(again, "open")["changes"]["offer"]["count"] == 3
    assert ask(again, "changes.restore")["exact"] and again.session.plan.rows == after.rows


def test_a_pane_of_a_layer_that_was_not_reached_says_which_step_stopped() -> None:
    """That of the schedule, in which the edit is, was an error of the workbench itself."""
    screen = in_conflict()
    (kernel,) = screen.session.kernels
    assert "T.grid" in str(ask(screen, "pane", layer="te", kernel=kernel))
    for layer in ("schedule", "tir", "asm"):
        assert refused(screen, "pane", layer=layer, kernel=kernel)["code"] == "E-EDIT-REBASE"
