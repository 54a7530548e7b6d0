"""What is to be seen is in sight: layers, tabs, fields and names, at the widths that screens have."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

import workbench as wb
from tests.browser.harness import Harness
from tests.browser.test_selection_kept import two_convolutions
from tests.nightly import daily
from workbench.ui.workbench import Workbench

OUTSIDE = """(box, among) => {
    const held = box.getBoundingClientRect();
    const shown = [...box.querySelectorAll(among)].filter((one) => one.getClientRects().length);
    return shown.map((one) => one.getBoundingClientRect())
        .filter((one) => one.left < held.left - 1 || one.right > held.right + 1).length;
}"""

ON_LINES = """pane => {
    const boxes = [...pane.querySelectorAll(".wb-box > rect:first-of-type")].map((one) => one.getBoundingClientRect());
    return [...pane.querySelectorAll(".wb-number")].filter((label) => {
        const held = label.getBoundingClientRect();
        return boxes.some((box) => held.left < box.right && held.right > box.left
            && held.top < box.bottom && held.bottom > box.top);
    }).map((label) => label.textContent);
}"""
"""The numbers of a graph that lie on a box."""

ROOM = """one => {
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = getComputedStyle(one).font;
    return [pen.measureText(one.selectedOptions[0].text).width, one.clientWidth - 28];
}"""
"""How wide a choice's text is, and how wide it may be beside the arrow."""


def outside(box: Locator, among: str) -> Any:
    """How many of the things in a box stick out of it sideways."""
    return box.evaluate(OUTSIDE, among)


def opened(harness: Harness, width: int, at: str = "A=relay.graph&B=asm.text&in=A") -> None:
    harness.page.set_viewport_size({"width": width, "height": 900})
    session = wb.open(two_convolutions(), target="llvm -mcpu=apple-m1 -mtriple=arm64-apple-macos -num-cores=4")
    other = session.without("FoldScaleAxis")
    harness.show(Workbench(other, at=at))
    expect(harness.page.get_by_role("combobox", name="Branch", exact=True)).to_be_visible()


@pytest.mark.parametrize("width", [1400, 1000, 640])
def test_every_layer_and_every_tab_is_in_sight(harness: Harness, width: int) -> None:
    """Assembly was cut off, with no way to scroll to it, as soon as there were branches."""
    opened(harness, width)
    page = harness.page
    for box, among in ((page.locator(".wb-spine"), ".wb-chip"), (page.locator(".wb-strip-head"), "button")):
        assert outside(box, among) == 0
        assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
    for name in ("Relay", "LLVM", "Assembly"):
        button = page.get_by_role("navigation", name="Layers").get_by_role("button", name=name)
        expect(button).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("width", daily([1400, 1250, 1120, 1000, 900, 640], 1250, 640))
def test_nothing_moves_between_the_two_clicks_of_a_double_click(harness: Harness, width: int) -> None:
    """The counts of what is lit made the layers wrap, and the second click fell beside the box."""
    opened(harness, width)
    page = harness.page
    box = page.locator(".wb-box-call", has_text="nn.conv2d").first
    before = box.bounding_box()
    box.click()
    expect(page.locator(".wb-lit-count")).to_have_count(7)
    after = box.bounding_box()
    assert before and after
    moved = [after["x"] + after["width"] / 2 - before["x"] - before["width"] / 2, after["y"] - before["y"]]
    assert max(map(abs, moved)) < 1, moved


@pytest.mark.parametrize("width", daily([1500, 1440, 1366, 1280, 1200, 1120, 1000, 640], 1366, 1120, 640))
@pytest.mark.parametrize("branches", [False, True])
def test_nothing_moves_when_a_figure_comes_or_goes(harness: Harness, width: int, branches: bool) -> None:
    """The layers wrapped for it: a click on another kernel's box took it away, and the second one fell beside."""
    opened(harness, width)
    page = harness.page
    if not branches:
        page.locator(".wb-branch").evaluate("one => one.remove()")
    box, run = page.locator(".wb-box-call", has_text="nn.conv2d").first, page.locator(".wb-run")
    places = list[Any]()
    for text in ("Measure", "this kernel: 0.213 ms · 12.1% of peak"):
        run.evaluate("(one, text) => one.replaceChildren(text)", text)
        places.append(box.bounding_box())
    assert places[0] == places[1]
    head = page.locator(".wb-spine").bounding_box()
    assert head and head["height"] < 100, "two lines at most, with branches too"


@pytest.mark.parametrize("width", [1400, 640])
def test_nothing_moves_when_the_kernel_gets_busy(harness: Harness, width: int) -> None:
    """That it is was told in the row of the layers, which wrapped for it, and again when it was over."""
    opened(harness, width)
    page = harness.page
    box = page.locator(".wb-box-call", has_text="nn.conv2d").first
    harness.asked_so_far()
    with harness.held():
        before = box.bounding_box()
        box.click()
        expect(page.locator(".wb-spine .wb-busy")).to_be_visible()
        after = box.bounding_box()
    assert before and after and abs(after["y"] - before["y"]) < 1, (before, after)


def test_fields_and_choices_are_as_wide_as_what_they_hold(harness: Harness) -> None:
    opened(harness, 1400)
    page = harness.page
    bar = page.locator(".wb-graph-bar").first
    choices = bar.get_by_role("combobox").all()
    assert choices
    for choice in choices:
        widths = choice.evaluate(ROOM)
        assert widths[0] <= widths[1]
    page.locator(".wb-box-call", has_text="nn.conv2d").first.click()
    ladder = page.get_by_role("complementary", name="The selection")
    ladder.locator("summary").first.click()
    expect(ladder.locator("input").first).to_be_visible()
    assert outside(ladder, "input") == 0
    page.locator(".wb-target").click()
    sheet = page.get_by_role("dialog", name="Target")
    expect(sheet).to_be_visible()
    assert outside(sheet.locator(".wb-targets").last, "code") == 0
    assert sheet.evaluate("box => box.scrollWidth <= box.clientWidth")


def test_the_rank_of_a_primitive_leaves_its_description_the_wide_column(harness: Harness) -> None:
    opened(harness, 1400, "A=schedule.editor&B=tir.text&in=A")
    page = harness.page
    page.get_by_role("button", name="Whole width").first.click()
    page.locator(".wb-tree .wb-box-head").first.click()
    page.get_by_role("button", name="Rank", exact=True).click()
    row = page.locator(".wb-primitive", has=page.locator(".wb-rank")).first
    expect(row).to_be_visible()
    button, doc, rank = (row.locator(part).first.bounding_box() for part in ("button", ".wb-doc", ".wb-rank"))
    assert button and doc and rank
    assert doc["x"] > rank["x"] + rank["width"] and doc["width"] > rank["width"]
    assert abs(doc["y"] - button["y"]) < 12, "they begin on one line"


def test_numbers_of_arm_assembly_are_numbers(harness: Harness) -> None:
    """What a number sign begins is a comment on x86 and an immediate on ARM."""
    opened(harness, 1400)
    rows = harness.page.get_by_role("region", name="pane B").locator(".wb-text-row")
    row = rows.filter(has_text=re.compile(r"#\d+\]?$")).first
    expect(row).to_be_visible()
    expect(row.locator(".wb-t-com")).to_have_count(0)
    expect(row.locator(".wb-t-num").last).to_be_visible()


@pytest.mark.parametrize("width", [1400, 640])
def test_the_numbers_of_boxes_lie_on_no_border(harness: Harness, width: int) -> None:
    opened(harness, width, "A=fused.graph&B=asm.text&in=A")
    pane = harness.page.get_by_role("region", name="pane A")
    expect(pane.locator(".wb-number")).to_have_count(3)
    assert pane.evaluate(ON_LINES) == []
    edges = pane.locator(".wb-edge text").all()
    assert edges
    for label, edge in product(pane.locator(".wb-number").all(), edges):
        one, other = label.bounding_box(), edge.bounding_box()
        assert one and other
        apart = one["y"] >= other["y"] + other["height"] - 1 or other["y"] >= one["y"] + one["height"] - 1
        assert apart or one["x"] >= other["x"] + other["width"] or other["x"] >= one["x"] + one["width"]
