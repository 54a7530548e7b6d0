"""A figure is of one program for one target: with another one of either it is gone, wherever the page shows it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

import workbench as wb
from tests.browser.harness import Harness
from tests.browser.test_clicked_early import network, pane, squashed
from tests.browser.test_overtaken import drawn, tab
from tests.schedule.programs import plain_matmul
from workbench.driver.session import Session
from workbench.schedule import Schedule
from workbench.ui.workbench import Workbench

NARROW = "llvm -vector-width=128"
"""Another target on every machine, for which the loops of a schedule are the same."""


def with_loops_as_they_are(session: Session) -> Session:
    """The loops edited by hand behind their schedule, which stays as it is."""
    text = session.tir["main"].script()
    return session.edit(tir={"main": text.replace("range(16)", "T.unroll(16)", 1)})


OTHERS = {
    "target": lambda session: session.rerun(target=NARROW),
    "pass": lambda session: session.without("InsertPolls"),
    "text": with_loops_as_they_are,
}


def shown(harness: Harness) -> Workbench:
    screen = Workbench(wb.open(Schedule(plain_matmul(16, 16, 16))))
    harness.show(screen)
    expect(pane(harness, "A").locator(".wb-text-row").first).to_be_visible()
    harness.asked_so_far()
    return screen


@pytest.mark.parametrize("what", OTHERS)
def test_what_the_lens_measured_is_of_its_program_and_target(harness: Harness, what: str) -> None:
    screen = shown(harness)
    pane(harness, "A").get_by_role("button", name="Lens").click()
    result = harness.page.locator(".wb-lens-result")
    expect(result.locator("strong")).to_be_visible()
    harness.asked_so_far()
    state = screen.session.schedule("main").fingerprint()
    screen.session = OTHERS[what](screen.session)
    assert screen.session.schedule("main").fingerprint() == state, "the schedule alone does not tell them apart"
    harness.push()
    harness.asked_so_far()
    expect(harness.page.locator(".wb-run")).to_have_text("▶ Measure")
    expect(result).to_contain_text("not measured")
    result.get_by_role("button", name="Measure").click()
    expect(result.locator("strong")).to_be_visible()
    expect(result).not_to_contain_text("as fast")
    expect(result).not_to_contain_text("no clear difference")


def test_what_the_lens_measures_while_the_target_changes_is_of_none_shown(harness: Harness) -> None:
    screen = shown(harness)
    with harness.held(after="lens.exact"):
        pane(harness, "A").get_by_role("button", name="Lens").click()
        harness.wait_until(lambda: any(one["op"] == "open" for one in harness._held), "the page looks what it was of")
        screen.ask("target.set", text=NARROW)
        harness.push()
    harness.asked_so_far()
    expect(harness.page.locator(".wb-run")).to_have_text("▶ Measure")
    expect(harness.page.locator(".wb-lens-result")).to_contain_text("not measured")


def test_ranks_and_times_of_primitives_are_of_their_target(harness: Harness) -> None:
    screen = shown(harness)
    page = harness.page
    pane(harness, "A").get_by_role("button", name="Editor").click()
    page.get_by_role("button", name="Rank").click()
    page.get_by_role("button", name="Time each").click()
    expect(page.locator(".wb-timed").first).to_be_visible()
    expect(page.get_by_role("button", name="Time each")).to_be_enabled(timeout=60_000)
    assert page.locator(".wb-rank:not(.wb-timed)").count(), "the model ranks them"
    screen.ask("target.set", text=NARROW)
    harness.push()
    harness.asked_so_far()
    expect(page.locator(".wb-rank")).to_have_count(0)


def test_primitives_are_timed_for_one_target_and_no_other(harness: Harness) -> None:
    """One after the other: the target changed meanwhile, and times of both stood beside each other."""
    screen = shown(harness)
    page = harness.page
    pane(harness, "A").get_by_role("button", name="Editor").click()
    harness.asked_so_far()
    with harness.held(after="schedule.time"):
        page.get_by_role("button", name="Time each").click()
        harness.wait_until(lambda: any(one["op"] == "schedule.time" for one in harness._held), "the next one is asked")
        screen.ask("target.set", text=NARROW)
        harness.push()
    harness.asked_so_far()
    expect(page.locator(".wb-timed")).to_have_count(0)
    expect(page.get_by_role("button", name="Time each")).to_be_enabled()


RUNS = {
    "Run": ("Run it", "run.profile", ".wb-calls"),
    "Values": ("Tensors of", "tensors.list", ".wb-tensors"),
    "Branches": ("Compare", "branches.whole", ".wb-table"),
    "Share": ("Python to here", "share.python", ".wb-shared"),
}
"""By tab below the panes: the button that asks, what it asks, and what the answer is drawn in."""


@pytest.mark.parametrize("name", RUNS)
def test_what_was_run_while_a_cell_changed_the_program(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The kernel answers in a thread of its own: what it was asked before comes after it has told of the change."""
    screen = drawn(harness, network())
    screen.session = screen.session.without("FoldConstant")
    harness.push()
    harness.asked_so_far()
    button, op, place = RUNS[name]
    strip = harness.page.locator(".wb-strip")
    tab(harness, name).click()
    harness.asked_so_far()
    reply = harness._reply

    def late(message: dict[str, Any]) -> str | None:
        answer = reply(message)
        if message["op"] == op:
            screen.session = wb.open(squashed())
            harness.push()
        return answer

    monkeypatch.setattr(harness, "_reply", late)
    with harness.held():
        strip.get_by_role("button", name=button).first.click()
    harness.asked_so_far()
    assert op in harness.operations()
    expect(strip.locator(place)).to_have_count(0)
