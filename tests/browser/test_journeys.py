"""The journeys that the screen is judged by, on real models, with the number of interactions that each takes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

import workbench as wb
from tests.browser.harness import Harness
from workbench import te
from workbench.ui.workbench import Workbench

NETWORK = Path(__file__).parents[2] / "notebooks" / "data" / "efficientnet_lite0.onnx"


class Visitor:
    """A person at the screen, whose interactions are counted."""

    def __init__(self, harness: Harness, session: Any) -> None:
        self.harness, self.page = harness, harness.page
        self.page.set_viewport_size({"width": 1500, "height": 900})
        self.screen = Workbench(session)
        self.interactions = 0
        harness.show(self.screen)

    def click(self, what: Locator, **options: Any) -> None:
        self.interactions += 1
        what.click(**options)

    def press(self, key: str) -> None:
        self.interactions += 1
        self.page.keyboard.press(key)

    def chip(self, name: str) -> Locator:
        return self.page.get_by_role("navigation", name="Layers").get_by_role("button", name=name)

    def pane(self, which: str) -> Locator:
        return self.page.get_by_role("region", name=f"pane {which}")


@pytest.mark.slow
def test_journey_1_a_visitor_goes_from_the_widest_box_to_a_new_time(harness: Harness) -> None:
    visitor = Visitor(harness, wb.open(str(NETWORK)))
    page = visitor.page
    expect(page.locator(".wb-share").first).to_be_visible(timeout=60_000)
    shares = page.locator(".wb-share").evaluate_all("bars => bars.map((bar) => bar.getBoundingClientRect().width)")
    widest = shares.index(max(shares))
    box = page.locator(".wb-box", has=page.locator(".wb-share")).nth(widest)
    visitor.click(box)
    expect(visitor.pane("B").locator(".wb-text-row.wb-lit").first).to_be_visible(timeout=30_000)
    expect(visitor.chip("LLVM").locator(".wb-lit-count")).to_be_visible(timeout=30_000)
    visitor.click(visitor.chip("Assembly"), modifiers=["Shift"])
    expect(visitor.pane("B").locator(".wb-text-row").first).to_be_visible(timeout=30_000)
    visitor.click(visitor.pane("B").get_by_role("button", name="Hottest"))
    hot = visitor.pane("B").locator(".wb-text-row.wb-lit", has_text=re.compile("fmadd|fmla|mul"))
    expect(hot.first).to_be_visible()
    visitor.click(visitor.chip("Schedule"))
    visitor.press("t")
    expect(page.get_by_role("group", name="Tile lens").locator("canvas").first).to_be_visible(timeout=30_000)
    expect(page.get_by_role("row", name=re.compile("fits|L1"))).not_to_have_count(0)
    assert visitor.interactions <= 6


def test_journey_1_a_visitor_drags_a_tile_of_a_product_and_reads_the_new_time(harness: Harness) -> None:
    a, b = te.placeholder((512, 512), name="A"), te.placeholder((512, 512), name="B")
    k = te.reduce_axis((0, 512), name="k")
    c = te.compute((512, 512), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    schedule = wb.open([a, b, c]).schedule("main")
    i, j, inner = schedule.get_loops("C")
    j_0, j_1 = schedule.split(j, factors=[None, 64])
    schedule.reorder(i, j_0, inner, j_1)
    visitor = Visitor(harness, wb.open(schedule))
    page = visitor.page
    expect(visitor.pane("A").locator(".wb-text-row").first).to_be_visible(timeout=30_000)
    visitor.click(visitor.pane("A").get_by_role("button", name="Lens"))
    edge = page.get_by_role("slider", name="Tile edge j_1").first
    expect(edge).to_have_attribute("aria-valuenow", "64", timeout=30_000)
    asked = len(harness.asked)
    place = edge.bounding_box()
    assert place is not None
    x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 12, y, steps=4)
    expect(edge).not_to_have_attribute("aria-valuenow", "64")
    assert "lens.release" not in harness.operations()[asked:], "dragging asks nothing"
    factor = edge.get_attribute("aria-valuenow")
    page.mouse.up()
    visitor.interactions += 1
    code = f"factors=[None, {factor}]"
    harness.wait_until(lambda: code in visitor.screen.session.schedule("main").code(), "the schedule has the factor")
    expect(page.locator(".wb-lens-result")).to_contain_text(re.compile("[µm]s"), timeout=60_000)
    harness.push()
    expect(page.locator(".wb-last-call")).to_contain_text("sch.change(")
    assert visitor.interactions <= 6


@pytest.mark.slow
def test_journey_3_an_engineer_takes_a_step_back_and_keeps_the_better_branch(harness: Harness) -> None:
    """From the hottest line of a fused convolution to the move behind it; both branches measured; back again."""
    visitor = Visitor(harness, wb.open(str(NETWORK)))
    page, screen = visitor.page, visitor.screen
    expect(visitor.pane("B").locator(".wb-text-row").first).to_be_visible(timeout=30_000)
    visitor.click(visitor.chip("Assembly"), modifiers=["Shift"])
    visitor.click(visitor.pane("B").get_by_role("button", name="Hottest"))
    line = page.get_by_role("region", name="The line")
    expect(line.get_by_role("list", name="Moves").get_by_role("listitem").first).to_be_visible(timeout=30_000)
    expect(page.get_by_role("complementary", name="The selection")).to_contain_text(re.compile(r"Conv#\d"))
    kernel = page.get_by_role("combobox", name="Kernel").first.input_value()
    before = screen.session
    visitor.click(line.get_by_role("button", name=re.compile("^Take (vectorize|unroll|parallel) ")).last)
    harness.wait_until(lambda: screen.session is not before, "the move is taken back")
    harness.push()
    comparison = visitor.pane("B")
    expect(comparison.get_by_role("combobox", name="Branch to compare with")).to_be_visible()
    expect(comparison.locator("del.wb-line, ins.wb-line").first).to_be_visible(timeout=30_000)
    visitor.click(comparison.get_by_role("button", name="Measure both"))
    expect(comparison.get_by_role("status")).to_contain_text(re.compile(r"[µm]s → .*[µm]s"), timeout=30_000)
    visitor.click(page.get_by_role("button", name="Undo", exact=True))
    harness.wait_until(
        lambda: screen.session.schedule(kernel).code() == before.schedule(kernel).code(), "the branch before is shown"
    )
    assert visitor.interactions <= 6
