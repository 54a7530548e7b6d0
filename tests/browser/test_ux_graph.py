"""Rows 1 to 11 of the feature matrix on the screen of EfficientNet-lite0: the view of a model's graph."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.shown import Shown


def test_ux_2_a_group_opens_and_closes(shown: Shown) -> None:
    shown.layers("Fused", "Schedule")
    boxes = shown.pane("A").locator(".wb-box")
    closed = boxes.count()
    group = shown.pane("A").locator(".wb-box-group").nth(2)
    title = group.locator("text").text_content() or ""
    group.dblclick()
    frame = shown.pane("A").locator(".wb-frame", has_text=title)
    expect(frame).to_be_visible()
    assert boxes.count() > closed
    frame.get_by_role("button").click()
    expect(boxes).to_have_count(closed)
    group.focus()
    shown.page.keyboard.press("o")
    expect(frame).to_be_visible()
    frame.get_by_role("button").focus()
    shown.page.keyboard.press("Enter")
    expect(boxes).to_have_count(closed)


def test_ux_3_equal_blocks_are_one_box_with_their_number(shown: Shown) -> None:
    shown.layers("Fused", "Schedule")
    repeated = shown.pane("A").locator(".wb-box-group", has=shown.page.get_by_text(re.compile("×3$")))
    expect(repeated).to_have_count(1)
    title = repeated.locator("text").text_content() or ""
    repeated.dblclick()
    frame = shown.pane("A").locator(".wb-frame", has_text=title)
    expect(frame).to_be_visible()
    number = title.split(" ")[0]
    blocks = shown.pane("A").locator(".wb-box-group text").filter(has_text=re.compile(rf"^{number}\.\d · "))
    expect(blocks).to_have_count(3)
    names = {re.sub(r"^[\d.]+ · ", "", text) for text in blocks.all_text_contents()}
    assert len(names) == 1, "the three blocks are alike"
    frame.get_by_role("button").click()
    expect(repeated).to_have_count(1)


def test_ux_8_two_graphs_beside_each_other_share_the_selection(shown: Shown) -> None:
    shown.layers("Relay", "Fused")
    expect(shown.pane("A").locator(".wb-graph .wb-box").first).to_be_visible()
    shown.box("A", "mean").click()
    expect(shown.pane("B").locator(".wb-box.wb-lit")).to_have_count(1)
    expect(shown.pane("B").locator(".wb-box.wb-lit")).to_contain_text("mean")
    shown.box("B", "dense").click()
    expect(shown.pane("A").locator(".wb-box.wb-lit").filter(has_text="dense")).to_have_count(1)
    expect(shown.box("A", "mean")).to_have_attribute("aria-pressed", "false")
