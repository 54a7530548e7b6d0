"""What is selected in several kernels at once, and where the code of a kernel is opened."""

from __future__ import annotations

import re

from playwright.sync_api import expect

import workbench as wb
from tests.browser.harness import Harness
from tests.browser.test_selection_kept import two_convolutions
from workbench.ui.workbench import Workbench


def test_of_a_selection_in_several_kernels_each_can_be_looked_at(harness: Harness) -> None:
    """The lines of the first kernel were counted, and nothing told of the others."""
    session = wb.open(two_convolutions()).without("AlterOpLayout")
    kernels = len(session.kernels)
    harness.show(Workbench(session, at="A=fused.graph&B=schedule.text&in=A&select=0-9"))
    page = harness.page
    ladder = page.get_by_role("complementary", name="The selection")
    told = ladder.get_by_role("group", name="Kernels of the selection")
    kernel = page.get_by_role("region", name="pane B").get_by_role("combobox", name="Kernel")
    expect(told.get_by_role("status")).to_have_text(f"kernel 1 of {kernels}")
    chip = page.get_by_role("navigation", name="Layers").get_by_role("button", name="Schedule")
    expect(chip.locator(".wb-lit-count")).to_have_text(re.compile(r"^\d+\+$"))
    expect(chip.get_by_label(f"selected, in kernel 1 of {kernels}")).to_be_visible()
    seen = set[str]()
    for number in range(1, kernels + 1):
        expect(told.get_by_role("status")).to_have_text(f"kernel {number} of {kernels}")
        expect(told.locator("code")).to_have_text(kernel.input_value())
        expect(page.get_by_role("region", name="pane B").locator(".wb-text-row.wb-lit").first).to_be_visible()
        seen.add(kernel.input_value())
        told.get_by_role("button", name="Next kernel").click()
    assert seen == set(session.kernels)
    expect(told.get_by_role("status")).to_have_text(f"kernel 1 of {kernels}")
    page.get_by_role("navigation", name="Layers").get_by_role("button", name="Relay").click()
    page.locator(".wb-box-call", has_text="max_pool2d").click()
    expect(told).to_have_count(0)


def test_assembly_begins_where_most_is_done(harness: Harness) -> None:
    """It began with the wrapper that checks arguments, and so did what was selected."""
    session = wb.open(two_convolutions()).without("AlterOpLayout")
    harness.show(Workbench(session, at="A=asm.text&B=llvm.text&in=A"))
    page = harness.page
    wrapper = re.compile("wb_enter|ModuleID")
    for which in "AB":
        rows = page.get_by_role("region", name=f"pane {which}").locator(".wb-text-row")
        expect(rows.filter(has=page.locator(".wb-hottest")).first).to_be_visible()
        expect(rows.filter(has_text=wrapper)).to_have_count(0)
    layers = page.get_by_role("navigation", name="Layers")
    page.get_by_role("region", name="pane A").locator(".wb-pane-head strong").click()
    layers.get_by_role("button", name="Fused").click()
    layers.get_by_role("button", name="Assembly").click(modifiers=["Shift"])
    page.locator(".wb-box-call", has_text="conv2d").first.click()
    rows = page.get_by_role("region", name="pane B").locator(".wb-text-row")
    expect(rows.and_(page.locator(".wb-lit")).filter(has=page.locator(".wb-hottest")).first).to_be_visible()
    expect(rows.filter(has_text=wrapper)).to_have_count(0)


def test_a_stage_is_selected_by_a_click_on_its_formula(harness: Harness) -> None:
    """The whole card lit up under the mouse, and only its head selected."""
    screen = Workbench(wb.open(two_convolutions()), at="A=te.cards&B=schedule.text&in=A")
    harness.show(screen)
    page = harness.page
    card = page.locator(".wb-card", has_text="Σ")
    harness.wait_until(lambda: "links" in harness.operations(), "the link table is here")
    for part in (".wb-formula", ".wb-card-foot", ".wb-card-head"):
        screen.selection = ()
        card.locator(part).click()
        expect(card).to_have_class(re.compile("wb-lit"))
        harness.wait_until(lambda: bool(screen.selection), f"{part} selects")
