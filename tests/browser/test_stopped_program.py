"""A program that stops with an error at a step: layers before it are there, the others say why, in their place."""

from __future__ import annotations

import re

from playwright.sync_api import expect

import workbench as wb
from tests.browser.harness import Harness
from tests.driver.programs import small_model
from tests.ui.asking import ask
from workbench.ui.workbench import Workbench

KERNEL = "fused_nn_softmax"


def test_an_edit_that_does_not_fit_another_target_is_told_in_the_panes_it_concerns(harness: Harness) -> None:
    """Panes and the list of kernels were empty for ever, and the layers "not run"."""
    session = wb.open(small_model())
    screen = Workbench(session)
    last = [step for step in ask(screen, "pipeline.open")["steps"] if step["kind"] == "tir"][-1]["id"]
    text = ask(screen, "pipeline.source", step=last, function=KERNEL)["text"].replace('T.float32("-inf")', "-1000.0")
    ask(screen, "pipeline.edit", step=last, function=KERNEL, text=text)
    harness.show(screen)
    page = harness.page
    chip = page.get_by_role("navigation", name="Layers").get_by_role("button")
    schedule, loops = page.get_by_role("region", name="pane A"), page.get_by_role("region", name="pane B")
    chip.filter(has_text="TIR").click(modifiers=["Shift"])
    expect(loops.locator(".wb-text-row").first).to_be_visible(timeout=30_000)
    chip.filter(has_text="Schedule").click()
    ask(screen, "target.set", text="llvm -mcpu=x86-64 -vector-width=32")
    harness.push()
    expect(loops.get_by_role("alert")).to_contain_text("E-EDIT-REBASE", timeout=30_000)
    expect(page.get_by_role("alert")).to_have_count(1)
    expect(chip.filter(has_text="TIR")).to_contain_text("✗")
    expect(schedule.locator(".wb-text-row").first).to_be_visible()
    assert schedule.get_by_role("combobox", name="Kernel").locator("option").count() == len(session.kernels)
    page.get_by_role("button", name=re.compile("^Undo")).first.click()
    expect(loops.locator(".wb-text-row").first).to_be_visible(timeout=30_000)
    expect(page.get_by_role("alert")).to_have_count(0)


def shown_then_stopped(harness: Harness, refusing: str) -> Workbench:
    """A screen that is drawn, whose program then gets a pass that refuses it; the page has not heard of that yet."""
    screen = Workbench(wb.open(small_model()))
    harness.show(screen)
    expect(harness.page.locator(".wb-text-row").first).to_be_visible(timeout=30_000)
    harness.asked_so_far()  # an answer would bring the news along
    step = next(one for one in ask(screen, "pipeline.open")["steps"] if one["name"] == "SimplifyExpr")
    ask(screen, "pipeline.insert", step=step["id"], name=refusing)
    return screen


def test_a_graph_pass_that_fails_is_told_where_its_graph_would_be(harness: Harness, refusing: str) -> None:
    screen, page = shown_then_stopped(harness, refusing), harness.page
    harness.push()
    for which in ("A", "B"):
        alert = page.get_by_role("region", name=f"pane {which}").get_by_role("alert")
        expect(alert).to_contain_text("this pass takes nothing", timeout=30_000)
    chips = page.get_by_role("navigation", name="Layers").get_by_role("button")
    expect(chips.filter(has_text="Relay")).to_contain_text("✗")
    expect(chips.filter(has_text="Fused")).to_contain_text("◌")
    # The verifier's mark is of what a step made: a step that failed has none.
    steps = page.get_by_role("listbox", name="Steps").get_by_role("option")
    page.get_by_role("button", name="Verify", exact=True).click()
    expect(steps.first).to_contain_text("✓", timeout=30_000)
    ran = {one["id"] for one in ask(screen, "pipeline.open")["steps"] if not one["pending"]}
    harness.wait_until(lambda: ran <= verified(harness), "each step that has run is verified")
    page.wait_for_timeout(500)  # the last answer is drawn
    failed = steps.filter(has_text=refusing)
    expect(failed).to_contain_text("(failed)")
    expect(failed).not_to_contain_text("✓")
    page.get_by_role("button", name=re.compile("^Undo")).first.click()
    expect(page.locator(".wb-text-row").first).to_be_visible(timeout=30_000)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_an_error_goes_with_its_program_though_the_page_looked_at_the_next_one_before(
    harness: Harness, refusing: str
) -> None:
    """What was only looked at stood for the program shown: when that was opened, nothing seemed to have changed."""
    shown_then_stopped(harness, refusing)
    page = harness.page
    with harness.held(since="pane"):  # refused texts make the page look again: when the pass is out, and not yet drawn
        harness.push()
        harness.wait_until(lambda: harness.busy, "its texts are asked for")
        page.get_by_role("button", name=re.compile("^Undo")).first.click()
        harness.wait_until(lambda: any(one["op"] == "pipeline.undo" for one in harness._held), "the pass is taken out")
    expect(page.locator(".wb-text-row").first).to_be_visible(timeout=30_000)
    harness.asked_so_far()
    expect(page.get_by_role("alert")).to_have_count(0)


def verified(harness: Harness) -> set[str]:
    """The steps that the page has had verified."""
    return {message["args"]["step"] for message in harness.asked if message["op"] == "pipeline.verify"}


def test_an_editor_forgets_why_it_had_no_schedule_once_it_has_one(harness: Harness, refusing: str) -> None:
    """The error stayed in red over a program that was well again."""
    screen = Workbench(wb.open(small_model()))
    harness.show(screen)
    page = harness.page
    expect(page.locator(".wb-text-row").first).to_be_visible(timeout=30_000)
    page.get_by_role("navigation", name="Layers").get_by_role("button").filter(has_text="Schedule").click()
    pane = page.get_by_role("region", name="Schedule, pane A")
    pane.get_by_role("button", name="Editor", exact=True).click()
    expect(pane.get_by_role("treeitem").first).to_be_visible(timeout=30_000)
    step = next(one for one in ask(screen, "pipeline.open")["steps"] if one["name"] == "SimplifyExpr")
    ask(screen, "pipeline.insert", step=step["id"], name=refusing)
    harness.push()
    expect(pane.get_by_role("alert").first).to_contain_text("this pass takes nothing", timeout=30_000)
    page.get_by_role("button", name=re.compile("^Undo")).first.click()
    harness.wait_until(lambda: "pipeline.undo" in harness.operations(), "it is asked to take the pass out")
    harness.push()
    expect(pane.get_by_role("treeitem").first).to_be_visible(timeout=30_000)
    expect(page.get_by_role("alert")).to_have_count(0)
