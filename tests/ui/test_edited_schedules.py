"""What cells hold after a text edit on the screen of what is scheduled, and after undo, redo and branches across it."""

from __future__ import annotations

import pytest

from tests.ui.asking import ask
from tests.ui.test_editors import agreed, click, of_matmul
from workbench._lazy import session_of
from workbench.core.equal import fingerprint
from workbench.schedule import Schedule
from workbench.ui.workbench import Workbench

pytestmark = pytest.mark.usefixtures("kept_here")


def edit_before_the_schedule(screen: Workbench, old: str, new: str) -> None:
    step = ask(screen, "pipeline.open")["steps"][0]["id"]
    text = ask(screen, "pipeline.source", step=step, function="main")["text"]
    assert old in text
    assert "refused" not in ask(screen, "pipeline.edit", step=step, function="main", text=text.replace(old, new))


def test_a_text_edit_of_what_is_scheduled_and_the_moves_after_it_reach_the_cells_schedule() -> None:
    """The editor went on with a schedule of its own: what was done there was in no cell, and nothing said so."""
    screen, sch = of_matmul()
    edit_before_the_schedule(screen, "T.float32(0.0)", "T.float32(5.0)")
    assert "T.float32(5.0)" in sch.script() and screen.schedule is sch
    agreed(screen, sch)
    click(screen, "unroll", "l:C:2")
    agreed(screen, sch)
    assert "sch.unroll(" in sch.code() and "T.float32(5.0)" in sch.script() and "T.unroll(8)" in sch.script()
    assert sch.code().startswith("# sch begins with an edited program")
    again = Schedule(sch.first_state.func)
    exec(sch.code(), {"sch": again})
    assert fingerprint(again.func) == fingerprint(sch.func)
    sch.parallel(sch.get_loops("C")[0])
    agreed(screen, sch)
    assert ask(screen, "open")["trouble"] is None
    assert fingerprint(session_of(sch).tir["main"]) == fingerprint(screen.session.tir["main"])


def test_undo_redo_and_branches_across_a_text_edit_take_the_cells_schedule_along() -> None:
    screen, sch = of_matmul()
    click(screen, "parallel", "l:C:0")
    edit_before_the_schedule(screen, "T.float32(0.0)", "T.float32(5.0)")
    agreed(screen, sch)
    assert [move.name for move in sch.moves.done] == ["parallel"] and "T.float32(5.0)" in sch.script()
    click(screen, "unroll", "l:C:2")
    begun = sch.first_state
    for op, edited, done in (("undo", True, ["parallel"]), ("undo", False, ["parallel"]), ("undo", False, []),
                             ("redo", False, ["parallel"]), ("redo", True, ["parallel"]),
                             ("redo", True, ["parallel", "unroll"])):  # fmt: skip
        ask(screen, f"pipeline.{op}")
        agreed(screen, sch)
        assert ("T.float32(5.0)" in sch.script()) is edited and [move.name for move in sch.moves.done] == done
        assert (sch.first_state is begun) is edited
    ask(screen, "branch", number=0)
    agreed(screen, sch)
    assert "T.float32(0.0)" in sch.script() and not sch.moves.done and screen.schedule is sch
    assert not sch.code().startswith("#")


def test_a_second_screen_says_that_the_cells_schedule_began_anew_until_that_is_undone() -> None:
    screen, sch = of_matmul()
    other = Workbench(session_of(sch), sch)
    edit_before_the_schedule(screen, "T.float32(0.0)", "T.float32(5.0)")
    assert ask(other, "open")["trouble"]["code"] == "E-EDIT-SCHEDULE"
    ask(screen, "pipeline.undo")
    assert ask(other, "open")["trouble"] is None
    agreed(other, sch)


def test_links_are_of_the_schedule_that_the_editor_shows_whatever_was_asked_since_its_last_move() -> None:
    """An undo keeps the questions before a move: all layers said that they were not of this schedule."""
    screen, sch = of_matmul()

    def linked() -> bool:
        view = ask(screen, "schedule.open", kernel="main")
        return ask(screen, "links", kernel="main")["schedule"] == view["moved"]

    click(screen, "unroll", "l:C:2")
    assert linked()
    ask(screen, "schedule.undo", kernel="main")
    assert linked() and sch.trace.steps, "the questions are still there"
    ask(screen, "schedule.redo", kernel="main")
    assert linked()
    sch.get_loops("C")
    assert linked()
