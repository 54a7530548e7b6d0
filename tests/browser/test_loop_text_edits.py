"""Loops and graphs shown as text are edited in the place of the text: by `e`, a double click, a button, at the line."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

import workbench as wb
from tests.browser.harness import Harness
from tests.schedule.programs import plain_matmul
from workbench import relay, te
from workbench.driver.text import script
from workbench.schedule import Schedule
from workbench.ui.workbench import Workbench

INPUTS = {"x": np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)}
LAYERS = ("TE", "Schedule", "TIR")


@pytest.fixture
def screen(harness: Harness) -> Workbench:
    x = relay.var("x", shape=(3, 4), dtype="float32")
    made = Workbench(wb.open(relay.Function([x], relay.nn.relu(x))))
    harness.show(made)
    expect(pane(harness, "B").locator(".wb-text-row").first).to_be_visible(timeout=30_000)
    return made


def pane(harness: Harness, which: str = "A") -> Locator:
    return harness.page.get_by_role("region", name=f"pane {which}")


def line(harness: Harness, layer: str, which: str = "A", has: str = "T.max(") -> Locator:
    """The line of a layer's text that computes the maximum, in a pane that has the focus."""
    page = harness.page
    pane(harness, which).locator(".wb-pane-head strong").click()
    page.get_by_role("navigation", name="Layers").get_by_role("button", name=re.compile(rf"^\W*{layer}")).click()
    text = pane(harness, which).get_by_role("button", name="Text", exact=True)
    if text.get_attribute("aria-pressed") != "true":
        text.click()
    found = pane(harness, which).locator(".wb-text-row", has_text=has)
    expect(found).to_be_visible(timeout=30_000)
    return found


def editor(harness: Harness, which: str = "A") -> Locator:
    return pane(harness, which).locator(".cm-content")


def typed(harness: Harness, old: str, new: str) -> None:
    page = harness.page
    expect(page.locator(".cm-content")).to_be_focused()
    text = "\n".join(page.locator(".cm-line").all_inner_texts())
    assert old in text
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text.replace(old, new))


def at_the_line(harness: Harness, which: str = "A", has: str = "T.max(") -> None:
    """The text is back, with the keys, and what they speak of is the line that was edited."""
    rows = pane(harness, which).get_by_role("listbox")
    expect(rows).to_be_focused()
    active = pane(harness, which).locator(".wb-text-row.wb-active")
    expect(active).to_contain_text(has)
    expect(active).to_be_in_viewport()
    expect(rows).to_have_attribute("aria-activedescendant", str(active.get_attribute("id")))


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("way", ["key", "double click", "button"])
def test_the_editor_opens_at_the_line_with_the_text_that_was_shown(
    harness: Harness, screen: Workbench, layer: str, way: str
) -> None:
    page = harness.page
    row = line(harness, layer)
    number = int(row.locator(".wb-no").inner_text())
    shown = pane(harness).locator(".wb-line").all_inner_texts()
    if way == "double click":
        row.dblclick()
    else:
        row.click()
        expect(row).to_have_class(re.compile("wb-active"))
        if way == "key":
            page.keyboard.press("e")
        else:
            pane(harness).get_by_role("button", name="Edit text").click()
    expect(editor(harness)).to_be_focused()
    lines = editor(harness).locator(".cm-line")
    assert [one.rstrip() for one in lines.all_inner_texts()] == shown
    expect(lines.nth(number - 1)).to_have_class(re.compile("cm-activeLine"))
    expect(pane(harness).locator(".wb-text-row")).to_have_count(0)
    page.keyboard.press("Escape")
    at_the_line(harness)


@pytest.mark.parametrize("layer", LAYERS)
def test_an_applied_text_is_the_programs_and_the_keys_are_at_the_line_again(
    harness: Harness, screen: Workbench, layer: str
) -> None:
    page = harness.page
    line(harness, layer).click()
    page.keyboard.press("e")
    typed(harness, "T.float32(0.0)", "T.float32(1.0)")
    page.keyboard.press("Control+Enter")
    expect(pane(harness).locator(".wb-text-row", has_text="T.float32(1.0)")).to_be_visible(timeout=30_000)
    harness.push()
    at_the_line(harness, has="T.float32(1.0)")
    step = {"TE": "Lower", "Schedule": "Schedule", "TIR": "InsertPolls"}[layer]
    expect(page.locator(".wb-last-call")).to_have_text(f"s = s[{step!r}].edit({{'fused_nn_relu': text}})")
    np.testing.assert_allclose(next(iter(screen.session.run(INPUTS).values())), np.maximum(INPUTS["x"], 1))
    page.keyboard.press("Control+z")
    expect(pane(harness).locator(".wb-text-row", has_text="T.float32(0.0)")).to_be_visible(timeout=30_000)
    assert screen.session.labels.count("Edit") == 0


COLOURED = """line => [...line.querySelectorAll('[class*=wb-t-]')].map(
    span => [/wb-t-(\\w+)/.exec(span.className)[1], span.textContent])"""


def test_the_editor_has_the_colours_of_the_pane(harness: Harness, screen: Workbench) -> None:
    row = line(harness, "Schedule")
    shown = row.locator(".wb-line").evaluate(COLOURED)
    assert {kind for kind, _ in shown} >= {"fun", "num"}
    row.dblclick()
    edited = editor(harness).locator(".cm-line", has_text="T.max(")
    expect(edited.locator("[class*=wb-t-]").first).to_be_visible()
    assert edited.evaluate(COLOURED) == shown


def test_keys_of_the_editor_indent_move_and_comment(harness: Harness, screen: Workbench) -> None:
    page = harness.page
    line(harness, "Schedule").dblclick()
    active = editor(harness).locator(".cm-activeLine")
    text = active.inner_text()
    inside = " " * (len(text) - len(text.lstrip()))
    page.keyboard.press("End")
    page.keyboard.type("\nif True:\npass")
    assert active.inner_text() == f"{inside}    pass", "Enter stands further in behind a colon, else as far"
    page.keyboard.press("Tab")
    assert active.inner_text() == f"    {inside}    pass"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Alt+ArrowUp")
    below = editor(harness).locator(".cm-activeLine + .cm-line")
    assert (active.inner_text(), below.inner_text()) == (f"{inside}    pass", f"{inside}if True:")
    page.keyboard.press("Control+/")
    assert active.inner_text() == f"{inside}    # pass"
    page.keyboard.press("Shift+Control+k")
    assert active.inner_text() == f"{inside}if True:"


@pytest.mark.parametrize(("layer", "step"), [("Relay", "Import"), ("Fused", "FuseOps")])
def test_the_text_of_a_graph_is_edited_where_it_is_read(
    harness: Harness, screen: Workbench, layer: str, step: str
) -> None:
    """Only what a step changed had a button for it."""
    page = harness.page
    row = line(harness, layer, has="R.nn.relu(")
    row.click()
    shown = pane(harness).locator(".wb-line").all_inner_texts()
    pane(harness).get_by_role("button", name="Edit text").click()
    expect(editor(harness)).to_be_focused()
    lines = editor(harness).locator(".cm-line").all_inner_texts()
    assert "\n".join(line.rstrip() for line in lines).rstrip() == "\n".join(shown)
    typed(harness, "R.nn.relu(", "R.tanhh(")
    page.keyboard.press("Control+Enter")
    expect(pane(harness).get_by_role("alert")).to_be_visible()
    page.keyboard.press("Escape")
    pane(harness).get_by_role("button", name="Edit text (draft)").click()
    typed(harness, "R.tanhh(", "R.tanh(")
    page.keyboard.press("Control+Enter")
    expect(pane(harness).locator(".wb-text-row", has_text="R.tanh(")).to_be_visible(timeout=30_000)
    expect(page.locator(".wb-last-call")).to_have_text(f"s = s[{step!r}].edit({{'main': text}})")
    np.testing.assert_allclose(next(iter(screen.session.run(INPUTS).values())), np.tanh(INPUTS["x"]), rtol=1e-5)
    line(harness, layer, has="R.tanh(").dblclick()
    expect(editor(harness)).to_contain_text("R.tanh(")


def test_escape_keeps_a_draft_and_a_refusal_its_text(harness: Harness, screen: Workbench) -> None:
    page = harness.page
    line(harness, "TIR").click()
    page.keyboard.press("e")
    typed(harness, "T.max(", "T.maxx(")
    page.keyboard.press("Control+Enter")
    expect(pane(harness).get_by_role("alert")).to_be_visible()
    expect(pane(harness).locator(".wb-refused-line").first).to_be_visible()
    page.keyboard.press("Escape")
    at_the_line(harness)
    draft = pane(harness).get_by_role("button", name="Edit text (draft)")
    expect(draft).to_be_visible()
    line(harness, "Schedule")
    expect(pane(harness).get_by_role("button", name="Edit text", exact=True)).to_be_visible()
    line(harness, "TIR")
    draft.click()
    expect(editor(harness)).to_contain_text("T.maxx(")
    # Showing something else leaves the editor, and what was typed is there again.
    page.get_by_role("navigation", name="Layers").get_by_role("button", name="Assembly").click()
    expect(page.locator(".cm-content")).to_have_count(0)
    line(harness, "TIR").dblclick()
    expect(editor(harness)).to_contain_text("T.maxx(")
    pane(harness).get_by_role("button", name="Discard").click()
    at_the_line(harness)
    expect(draft).to_have_count(0)


def test_changes_beside_it_and_a_cell_leave_the_editor_open(harness: Harness, screen: Workbench) -> None:
    page = harness.page
    line(harness, "TIR", "B").dblclick()
    typed(harness, "T.float32(0.0)", "T.float32(1.0)")
    screen.select("FuseOps")
    harness.push()
    expect(pane(harness, "A").locator(".wb-diff")).to_be_visible()
    expect(page.locator(".cm-content")).to_have_count(1)
    expect(editor(harness, "B")).to_contain_text("T.float32(1.0)")
    page.get_by_role("region", name="The selected step").get_by_role("button", name="Edit", exact=True).click()
    expect(editor(harness)).to_contain_text("R.nn.relu")
    expect(pane(harness, "B").get_by_role("button", name="Edit text (draft)")).to_be_visible()


def test_other_texts_have_no_such_editor(harness: Harness, screen: Workbench) -> None:
    page = harness.page
    for layer in ("LLVM", "Assembly"):
        page.get_by_role("navigation", name="Layers").get_by_role("button", name=re.compile(rf"^\W*{layer}")).click()
        row = pane(harness).locator(".wb-text-row").nth(3)
        row.dblclick(timeout=30_000)
        expect(pane(harness).get_by_role("button", name="Edit text")).to_have_count(0)
        expect(page.locator(".cm-content")).to_have_count(0)


def test_loops_that_were_opened_as_such_are_checked_and_an_edit_that_computes_less_is_wrong(harness: Harness) -> None:
    """The sum of fewer terms had a time and a share of the peak, and nothing said that it was another program."""
    a, k = te.placeholder((6, 5), name="A"), te.reduce_axis((0, 5), name="k")
    session = wb.open([a, te.compute((6,), lambda i: te.sum(a[i, k], axis=k), name="S")])
    text = script(session["Import"].after["main"])
    assert "T.grid(6, 5)" in text, text
    screen = Workbench(session.edit(tir={"main": text.replace("T.grid(6, 5)", "T.grid(6, 3)")}))
    harness.show(screen)
    page = harness.page
    page.get_by_role("button", name="Checks").click()
    checks = page.get_by_role("group", name="Checks")
    expect(checks.get_by_role("option", name="Edit")).to_contain_text("wrong", timeout=30_000)
    expect(checks.get_by_role("option", name="Import")).to_contain_text("right")
    expect(checks.get_by_role("region", name="Check of Edit")).to_contain_text("6 of 6 elements")
    page.get_by_role("button", name="Checks (1 wrong)").wait_for()


def test_a_text_edit_and_a_primitive_taken_after_it_are_in_the_cells_schedule(harness: Harness) -> None:
    """The next cell had neither: the editor went on with a schedule that no cell held."""
    schedule = Schedule(plain_matmul(8, 8, 8))
    harness.show(Workbench(wb.open(schedule), schedule=schedule))
    page = harness.page
    expect(page.get_by_role("treeitem").first).to_be_visible(timeout=30_000)
    row = line(harness, "Schedule", has="T.float32(0.0)")
    row.dblclick()
    typed(harness, "T.float32(0.0)", "T.float32(5.0)")
    page.get_by_role("button", name="Apply", exact=True).click()
    expect(pane(harness).locator(".wb-text-row", has_text="T.float32(5.0)")).to_be_visible(timeout=30_000)
    assert "T.float32(5.0)" in schedule.script()
    harness.push()
    pane(harness).get_by_role("button", name="Editor", exact=True).click()
    page.locator("[id$='-node-l:C:2'] > .wb-box-head").click()
    page.get_by_role("button", name="unroll", exact=True).click()
    expect(page.locator(".wb-last").first).to_contain_text("sch.unroll(")
    assert "sch.unroll(" in schedule.code() and "T.unroll(8)" in schedule.script()
    assert "T.float32(5.0)" in schedule.script()
