"""`to_python` of sessions whose changes by hand do not apply any more: one error, never another program."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from tests.driver.test_rebase import leaky
from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.ui.journal import replay
from workbench.ui.workbench import Workbench


def edited(session: Any) -> Any:
    (kernel,) = session.kernels
    return session.edit(tir={kernel: session.tir[kernel].script().replace("0.125", "0.25")})


def scheduled(session: Any) -> Any:
    (kernel,) = session.kernels
    sch = session.schedule(kernel, default=False)
    sch.split(sch.get_loops("leaky_relu")[0], [2, 2])
    return session.edit(schedule={kernel: sch})


def with_alpha(session: Any) -> Any:
    return session.edit(relay=session["InferType"].script().replace("alpha=0.125", "alpha=0.5"), at="InferType")


def with_tanh(session: Any) -> Any:
    text = session["InferType"].script().replace("nn.leaky_relu(v0, alpha=0.125)", "tanh(v0)")
    assert "tanh" in text
    return session.edit(relay=text, at="InferType")


def replayed(session: Any) -> Any:
    held: dict[str, Any] = {"program": leaky()}
    exec(session.to_python(), held)
    return held["s"]


def texts(session: Any) -> list[tuple[str, str]]:
    """The program after each step of graphs and loops."""
    return [(label, session[label].script()) for label in session.labels if label != "Codegen"]


CONFLICTS = {
    "an edit of loops, then of the graph": (lambda s: with_alpha(edited(s)), "Edit#2"),
    "an edit of a kernel that is gone": (lambda s: edited(s).without("FuseOps"), "Edit"),
    "a schedule of a block that is gone": (lambda s: with_tanh(scheduled(s)), "Schedule"),
    "the same, and an edit that has come after it": (lambda s: with_tanh(edited(scheduled(s))), "Schedule"),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_a_session_in_conflict_is_refused_with_its_step(name: str) -> None:
    make, label = CONFLICTS[name]
    session = make(wb.open(leaky()))
    assert session[label].error is not None
    with pytest.raises(WorkbenchError) as caught:
        session.to_python()
    assert caught.value.code == "E-PYTHON-CONFLICT" and f"step {label} " in caught.value.message
    assert caught.value.found.startswith("E-EDIT-REBASE") and "rebase()" in caught.value.fix
    kept = session.rebase()
    assert texts(replayed(kept)) == texts(kept)


def test_the_python_replays_again_once_the_conflict_is_gone() -> None:
    session = with_alpha(edited(wb.open(leaky()))).without("Edit")
    assert texts(replayed(session)) == texts(session)


def test_a_pass_that_fails_is_no_conflict() -> None:
    session = edited(wb.open(leaky())).without("LowerBlocks")
    assert session["Codegen"].error is not None
    again = replayed(session)
    assert again.labels == session.labels and again["Codegen"].error.code == session["Codegen"].error.code


def test_the_screen_says_it_in_the_strip_and_its_journal_is_still_written_and_replayed() -> None:
    screen = Workbench(wb.open(leaky()))
    screen.session = with_alpha(edited(screen.session))
    content = screen.ask("python").content
    assert content["err"]["code"] == "E-PYTHON-CONFLICT" and content["err"]["fix"]
    assert screen.ask("share.python").content["err"]["code"] == "E-PYTHON-CONFLICT"
    text = screen.journal()
    assert "E-PYTHON-CONFLICT" in text and not replay(text).different


def test_a_loop_pass_put_before_the_schedules_stays_there() -> None:
    """It was put in before there were schedules, which then stood in front of it."""
    a, b = (te.placeholder((16, 16), name=name) for name in "AB")
    program = [a, b, te.compute((16, 16), lambda i, j: a[i, j] + b[i, j], name="C")]
    session = wb.open(program)
    sch = session.schedule("main")
    sch.unroll(sch.split(sch.get_loops("C")[0], factors=[None, 4])[1])
    session = session.edit(schedule={"main": sch}).rerun(insert={"Import": "UnrollLoop"})
    held: dict[str, Any] = {"program": program}
    exec(session.to_python(), held)
    assert held["s"].labels == session.labels and texts(held["s"]) == texts(session)


@pytest.mark.parametrize("made", [scheduled, edited], ids=["schedule", "edit of loops"])
def test_what_is_made_by_hand_behind_a_step_that_stops_has_no_python(made: Any) -> None:
    """The lines were given, and the first of them that asked for the kernel was refused: there is none there."""
    session = made(wb.open(leaky())).rerun(insert={"EliminateCommonSubexpr": "ToANormalForm"})
    with pytest.raises(WorkbenchError) as caught:
        session.to_python()
    assert caught.value.code == "E-PYTHON-CONFLICT" and caught.value.where == "step Lower"
    assert caught.value.found.startswith("E-LOWER-EXPRESSION")
    mended = session.without("ToANormalForm")
    assert texts(replayed(mended)) == texts(mended)
