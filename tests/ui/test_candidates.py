"""Another implementation for a kernel, chosen on a screen: like every other change of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.driver.test_choices import kernel, opened, output
from tests.schedule.programs import plain_matmul
from tests.ui.asking import ask, refused, restarted
from workbench.ui.journal import replay
from workbench.ui.recording import key_of, record
from workbench.ui.workbench import Workbench

pytestmark = pytest.mark.usefixtures("kept_here")


def taken(screen: Workbench, name: str) -> dict[str, Any]:
    return next(row for row in ask(screen, "candidates", kernel=name)["rows"] if row["taken"])


def test_a_choice_is_a_change_with_undo_a_branch_and_its_python() -> None:
    screen = Workbench(opened())
    name, before = kernel(screen.session), screen.session
    assert taken(screen, name)["taken"] == "cost"
    loops = ask(screen, "pane", layer="tir", kernel=name)["text"]
    ask(screen, "candidates.choose", kernel=name, name="conv2d.columns", seen=ask(screen, "open")["plan"])
    told = ask(screen, "open")
    assert told["calls"] == [f"s = s.choose({name!r}, 'conv2d.columns')"]
    assert [number for number, _ in told["branches"]] == [0, 1] and told["branch"] == 1
    row = taken(screen, name)
    assert (row["name"], row["taken"]) == ("conv2d.columns", "hand")
    assert ask(screen, "pane", layer="tir", kernel=name)["text"] != loops
    np.testing.assert_allclose(output(screen.session), output(before), rtol=1e-4, atol=1e-4)
    ask(screen, "pipeline.undo")
    assert ask(screen, "pane", layer="tir", kernel=name)["text"] == loops and screen.session.plan == before.plan
    ask(screen, "pipeline.redo")
    assert taken(screen, name)["name"] == "conv2d.columns"


def test_a_config_of_the_list_is_chosen_with_its_numbers_and_the_cheapest_again_ends_it() -> None:
    screen = Workbench(opened())
    name, before = kernel(screen.session), screen.session
    _, numbers = ask(screen, "candidates", kernel=name)["rows"][0]["configs"][2]
    ask(screen, "candidates.choose", kernel=name, name="conv2d.blocks", config=dict(numbers))
    assert (taken(screen, name)["taken"], taken(screen, name)["config"]) == ("hand", numbers)
    ask(screen, "candidates.choose", kernel=name)
    assert taken(screen, name)["taken"] == "cost" and screen.session.plan == before.plan
    assert ask(screen, "open")["calls"][-1] == f"s = s.choose({name!r})"


def test_choosing_what_is_chosen_is_no_change() -> None:
    screen = Workbench(opened())
    name = kernel(screen.session)
    ask(screen, "candidates.choose", kernel=name)
    assert ask(screen, "open")["undo"] == 0
    for _ in range(2):
        ask(screen, "candidates.choose", kernel=name, name="conv2d.plain")
    assert ask(screen, "open")["undo"] == 1


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({"name": "conv2d.pixels"}, "E-CHOICE-REFUSED"), ({"name": "conv2d.fast"}, "E-CHOICE-UNKNOWN"),
        ({"name": "conv2d.blocks", "config": {"columns": 999}}, "E-CHOICE-CONFIG"),
        ({"name": "conv2d.blocks", "config": {"kernel": 1, "self": 2}}, "E-CHOICE-CONFIG"),
        ({"name": 3}, "E-UI-ARGUMENT"), ({"name": "conv2d.blocks", "config": []}, "E-UI-ARGUMENT"),
        ({"kernel": "another", "name": "conv2d.blocks"}, "E-KERNEL-UNKNOWN"),
        ({"name": "conv2d.plain", "seen": "other steps"}, "E-UI-STALE"),
    ],
)  # fmt: skip
def test_what_cannot_be_chosen_is_refused_and_changes_nothing(args: dict[str, Any], code: str) -> None:
    screen = Workbench(opened())
    before = screen.session
    assert refused(screen, "candidates.choose", **{"kernel": kernel(before), **args})["code"] == code
    assert screen.session is before and ask(screen, "open")["undo"] == 0


def test_a_choice_is_kept_and_offered_after_the_kernel_was_restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Workbench(opened())
    name = kernel(screen.session)
    ask(screen, "candidates.choose", kernel=name, name="conv2d.columns")
    restarted(monkeypatch)
    again = Workbench(opened())
    assert ask(again, "open")["changes"]["offer"]["calls"] == [f"s = s.choose({name!r}, 'conv2d.columns')"]
    ask(again, "changes.restore")
    assert taken(again, name)["name"] == "conv2d.columns" and again.session.plan == screen.session.plan


def test_a_restore_follows_a_kernel_that_has_another_name_by_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are numbered in the order of the graph: of two kernels alike in name, what the one computes tells it."""
    screen = Workbench(opened())
    name = kernel(screen.session, number=1)
    ask(screen, "candidates.choose", kernel=name, name="conv2d.columns")
    entry = screen._changes._record.entries[0]
    assert entry["args"]["lasting"]["made_of"], "what the kernel was made of is kept, not its name alone"
    found = screen._changes._subject.current(entry["op"], {**entry["args"], "kernel": "another"}, {})
    assert found["kernel"] == name


def test_a_journal_with_a_choice_comes_to_the_same() -> None:
    screen = Workbench(opened())
    name = kernel(screen.session)
    ask(screen, "candidates", kernel=name)
    ask(screen, "candidates.choose", kernel=name, name="conv2d.blocks", config={"columns": 7})
    refused(screen, "candidates.choose", kernel=name, name="conv2d.pixels")
    assert replay(screen.journal()).different == ()


def test_a_recorded_page_holds_the_candidates_of_its_kernels() -> None:
    screen = Workbench(opened())
    made = record(screen)
    for name in screen.session.kernels:
        assert made.replies[key_of("candidates", {"kernel": name})] == ask(screen, "candidates", kernel=name)
    assert not any("candidates.choose" in key for key in made.replies)


def test_a_schedule_moved_by_hand_is_not_lost_over_a_choice() -> None:
    """What is chosen brings its own schedule; undo has the one by hand again."""
    session = opened()
    name = kernel(session)
    moved = session.schedule(name)
    moved.annotate(moved.get_loops("relu")[0], "note", 1)
    screen = Workbench(session.edit(schedule={name: moved}))
    before = screen.session.schedule(name).code()
    ask(screen, "candidates.choose", kernel=name, name="conv2d.plain")
    assert screen.session.schedule(name).code() == session.choose(name, "conv2d.plain").schedule(name).code()
    assert (taken(screen, name)["name"], taken(screen, name)["taken"]) == ("conv2d.plain", "hand")
    ask(screen, "pipeline.undo")
    assert screen.session.schedule(name).code() == before and taken(screen, name)["taken"] == "schedule"
    ask(screen, "pipeline.redo")
    assert ask(screen, "pane", layer="tir", kernel=name) and taken(screen, name)["name"] == "conv2d.plain"


def test_a_program_of_loops_has_none() -> None:
    screen = Workbench(wb.open(plain_matmul(16, 16, 16)))
    assert ask(screen, "candidates", kernel="main")["note"].startswith("A program of loops")
    assert refused(screen, "candidates.choose", kernel="main", name="conv2d.plain")["code"] == "E-STEP-UNKNOWN"
