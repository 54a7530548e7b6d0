"""Rows 1 to 11 of the feature matrix on the screen of EfficientNet-lite0: the view of a model's graph."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.shown import Shown, opened


def zoom(shown: Shown) -> Locator:
    return shown.pane("A").get_by_role("group", name="Zoom")


def width(shown: Shown) -> float:
    return shown.pane("A").locator(".wb-graph svg").evaluate("svg => svg.getBoundingClientRect().width")


def search(shown: Shown, query: str) -> Locator:
    """Look for something in the graph of pane A; gives what is said of it."""
    shown.pane("A").get_by_role("textbox", name="Find in the graph").fill(query)
    return shown.pane("A").locator(".wb-graph-bar [role=status]")


def number(text: str) -> float:
    """A number with its unit, as boxes show it."""
    found = re.match(r"([\d.]+) ?([GMkmµ]?)", text)
    assert found is not None, text
    return float(found[1]) * {"G": 1e9, "M": 1e6, "k": 1e3, "m": 1e-3, "µ": 1e-6, "": 1.0}[found[2]]


def test_ux_1_the_graph_is_zoomed_and_taken_along(shown: Shown) -> None:
    shown.layers("Relay", "Schedule")
    before = width(shown)
    zoom(shown).get_by_role("button", name="Larger").click()
    assert width(shown) == pytest.approx(1.25 * before, rel=0.01)
    shown.pane("A").locator(".wb-graph").focus()
    shown.page.keyboard.press("+")
    assert width(shown) == pytest.approx(1.25**2 * before, rel=0.01)
    graph = shown.pane("A").locator(".wb-graph")
    box = graph.bounding_box()
    assert box is not None
    x, y = box["x"] + 8, box["y"] + box["height"] - 12
    shown.page.mouse.move(x, y)
    shown.page.mouse.down()
    shown.page.mouse.move(x, y - 120, steps=3)
    shown.page.mouse.up()
    assert graph.evaluate("box => box.scrollTop") == pytest.approx(120, abs=2)
    shown.page.keyboard.down("Control")
    shown.page.mouse.wheel(0, 200)
    shown.page.keyboard.up("Control")
    shown.page.wait_for_timeout(50)
    assert width(shown) < 1.25**2 * before
    zoom(shown).get_by_role("button", name="Fit").click()
    assert graph.evaluate("box => box.scrollHeight <= box.clientHeight + 2"), "the whole graph is in sight"
    shown.pane("A").locator(".wb-graph").focus()
    for _ in range(12):
        shown.page.keyboard.press("+")
    for _ in range(6):
        shown.page.keyboard.press("-")


def test_ux_2_a_group_opens_and_closes(shown: Shown) -> None:
    shown.layers("Fused", "Schedule")
    boxes = shown.pane("A").locator(".wb-box")
    closed = boxes.count()
    group = shown.pane("A").locator(".wb-box-group").nth(2)
    title = group.locator("text").first.text_content() or ""
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
    title = repeated.locator("text").first.text_content() or ""
    repeated.dblclick()
    frame = shown.pane("A").locator(".wb-frame", has_text=title)
    expect(frame).to_be_visible()
    number = title.split(" ")[0]
    titles = shown.pane("A").locator(".wb-box-group text:not(.wb-number)")
    blocks = titles.filter(has_text=re.compile(rf"^{number}\.\d · "))
    expect(blocks).to_have_count(3)
    names = {re.sub(r"^[\d.]+ · ", "", text) for text in blocks.all_text_contents()}
    assert len(names) == 1, "the three blocks are alike"
    frame.get_by_role("button").click()
    expect(repeated).to_have_count(1)


def test_ux_4_what_a_box_reads_and_what_reads_it_is_lit(shown: Shown) -> None:
    shown.layers("Fused", "Schedule")
    pane = shown.pane("A")
    boxes = pane.locator(".wb-box-call")
    mean = shown.box("A", "mean")
    mean.click()
    shown.chip("ONNX").hover()
    expect(pane.locator(".wb-feeds")).to_have_count(1)
    expect(pane.locator(".wb-fed")).to_have_count(1)
    expect(pane.locator(".wb-fed")).to_contain_text("reshape")
    expect(pane.locator(".wb-edge-in")).to_have_count(1)
    expect(pane.locator(".wb-edge-out")).to_have_count(1)
    pane.get_by_role("button", name="Trace").click()
    assert pane.locator(".wb-feeds").count() > 5
    expect(pane.locator(".wb-fed")).to_have_count(2)
    pane.get_by_role("button", name="Trace").click()
    asked = shown.harness.asked_so_far()
    shown.box("A", "reshape").hover()
    expect(pane.locator(".wb-feeds")).to_contain_text("mean")
    assert len(shown.harness.asked) == asked, "hovering asks nobody"
    assert boxes.count() > 3


def test_ux_5_boxes_carry_numbers_of_ones_choice(shown: Shown) -> None:
    shown.layers("Fused", "Schedule")
    pane = shown.pane("A")
    choice = pane.get_by_role("combobox", name="Numbers on boxes")
    expect(shown.box("A", "contrib_dense_pack").locator(".wb-number")).to_have_text(re.compile(r"^[\d.]+ %$"))
    choice.select_option("operations")
    told = shown.box("A", "contrib_dense_pack").locator(".wb-number")
    assert number(told.text_content() or "") == pytest.approx(2 * 1280 * 1000 + 1000, rel=0.01)
    choice.select_option("bytes written")
    assert number(told.text_content() or "") == pytest.approx(2 * 4000, rel=0.01)
    choice.select_option("measured time")
    expect(told).to_have_count(0)
    shown.box("A", "contrib_dense_pack").click()
    expect(shown.page.get_by_role("combobox", name="Kernel").first).to_have_value(re.compile("dense_pack"))
    shown.button("Measure").click()
    expect(told).to_have_text(re.compile(r"^[\d.]+ (µs|ms)$"), timeout=20_000)
    expect(shown.box("A", "contrib_dense_pack").locator(".wb-share")).to_have_count(1)
    choice.select_option("no numbers")
    expect(pane.locator(".wb-number")).to_have_count(0)
    choice.select_option("share of the arithmetic")


def test_ux_7_operators_are_found_by_attributes_and_patterns(shown: Shown) -> None:
    shown.layers("Relay", "Schedule")
    pane = shown.pane("A")
    asked = shown.harness.asked_so_far()
    expect(search(shown, "op:conv2d")).to_contain_text("49 operators in")
    expect(search(shown, "op:conv2d groups>1")).to_contain_text("16 operators in")
    expect(search(shown, "op:conv2d channels>=1152 groups=1")).to_contain_text("operators in")
    expect(search(shown, "out>4MB")).to_contain_text("operators in")
    expect(search(shown, r"/kernel_size=\(5, 5\)/")).to_contain_text("operators in")
    expect(search(shown, "/(/")).to_contain_text("no regular expression")
    expect(search(shown, "channels>wide")).to_contain_text("no number")
    expect(search(shown, "mean")).to_contain_text("1 operator in 1 box")
    expect(pane.locator(".wb-hit-box")).to_contain_text("mean")
    assert len(shown.harness.asked) == asked, "searching asks nobody"
    shown.page.keyboard.press("Enter")
    expect(shown.box("A", "mean")).to_be_in_viewport()
    shown.page.keyboard.press("Escape")
    expect(pane.locator(".wb-hit-box")).to_have_count(0)


def test_ux_8_two_graphs_beside_each_other_share_the_selection(shown: Shown) -> None:
    shown.layers("Relay", "Fused")
    expect(shown.pane("A").locator(".wb-graph .wb-box").first).to_be_visible()
    shown.box("A", "mean").click()
    lit = shown.pane("B").locator(".wb-box.wb-lit")
    expect(lit.filter(has_text="mean")).to_have_count(1)
    expect(lit.filter(has_not_text=re.compile("mean|layout_transform"))).to_have_count(0)
    shown.box("B", "dense").click()
    expect(shown.pane("A").locator(".wb-box.wb-lit").filter(has_text="dense")).to_have_count(1)
    expect(shown.box("A", "mean")).to_have_attribute("aria-pressed", "false")


def test_ux_9_a_layout_is_waited_for_elsewhere_and_can_be_called_off(shown: Shown) -> None:
    shown.layers("Fused", "Schedule")
    pane = shown.pane("A")
    boxes = pane.locator(".wb-box")
    expect(shown.pane("B").locator(".wb-wait")).to_have_count(0)  # what was asked before is answered
    shown.harness.asked_so_far()
    closed = boxes.count()
    with shown.harness.held():
        pane.locator(".wb-box-group").first.dblclick()
        waiting = pane.get_by_text("Laying the graph out")
        expect(waiting, f"{boxes.count()} boxes, {closed} before").to_be_visible()
        expect(boxes).to_have_count(closed)
        before = width(shown)
        zoom(shown).get_by_role("button", name="Larger").click()
        assert width(shown) > before, "the page goes on meanwhile"
        pane.get_by_role("button", name="Cancel").click()
        expect(waiting).to_have_count(0)
    expect(boxes).to_have_count(closed)
    pane.locator(".wb-box-group").first.dblclick()
    expect(pane.locator(".wb-frame")).to_have_count(1)
    pane.locator(".wb-frame").get_by_role("button").click()
    expect(boxes).to_have_count(closed)


def test_ux_10_the_drawing_is_saved_as_svg(shown: Shown) -> None:
    shown.layers("Fused", "Schedule")
    with shown.page.expect_download() as waiting:
        shown.pane("A").get_by_role("button", name="SVG").click()
    assert waiting.value.suggested_filename.endswith(".svg")
    drawing = ElementTree.fromstring(Path(waiting.value.path()).read_text(encoding="utf-8"))
    space = "{http://www.w3.org/2000/svg}"
    assert drawing.tag == f"{space}svg" and float(drawing.attrib["width"]) > 100
    told = [text.text for text in drawing.iter(f"{space}text")]
    assert "mean" in told and "nn.contrib_dense_pack" in told
    boxes = [shape for shape in drawing.iter(f"{space}rect")]
    assert len(boxes) >= shown.pane("A").locator(".wb-box").count() > 0
    assert all(shape.attrib["fill"] not in ("", "rgb(0, 0, 0)") for shape in boxes), "its colours are in the file"


def test_ux_11_an_attribute_of_an_operator_is_changed_in_the_graph(shown: Shown) -> None:
    shown.layers("Relay", "Schedule")
    shown.pane("A").locator(".wb-box-call").filter(has=shown.page.get_by_text("clip", exact=True)).first.click()
    operators = shown.page.get_by_role("region", name="Operators")
    operators.locator("summary").click()
    field = operators.get_by_role("textbox", name="a_max of clip")
    expect(field).to_have_value("6")
    field.fill("5.5")
    field.press("Enter")
    expect(shown.page.locator(".wb-last-call")).to_contain_text("a_max=5.5")
    shown.harness.push()
    expect(shown.step("Edit")).to_be_visible()
    assert shown.screen.session["FuseOps"].program["main"].script().count("a_max=5.5") == 1
    expect(field).to_have_value("5.5")  # still open; the graph is the one that was changed
    field.fill("abc")
    field.press("Enter")
    banner = shown.page.locator(".wb-problem", has_text="a_max")
    expect(banner.first).to_be_visible()
    field.fill("4.5")
    field.press("Enter")
    expect(shown.page.locator(".wb-last-call")).to_contain_text("a_max=4.5")
    expect(banner).to_have_count(0)  # it was about what is done now
    shown.harness.push()
    assert shown.screen.session["FuseOps"].program["main"].script().count("a_max=4.5") == 1
    shown.button("Undo", exact=True).click()
    expect(shown.page.locator(".wb-last-call")).to_contain_text("a_max=5.5")
    shown.harness.push()
    assert shown.screen.session["FuseOps"].program["main"].script().count("a_max=5.5") == 1
    shown.button("Undo", exact=True).click()
    expect(shown.step("Edit")).to_have_count(0)
    shown.back()


def test_what_is_typed_into_an_attribute_stays_when_something_arrives(browser: Browser, efficientnet: Any) -> None:
    with opened(browser, efficientnet) as shown:
        shown.layers("Relay", "Schedule")
        shown.pane("A").locator(".wb-box-call").filter(has=shown.page.get_by_text("clip", exact=True)).first.click()
        operators = shown.page.get_by_role("region", name="Operators")
        operators.locator("summary").click()
        field = operators.get_by_role("textbox", name="a_max of clip")
        field.fill("5.25")
        branches = shown.page.get_by_role("combobox", name="Branch").locator("option")
        before = branches.count()
        left_out = ["EliminateCommonSubexpr", "FoldScaleAxis"]  # of another test's branch there would be no news
        shown.screen.session.rerun(disabled_pass=left_out)  # as a cell does
        shown.harness.push()
        expect(branches).not_to_have_count(before)
        expect(field).to_have_value("5.25")
        field.press("Enter")
        expect(shown.page.locator(".wb-last-call")).to_contain_text("a_max=5.25")
        assert shown.screen.session["FuseOps"].program["main"].script().count("a_max=5.25") == 1
        expect(field).to_be_enabled()
        field.fill("7")
        field.fill("5.25")  # as it is: nothing is being typed any more
        field.press("Tab")
        shown.button("Undo", exact=True).click()
        expect(field).to_have_value("6")


def test_ux_11_an_attribute_that_does_not_fit_is_refused(shown: Shown) -> None:
    shown.layers("Relay", "Schedule")
    shown.pane("A").locator(".wb-box-call", has_text=re.compile("nn.conv2d")).first.click()
    operators = shown.page.get_by_role("region", name="Operators")
    operators.locator("summary").click()
    before = shown.screen.session
    field = operators.get_by_role("textbox", name="channels of nn.conv2d")
    field.fill("31")
    field.press("Enter")
    alert = shown.page.get_by_role("alert")
    expect(alert).to_contain_text("E-")
    assert shown.screen.session is before
    expect(alert).to_contain_text("channels=31 of nn.conv2d")
    expect(field).to_have_value("31")  # to be mended
    alert.get_by_role("button", name="Close").click()
    field.fill(str(32))
    field.press("Tab")
