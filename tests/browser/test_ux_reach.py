"""Rows 100 to 111 of the feature matrix on the screen of EfficientNet-lite0: keys, colours, words, themes, offline."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, expect

import workbench as wb
from tests.browser.shown import Shown, opened
from workbench import te


def focused(shown: Shown) -> str:
    screen = "document.activeElement?.closest('.wb-workbench')"
    return str(shown.page.evaluate(f"{screen}?.getAttribute('aria-label') ?? ''"))


def test_ux_100_the_main_actions_have_keys_that_a_sheet_lists(shown: Shown) -> None:
    """Layers, panes, lines, steps, changes, undo: without the mouse after the first focus."""
    page = shown.page
    shown.focus("A")
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keys")
    for said in ("a layer, in the focused pane", "the other pane", "undo, redo a change", "check every step"):
        expect(sheet).to_contain_text(said)
    page.keyboard.press("?")
    expect(sheet).to_have_count(0)
    page.keyboard.press("3")
    expect(shown.pane("A")).to_have_attribute("aria-label", "Fused, pane A")
    page.keyboard.press("w")
    page.keyboard.press("6")
    expect(shown.pane("B")).to_have_attribute("aria-label", "TIR, pane B")
    page.keyboard.press("ArrowDown")
    expect(shown.pane("B").locator(".wb-text-row.wb-active")).to_have_count(1)
    page.keyboard.press("w")
    page.keyboard.press("d")
    before = shown.pane("A").locator(".wb-step-name").inner_text()
    page.keyboard.press("]")
    expect(shown.pane("A").locator(".wb-step-name")).not_to_have_text(before)
    assert focused(shown) == "Workbench", "the keys stay the screen's"


def test_ux_100_a_click_on_the_blank_of_the_screen_gives_it_the_keys(shown: Shown) -> None:
    shown.page.locator("#outside").focus()
    shown.page.locator(".wb-spine .wb-title").click()
    assert focused(shown) == "Workbench"


def test_ux_101_what_is_lit_is_underlined_too(shown: Shown) -> None:
    """Colour never stands alone: selected lines are underlined, verdicts and states have signs."""
    rows = shown.text("TIR", "B")
    rows.nth(4).click()
    lit = shown.pane("B").locator(".wb-text-row.wb-lit .wb-no").first
    assert "underline" in lit.evaluate("element => getComputedStyle(element).textDecorationLine")
    signs = shown.page.get_by_role("navigation", name="Layers of the program").get_by_role("button").all_inner_texts()
    assert len(signs) >= 6, "each layer has a button"
    assert [sign for sign in signs if not re.match(r"[✓◐◌✎✗…]", sign.strip())] == []


def test_ux_103_a_graph_is_readable_as_text_and_as_an_outline(shown: Shown) -> None:
    shown.layers("Fused")
    shown.turn("Graph")
    boxes = shown.pane("A").locator(".wb-box")
    expect(boxes.first).to_be_visible()
    assert all(boxes.evaluate_all("all => all.map((box) => box.getAttribute('aria-label'))")), "each box has words"
    shown.page.keyboard.press("i")
    expect(shown.rows("A").filter(has_text="R.nn.conv2d").first).to_be_visible()
    expect(shown.page.get_by_role("listbox", name="Steps")).to_be_visible()


def test_ux_104_light_and_dark(shown: Shown) -> None:
    colour = "getComputedStyle(document.querySelector('.wb-workbench')).backgroundColor"
    light = shown.page.evaluate(colour)
    shown.page.evaluate("void document.body.classList.add('dark')")
    dark = shown.page.evaluate(colour)
    shown.page.evaluate("void document.body.classList.remove('dark')")
    red_green_blue = [[int(part) for part in re.findall(r"\d+", one)[:3]] for one in (light, dark)]
    assert min(red_green_blue[0]) > 200 and max(red_green_blue[1]) < 60, (light, dark)


def test_ux_111_nothing_is_asked_of_anybody_else(browser: Browser) -> None:
    """Under a policy that allows the page's own scripts alone."""
    a = te.placeholder((32, 32), name="A")
    session = wb.open([a, te.compute((32, 32), lambda i, j: a[i, j] * 2.0, name="B")])
    with opened(browser, session) as shown:
        for layer in ("TE", "Schedule", "TIR", "LLVM", "Assembly"):
            shown.focus("A")
            shown.chip(layer).click()
            expect(shown.pane("A")).to_have_attribute("aria-label", f"{layer}, pane A")
        shown.settled()
