"""Rows 38 to 42 of the feature matrix on the screen of EfficientNet-lite0: what comes from what."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

from tests.browser.network_kernel import CONVOLUTION
from tests.browser.shown import Shown
from workbench.driver.given_inputs import drawn_inputs

LAYERS = ["ONNX", "TE", "Schedule", "TIR", "LLVM", "Assembly"]


def test_ux_38_a_line_lights_its_lines_in_the_other_language(shown: Shown) -> None:
    shown.text("TIR")
    shown.text("Assembly", "B")
    line = shown.rows("A").filter(has_text="conv2d[").last
    line.click()
    expect(line).to_have_class(re.compile("wb-lit"))
    lit = shown.rows("B").and_(shown.page.locator(".wb-lit"))
    expect(lit.first).to_be_visible()
    with_and_without = """row => {
        const colour = () => getComputedStyle(row).backgroundColor;
        const found = [colour()];
        row.classList.remove("wb-lit");
        found.push(colour());
        row.classList.add("wb-lit");
        return found;
    }"""
    lit_colour, plain_colour = lit.first.evaluate(with_and_without)
    assert lit_colour != plain_colour


def node_of_the_stem(shown: Shown) -> Locator:
    """The line of the first convolution."""
    shown.pane("A").locator(".wb-window-body").evaluate("box => { box.scrollTop = 44 * 19; }")
    found = shown.rows("A").filter(has_text="Conv#50 ")
    expect(found).to_be_visible()
    return found


def test_ux_39_a_layer_of_the_model_leads_to_its_code_after_all_passes(shown: Shown) -> None:
    shown.text("ONNX")
    shown.chip("Fused").click(modifiers=["Shift"])
    shown.turn("Text", "B")
    node = node_of_the_stem(shown)
    node.click()
    lit = shown.rows("B").and_(shown.page.locator(".wb-lit"))
    expect(lit.filter(has_text="R.nn.conv2d")).to_have_count(1)
    lit.filter(has_text="R.nn.conv2d").click()
    expect(shown.page.get_by_role("complementary", name="The selection")).to_contain_text("Conv#50 ('node_Conv_877')")
    expect(shown.rows("A").and_(shown.page.locator(".wb-lit")).first).to_contain_text("_conv_stem.weight")


def test_ux_40_a_kernel_call_of_a_run_shows_its_part_of_the_model(shown: Shown) -> None:
    """The slowest call of a run: its box in the graph, and its lines in the loops and the assembly."""
    shown.layers("Fused", "TIR")
    shown.button("Run", exact=True).click()
    shown.button("Run it").click()
    panel = shown.page.get_by_role("group", name="Run")
    profile = shown.session.profile(drawn_inputs(shown.session.history.step(shown.session.actions, 0).stage.module))
    every = len(profile.calls)
    assert every > 50
    expect(panel.get_by_role("status")).to_contain_text(f"{every} kernel calls", timeout=60_000)
    panel.get_by_label("slowest first").check()
    calls = panel.get_by_role("listbox", name="Kernel calls").get_by_role("option")
    expect(calls.first).to_have_attribute("aria-setsize", str(every))
    assert 0 < calls.count() < every, "those in sight, and a few around them"
    times = [float(text.split()[0]) * {"ms": 1e3, "µs": 1}[text.split()[1]] for text in
             calls.locator("span:nth-child(3)").all_inner_texts()]  # fmt: skip
    assert times == sorted(times, reverse=True) and times[-1] > 0
    slow = calls.first
    kernel = slow.locator(".wb-name").inner_text()
    slow.click()
    expect(slow).to_have_attribute("aria-selected", "true")
    expect(shown.pane("B").get_by_role("combobox", name="Kernel")).to_have_value(kernel)
    lit = shown.rows("B").and_(shown.page.locator(".wb-lit"))
    expect(lit.first).to_be_in_viewport(timeout=30_000)
    expect(shown.pane("A").locator(".wb-box.wb-lit").first).to_be_visible()
    for layer in LAYERS:
        expect(shown.chip(layer).locator(".wb-lit-count")).to_be_visible(timeout=30_000)
    held = {call.classes for call in profile.calls if call.kernel == kernel}
    assert tuple(sorted(shown.screen.selection)) in held
    calls.nth(0).press("ArrowDown")
    expect(calls.nth(1)).to_have_attribute("aria-selected", "true")
    shown.page.keyboard.press("End")  # a row that was not in the page: it comes into sight and keys go on from it
    chosen = panel.get_by_role("option", selected=True)
    expect(chosen).to_have_attribute("aria-posinset", str(every))
    expect(chosen).to_be_in_viewport()
    listed = panel.get_by_role("listbox", name="Kernel calls")
    expect(listed).to_have_attribute("aria-activedescendant", str(chosen.get_attribute("id")))
    shown.page.keyboard.press("ArrowUp")
    expect(chosen).to_have_attribute("aria-posinset", str(every - 1))
    expect(listed).to_be_focused()
    shown.button("Run", exact=True).click()


def test_ux_41_a_line_says_which_moves_of_the_schedule_made_its_loops(shown: Shown) -> None:
    shown.text("TIR")
    shown.pane("A").get_by_role("combobox", name="Kernel").select_option(CONVOLUTION)
    shown.rows("A").filter(has_text="conv2d[").last.click()
    place = shown.page.get_by_role("region", name="The line")
    expect(place.get_by_role("list", name="Loops around it").get_by_role("listitem").first).to_contain_text("×")
    moves = place.get_by_role("list", name="Moves").get_by_role("listitem")
    expect(moves.filter(has_text="parallel").first).to_be_visible()
    expect(moves.filter(has_text="split").first).to_be_visible()


def test_ux_42_one_node_is_lit_in_six_layers(shown: Shown) -> None:
    shown.layers("Fused", "Assembly")
    box = shown.pane("A").locator(".wb-box-call", has_text=re.compile("nn.conv2d")).first
    box.click()
    for layer in LAYERS:
        expect(shown.chip(layer).locator(".wb-lit-count")).to_be_visible(timeout=30_000)
    ladder = shown.page.get_by_role("complementary", name="The selection")
    for layer in LAYERS:
        row = ladder.locator("dt", has=shown.page.get_by_role("button", name=layer, exact=True))
        expect(row.locator("xpath=following-sibling::dd[1]")).not_to_have_text("no line")


def test_first_1_from_a_line_of_assembly_up_to_its_onnx_node(shown: Shown) -> None:
    """Down from a node to its instructions, and from one of them up again to that node."""
    shown.text("ONNX")
    shown.text("Assembly", "B")
    node = node_of_the_stem(shown)
    told = (node.locator(".wb-line").text_content() or "").strip()
    node.click()
    lit = shown.rows("B").and_(shown.page.locator(".wb-lit")).filter(has_text=re.compile("mul|fmadd|fmla|mov"))
    expect(lit.first).to_be_visible(timeout=30_000)
    for layer in LAYERS:
        expect(shown.chip(layer).locator(".wb-lit-count")).to_be_visible()
    lit.first.click()
    ladder = shown.page.get_by_role("complementary", name="The selection")
    expect(ladder).to_contain_text(told)
