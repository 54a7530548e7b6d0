"""What was asked of the program shown before, or done to it, says nothing of another one that is shown by then."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

import workbench as wb
from tests.browser.harness import Harness
from tests.browser.test_clicked_early import box, network, pane, squashed
from tests.browser.test_pipeline_edits import fresh, typed
from tests.browser.test_stopped_program import refusing, shown_then_stopped  # noqa: F401
from tests.schedule.programs import plain_matmul
from workbench import relay
from workbench.schedule import Schedule
from workbench.ui.workbench import Workbench


def rooted() -> relay.Function:
    x = relay.var("x", shape=(4, 16), dtype="float32")
    return relay.Function([x], relay.sqrt(x))


def drawn(harness: Harness, program: relay.Function) -> Workbench:
    screen = Workbench(wb.open(program))
    harness.show(screen)
    expect(pane(harness, "B").locator(".wb-text-row").first).to_be_visible()
    harness.asked_so_far()
    return screen


def tab(harness: Harness, name: str) -> Locator:
    return harness.page.locator(".wb-strip-head").get_by_role("button", name=name, exact=True)


def step(harness: Harness, name: str) -> Locator:
    return harness.page.get_by_role("listbox", name="Steps").get_by_role("option", name=name)


def test_a_graph_after_a_step_that_another_program_has_not(harness: Harness) -> None:
    screen = drawn(harness, network())
    pane(harness, "A").get_by_role("combobox", name="The graph after").select_option("SimplifyExpr")
    harness.asked_so_far()
    screen.session = wb.open(squashed()).rerun(disabled_pass=["SimplifyExpr"])
    harness.push()
    harness.asked_so_far()
    expect(box(harness, "sqrt")).to_be_visible()
    expect(harness.page.locator(".wb-problem")).to_have_count(0)


def test_what_is_typed_after_apply_is_not_lost(harness: Harness) -> None:
    harness.show(fresh())
    page = harness.page
    step(harness, "InferType").click()
    page.get_by_role("button", name="Edit", exact=True).click()
    typed(harness, "nn.relu", "tanh")
    with harness.held(since="pipeline.edit"):
        page.get_by_role("button", name="Apply").click()
        harness.wait_until(lambda: harness.busy, "it is applied")
        typed(harness, "tanh", "sqrt")
    harness.asked_so_far()
    expect(step(harness, "InferType")).to_contain_text("draft")


def test_a_refusal_keeps_what_was_typed_since(harness: Harness) -> None:
    harness.show(fresh())
    page = harness.page
    step(harness, "InferType").click()
    page.get_by_role("button", name="Edit", exact=True).click()
    typed(harness, "nn.relu", "nn.relux")
    with harness.held(since="pipeline.edit"):
        page.get_by_role("button", name="Apply").click()
        harness.wait_until(lambda: harness.busy, "it is applied")
        typed(harness, "nn.relux", "tanh")
    expect(page.get_by_role("alert")).to_contain_text("did you mean")
    page.get_by_role("button", name="Apply").click()
    harness.asked_so_far()
    edits = [one["args"]["text"] for one in harness.asked if one["op"] == "pipeline.edit"]
    assert "tanh" in edits[-1]


def test_a_refusal_opens_no_editor_that_was_closed(harness: Harness) -> None:
    harness.show(fresh())
    page = harness.page
    step(harness, "InferType").click()
    page.get_by_role("button", name="Edit", exact=True).click()
    typed(harness, "nn.relu", "nn.relux")
    with harness.held(since="pipeline.edit"):
        page.get_by_role("button", name="Apply").click()
        harness.wait_until(lambda: harness.busy, "it is applied")
        page.get_by_role("button", name="Close", exact=True).click()
        step(harness, "FuseOps").click()
    harness.asked_so_far()
    expect(page.locator(".cm-content")).to_have_count(0)


@pytest.mark.parametrize("name", ["Edit", "Options", "Add a pass"])
def test_what_is_asked_of_a_step_that_goes_is_no_problem_of_the_next_program(harness: Harness, name: str) -> None:
    screen = fresh()
    harness.show(screen)
    page = harness.page
    step(harness, "InferType").click()
    harness.asked_so_far()
    with harness.held(since="open"):
        screen.session = wb.open(squashed())
        harness.push()
        harness.wait_until(lambda: any(one["op"] == "pipeline.open" for one in harness._held), "it is opened")
        page.get_by_role("button", name=re.compile(name)).first.click()
    harness.asked_so_far()
    expect(page.locator(".wb-problem")).to_have_count(0)


def test_a_kernel_of_before_is_measured_no_more(harness: Harness) -> None:
    screen = drawn(harness, network())
    with harness.held(since="open"):
        screen.session = wb.open(rooted())
        harness.push()
        harness.wait_until(lambda: harness.busy, "it is opened")
        harness.page.locator(".wb-run").click()
    expect(box(harness, "sqrt")).to_be_visible()
    harness.asked_so_far()
    expect(harness.page.locator(".wb-problem")).to_have_count(0)


@pytest.mark.parametrize(("name", "button"), [("Run", "Run it"), ("Ablation", "What does each pass do?"), ("Values", "Errors")])
def test_an_error_below_the_panes_goes_with_its_program(harness: Harness, refusing: str, name: str, button: str) -> None:  # noqa: F811
    shown_then_stopped(harness, refusing)
    harness.push()
    harness.asked_so_far()
    page = harness.page
    strip = page.locator(".wb-strip")
    tab(harness, name).click()
    harness.asked_so_far()
    strip.locator(".wb-values-head button").filter(has_text=re.compile(button)).first.click()
    expect(strip.get_by_role("alert")).to_have_count(1)
    page.get_by_role("button", name=re.compile("^Undo")).first.click()
    harness.wait_until(lambda: "pipeline.undo" in harness.operations(), "the pass is taken out")
    harness.push()
    expect(page.locator(".wb-text-row").first).to_be_visible(timeout=30_000)
    harness.asked_so_far()
    expect(strip.get_by_role("alert")).to_have_count(0, timeout=2000)


def test_back_from_another_program_selects_nothing_else(harness: Harness) -> None:
    screen = drawn(harness, network())
    box(harness, "tanh").click()
    harness.asked_so_far()
    screen.session = wb.open(squashed())
    harness.push()
    expect(box(harness, "sqrt")).to_be_visible()
    harness.asked_so_far()
    harness.page.wait_for_timeout(300)
    selection = harness.page.get_by_role("complementary", name="The selection")
    expect(selection).to_contain_text("Click a box or a line")
    harness.page.get_by_role("button", name="Back", exact=True).click()
    harness.asked_so_far()
    expect(selection).to_contain_text("Click a box or a line", timeout=2000)


def test_what_the_lens_measured_is_no_figure_of_the_next_program(harness: Harness) -> None:
    screen = Workbench(wb.open(Schedule(plain_matmul(16, 16, 16))))
    harness.show(screen)
    expect(pane(harness, "A").locator(".wb-text-row").first).to_be_visible()
    harness.asked_so_far()
    with harness.held(after="lens.exact"):
        pane(harness, "A").get_by_role("button", name="Lens").click()
        harness.wait_until(lambda: any(one["op"] == "open" for one in harness._held), "the page looks what it was of")
        screen.session = wb.open(Schedule(plain_matmul(24, 24, 24)))
        harness.push()
    harness.asked_so_far()
    expect(harness.page.locator(".wb-run")).to_have_text("▶ Measure")


def test_tensors_of_a_step_that_goes_are_no_problem_of_the_next_program(harness: Harness) -> None:
    screen = drawn(harness, network())
    tab(harness, "Values").click()
    strip = harness.page.locator(".wb-strip")
    choice = strip.get_by_role("combobox").nth(2)
    choice.select_option("SimplifyExpr")
    harness.asked_so_far()
    with harness.held():
        strip.get_by_role("button", name="Tensors of").click()
        screen.session = wb.open(squashed()).rerun(disabled_pass=["SimplifyExpr"])
        harness.push()
    harness.asked_so_far()
    expect(strip.get_by_role("alert")).to_have_count(0, timeout=2000)
