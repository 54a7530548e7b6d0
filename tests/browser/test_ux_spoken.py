"""First 17 on the screen of EfficientNet-lite0: the graph and what a step changed, as a screen reader is told."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

from tests.browser.shown import Shown

FIRST = "(1×32×112×112|1×112×112×32)"
"""Of the first convolution's result: which layout, the machine decides."""


def tree(shown: Shown, layer: str = "Fused") -> Locator:
    shown.layers(layer, "Schedule")
    shown.turn("Tree")
    found = shown.pane("A").get_by_role("tree", name="The graph in words")
    expect(found.get_by_role("treeitem").first).to_be_visible(timeout=30_000)
    return found


def test_first_17_the_graph_is_a_tree_that_is_read_and_walked_by_keys(shown: Shown) -> None:
    """What Chromium's accessibility tree says, not what is drawn."""
    words = tree(shown)
    words.focus()
    first = words.get_by_role("treeitem", name=re.compile("conv2d")).first
    expect(first).to_have_attribute("aria-expanded", "false")
    for _ in range(int(str(first.get_attribute("aria-posinset"))) - 1):  # over a move of the input
        shown.page.keyboard.press("ArrowDown")
    shown.page.keyboard.press("ArrowRight")
    expect(first).to_have_attribute("aria-expanded", "true")
    for _ in range(6):  # down to a fused call and into it, whatever groups lie above
        shown.page.keyboard.press("ArrowRight")
    operator = rf"nn\.conv2d v\d+, inputs 2, output {FIRST} float32, changed by .*PackWeights"
    expect(words).to_match_aria_snapshot(f"- treeitem /{operator}/")
    call = rf"nn\.conv2d, nn\.bias_add, clip v\d+, inputs 3, output {FIRST} float32, changed by .*FuseOps"
    expect(words.get_by_role("treeitem", name=re.compile(call)).first).to_have_attribute("aria-expanded", "true")
    shown.page.keyboard.press("Home")
    shown.page.keyboard.press("End")
    expect(words.get_by_role("treeitem").last).to_have_class(re.compile("wb-active"))
    active_is_said(words)
    shown.page.keyboard.press("Home")
    for _ in range(int(str(first.get_attribute("aria-posinset"))) - 1):
        shown.page.keyboard.press("ArrowDown")
    shown.page.keyboard.press("ArrowLeft")
    expect(first).to_have_attribute("aria-expanded", "false")


def active_is_said(words: Locator) -> None:
    """The item that keys speak of is in the page, in sight, and the one that a reader is told of."""
    active = words.locator(".wb-active")
    expect(active).to_be_in_viewport()
    expect(words).to_have_attribute("aria-activedescendant", str(active.get_attribute("id")))


def test_first_17_of_a_tree_with_all_open_the_page_holds_what_is_in_sight(shown: Shown) -> None:
    """More than 200 items: few of them in the page, each with its place, and the keys reach all."""
    words = tree(shown)
    words.focus()
    items = words.get_by_role("treeitem")
    shown.page.keyboard.press("Home")
    seen = 0
    while True:  # down the whole tree, opening what can be
        active = words.locator(".wb-active")
        at = str(active.get_attribute("id"))
        expect(words).to_have_attribute("aria-activedescendant", at)
        if active.get_attribute("aria-expanded") == "false":
            shown.page.keyboard.press("ArrowRight")
            expect(active).to_have_attribute("aria-expanded", "true")
        seen += 1
        shown.page.keyboard.press("ArrowDown")
        if shown.page.evaluate("() => document.activeElement.getAttribute('aria-activedescendant')") == at:
            break
    assert seen > 200, "enough for the limit to be met"
    assert 0 < items.count() < 100
    active_is_said(words)
    shown.page.keyboard.press("Home")
    active_is_said(words)
    assert items.count() < 100
    first = items.first
    outermost = int(str(first.get_attribute("aria-setsize")))
    assert first.get_attribute("aria-posinset") == "1" and first.get_attribute("aria-level") == "1"
    shown.page.keyboard.press("End")
    active_is_said(words)
    last = words.locator(".wb-active")
    assert last.get_attribute("aria-posinset") == last.get_attribute("aria-setsize")
    shown.page.keyboard.press("Home")
    shown.page.keyboard.press("ArrowLeft")
    assert 1 < outermost < seen, "of the items on its level, not of all"


def test_first_17_a_call_of_the_tree_is_selected_in_every_layer(shown: Shown) -> None:
    words = tree(shown)
    dense = words.get_by_role("treeitem", name=re.compile("contrib_dense_pack"))
    while dense.count() == 0:
        closed = words.locator("[role=treeitem][aria-expanded=false]")
        closed.last.click()
    dense.first.click()
    expect(dense.first).to_have_attribute("aria-selected", "true")
    expect(shown.page.get_by_role("complementary", name="The selection")).to_contain_text("Gemm")
    expect(shown.page.get_by_role("region", name="Operators")).to_contain_text("nn.contrib_dense_pack")


def test_first_17_what_a_step_changed_is_said_and_listed(shown: Shown) -> None:
    shown.changes("PackWeights")
    said = shown.page.get_by_role("status", name="What the step changed")
    packed = len(shown.session["PackWeights"].rewrites)
    told = rf"^PackWeights: {packed} changes .*{packed} statements added, {packed} statements changed$"
    expect(said).to_have_text(re.compile(told))
    shown.page.get_by_text(re.compile(f"^As lists: {packed} added, {packed} changed$")).click()
    lists = shown.pane("A")
    expect(lists.get_by_role("list", name="Added").get_by_role("listitem")).to_have_count(packed)
    changed = lists.get_by_role("list", name="Changed").get_by_role("listitem").first
    expect(changed).to_contain_text(re.compile(r"^v\d+ = R\.nn\.conv2d\(\w+, v\d+, .*OIHW\d+o"))
    shown.step("SimplifyExpr").click()
    expect(said).to_have_text("SimplifyExpr: nothing changed")
    expect(lists.get_by_role("list", name="Added")).to_have_count(0)
    shown.step("FoldConstant").click()
    expect(said).to_contain_text("38 statements removed, 38 statements changed")
