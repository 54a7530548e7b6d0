"""Rows 86 to 89 of the features, on EfficientNet-lite0 through the screen: editing live, going back, branches."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

import workbench as wb
from tests.browser.screen_parts import NETWORK, OneScreen, one_screen
from workbench.ui.workbench import Workbench

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def shown(browser: Browser) -> Iterator[OneScreen]:
    with one_screen(browser, Workbench(wb.open(str(NETWORK)))) as shown:
        shown.ready()
        yield shown


def step(shown: OneScreen, name: str) -> None:
    steps = shown.page.get_by_role("listbox", name="Steps").first
    steps.get_by_role("option", name=re.compile(f"^{name}")).first.click()


@pytest.mark.nightly
def test_ux_87_back_and_forward_through_what_was_looked_at(shown: OneScreen) -> None:
    page = shown.page
    shown.chip("TIR").click(modifiers=["Shift"])
    expect(shown.pane("B")).to_have_attribute("aria-label", "TIR, pane B")
    page.wait_for_timeout(200)
    shown.chip("Assembly").click(modifiers=["Shift"])
    expect(shown.pane("B")).to_have_attribute("aria-label", "Assembly, pane B")
    page.wait_for_timeout(200)
    expect(shown.button("Forward", exact=True)).to_be_disabled()
    shown.button("Back", exact=True).click()
    expect(shown.pane("B")).to_have_attribute("aria-label", "TIR, pane B")
    page.keyboard.press("Alt+ArrowLeft")
    expect(shown.pane("B")).to_have_attribute("aria-label", "Schedule, pane B")
    page.keyboard.press("Alt+ArrowRight")
    expect(shown.pane("B")).to_have_attribute("aria-label", "TIR, pane B")
    expect(shown.pane("B").locator(".wb-text-row").first).to_be_visible()
    shown.button("Forward", exact=True).click()
    expect(shown.pane("B")).to_have_attribute("aria-label", "Assembly, pane B")


def test_ux_88_views_are_kept_by_name_and_opened_again(shown: OneScreen) -> None:
    page = shown.page
    shown.chip("TE").click(modifiers=["Shift"])
    shown.pane("A").locator(".wb-box").nth(1).click()
    expect(shown.pane("A").locator(".wb-box.wb-lit")).to_have_count(1)
    shown.open_tab("Views")
    page.get_by_label("Name of this view").fill("the first block")
    shown.button("Keep this view").click()
    kept = page.get_by_role("list", name="Kept views").get_by_role("button", name="the first block", exact=True)
    expect(kept).to_be_visible()
    assert shown.screen.views["the first block"].startswith("A=fused.graph&B=te.cards")
    shown.chip("LLVM").click()
    shown.pane("B").locator(".wb-card-head").first.click()
    expect(shown.pane("A")).to_have_attribute("aria-label", "LLVM, pane A")
    kept.click()
    expect(shown.pane("A")).to_have_attribute("aria-label", "Fused, pane A")
    expect(shown.pane("B")).to_have_attribute("aria-label", "TE, pane B")
    expect(shown.pane("A").locator(".wb-box.wb-lit")).to_have_count(1)
    shown.button("Remove the first block").click()
    expect(kept).to_have_count(0)
    assert shown.screen.views == {}


@pytest.mark.slow
def test_ux_86_a_change_above_runs_everything_below_again(shown: OneScreen) -> None:
    page = shown.page
    stages = shown.chip("TE").locator(".wb-muted")
    expect(stages).to_have_text(re.compile(r"\d+"), timeout=20_000)
    fused = str(stages.text_content())
    step(shown, "FuseOps")
    expect(page.locator("del.wb-line").first).to_be_visible()
    before = shown.screen.session
    shown.button("Leave out").click()
    shown.harness.wait_until(lambda: shown.screen.session is not before, "the step is left out")
    shown.harness.push()
    expect(shown.chip("Fused")).to_have_count(0, timeout=20_000)
    shown.chip("TIR").click(modifiers=["Shift"])
    picker = page.get_by_role("combobox", name="Kernel").first
    expect(picker.locator("option")).not_to_have_count(0, timeout=30_000)
    expect(shown.pane("B").locator(".wb-text-row").first).to_be_visible(timeout=30_000)
    assert all("bias_add_clip" not in name for name in picker.locator("option").all_inner_texts()), "nothing is fused"
    page.keyboard.press("Control+z")
    shown.harness.wait_until(lambda: shown.screen.session.labels == before.labels, "the step is back")
    shown.harness.push()
    expect(stages).to_have_text(fused, timeout=20_000)


@pytest.mark.nightly
@pytest.mark.slow
def test_ux_89_two_branches_of_the_whole_pipeline_beside_each_other(shown: OneScreen) -> None:
    page = shown.page
    before = shown.screen.session
    if len(list(before.branches)) < 2:
        step(shown, "SimplifyExpr")
        shown.button("Leave out").click()
        shown.harness.wait_until(lambda: shown.screen.session is not before, "the step is left out")
        shown.harness.push()
    shown.open_tab("Branches")
    shown.button("Compare as wholes").click()
    table = page.get_by_role("table", name="Two branches as wholes")
    expect(table).to_be_visible(timeout=60_000)
    for row in ("kernels", "bytes between kernels", "milliseconds"):
        cells = table.get_by_role("row", name=re.compile(f"^{row}")).get_by_role("cell").all_inner_texts()
        assert len(cells) == 2 and all(re.search(r"\d", cell) for cell in cells), row
    told = page.get_by_role("group", name="Branches").locator(".wb-bindings")
    expect(told).to_contain_text("greatest difference of an output")
    strip = page.locator(".wb-strip").bounding_box()
    last = told.locator("dd").last.bounding_box()
    assert strip is not None and last is not None and last["y"] + last["height"] <= strip["y"] + strip["height"]
    expect(table.get_by_role("row", name=re.compile("^milliseconds"))).to_contain_text("the least of 5 runs in turn")
    expect(told).to_contain_text("steps in one only")
