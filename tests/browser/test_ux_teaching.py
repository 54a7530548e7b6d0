"""Rows 95 to 97 of the feature matrix, firsts 14 and 15: an exercise solved on the screen, hinted at, graded."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.harness import Harness
from tests.browser.test_schedule_editor import box
from workbench import teach
from workbench.schedule import Schedule
from workbench.ui.workbench import Workbench


@pytest.fixture
def screen(harness: Harness, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Workbench:
    """Exercise 09_3 with ada's shapes: a sum in eight lanes, each with a partial result of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORKBENCH_STUDENT", "ada")
    found = teach.Task(teach.task("09_3").exercise, "ada").show()
    harness.show(found)
    expect(panel(harness)).to_be_visible(timeout=20_000)
    return found


def panel(harness: Harness) -> Locator:
    return harness.page.get_by_role("group", name="Exercise 09_3")


def checks(harness: Harness) -> Locator:
    return panel(harness).get_by_role("list", name="Checks").get_by_role("listitem")


def solve(harness: Harness) -> None:
    """Split the sum by eight, ask for vectors, take what is offered instead."""
    page = harness.page
    box(harness, "k").click()
    page.get_by_role("button", name="split", exact=True).click()
    page.get_by_role("textbox", name="factors").fill("auto, 8")
    page.get_by_role("textbox", name="factors").press("Enter")
    box(harness, "k_1").click()
    page.get_by_role("button", name="What instead of vectorize?").click()
    best = page.locator(".wb-way").first
    expect(best).to_contain_text("use rfactor on k_1")
    best.get_by_role("button", name="Use").click()
    expect(box(harness, "k_1").first).to_contain_text("vectorized")
    harness.push()


def test_ux_95_an_exercise_turns_green_as_it_is_solved(harness: Harness, screen: Workbench) -> None:
    status = panel(harness).get_by_role("status").first
    expect(status).to_have_text("not solved yet: 0 of 3 points")
    expect(panel(harness)).to_contain_text("The same sum for one thread with vectors of eight lanes")
    expect(panel(harness).locator("p code").first).to_have_text("B_rf")  # its backticks are signs, not text
    open_ones = checks(harness).filter(has_text="does not hold: ")
    expect(open_ones).to_have_count(2)
    solve(harness)
    expect(status).to_have_text("✓ solved: 3 of 3 points")
    expect(open_ones).to_have_count(0)
    expect(checks(harness).filter(has_text="holds: ")).to_have_count(4)
    screen.schedule.undo()  # a cell's move counts like a click
    harness.push()
    expect(status).to_contain_text("not solved yet")
    screen.schedule.redo()
    harness.push()
    expect(status).to_have_text("✓ solved: 3 of 3 points")


def test_ux_96_what_was_clicked_is_graded_like_a_written_answer(
    harness: Harness, screen: Workbench, tmp_path: Path
) -> None:
    """Also first 14: the grader runs without a browser or a notebook, in a process of its own."""
    solve(harness)
    expect(panel(harness).get_by_role("status").first).to_contain_text("solved: 3 of 3")
    panel(harness).get_by_role("button", name="Submit").click()
    expect(panel(harness)).to_contain_text("Written to answers/09_3.py")
    student = tmp_path / "class" / "ada" / "answers"
    student.mkdir(parents=True)
    (tmp_path / "answers" / "09_3.py").rename(student / "09_3.py")
    command = [str(Path(sys.executable).with_name("workbench")), "teach", "grade", "class", "--lesson", "09"]
    marked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert marked.returncode == 0, marked.stderr
    assert re.search(r"ada +09_3 +3 of 3", marked.stdout)


test_first_14_work_done_by_mouse_is_graded_headless = test_ux_96_what_was_clicked_is_graded_like_a_written_answer


def test_ux_97_hints_say_a_little_more_each_time(harness: Harness, screen: Workbench) -> None:
    """Also first 15: the ladder is computed from the check that fails: which property, which loop, which primitive."""
    hints = panel(harness).get_by_role("list", name="Hints").get_by_role("listitem")
    more = panel(harness).get_by_role("button", name="Hint", exact=True)
    expect(hints).to_have_count(0)
    for count in range(1, 5):
        more.click()
        expect(hints).to_have_count(count)
    expect(more).to_be_disabled()
    expect(hints.nth(0)).to_contain_text("Look at: 8 partial results of B")
    expect(hints.nth(1)).to_contain_text(re.compile("It is about .*k"))
    expect(hints.nth(2)).to_contain_text("rfactor")
    computed = teach.check_answer(teach.task("09_3").exercise, Schedule(teach.task("09_3").program), "ada").hints()
    assert [one.inner_text() for one in hints.all()] == list(computed)
    solve(harness)
    expect(hints).to_have_count(0)


test_first_15_hints_are_computed_by_the_checker = test_ux_97_hints_say_a_little_more_each_time
