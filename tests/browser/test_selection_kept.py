"""What is selected when the program changes: still lit where its parts are the same, put away where they are others."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

import workbench as wb
from tests.browser.harness import Harness
from workbench import relay
from workbench.ui.workbench import Workbench


def turned() -> relay.Function:
    x = relay.var("x", shape=(1, 8, 4), dtype="float32")
    leaky = relay.nn.leaky_relu(x, alpha=0.5)
    return relay.Function([x], relay.exp(relay.nn.relu(relay.transpose(leaky, axes=(0, 2, 1)))))


def selected(harness: Harness, operator: str) -> tuple[Workbench, Locator]:
    """A screen on which an operator of the graph is selected, and its ladder."""
    screen = Workbench(wb.open(turned()))
    harness.show(screen)
    harness.page.get_by_role("navigation", name="Layers").get_by_role("button", name="Relay").click()
    harness.wait_until(lambda: "links" in harness.operations(), "the link table is here")
    harness.page.locator(".wb-box-call", has_text=operator).first.click()
    ladder = harness.page.get_by_role("complementary", name="The selection")
    expect(ladder.locator(".wb-ladder-names")).to_have_text(operator)
    ladder.locator("summary").first.click()
    harness.wait_until(lambda: bool(screen.selection), "the kernel knows the selection")
    return screen, ladder


def test_an_attribute_that_takes_an_operator_out_takes_its_ladder_too(harness: Harness) -> None:
    """The ladder named the operator that has the number of the one before: numbers are those of a program."""
    screen, ladder = selected(harness, "transpose")
    field = ladder.get_by_label(re.compile("axes"))
    field.fill("(0, 1, 2)")
    field.press("Enter")
    harness.wait_until(lambda: screen.selection == (), "the kernel knows that nothing is selected")
    expect(harness.page.locator(".wb-text-row", has_text="transpose")).to_have_count(0)
    expect(ladder).to_contain_text("Click a box or a line")
    expect(harness.page.locator(".wb-lit")).to_have_count(0)


def test_an_attribute_that_leaves_all_operators_leaves_what_is_selected(harness: Harness) -> None:
    screen, ladder = selected(harness, "nn.leaky_relu")
    before = screen.selection
    field = ladder.get_by_label(re.compile("alpha"))
    field.fill("0.25")
    field.press("Enter")
    expect(harness.page.locator(".wb-text-row", has_text="T.float32(0.25)").first).to_be_visible()
    expect(ladder.locator(".wb-ladder-names")).to_have_text("nn.leaky_relu")
    expect(ladder.locator("dd").first).to_contain_text("line")
    assert screen.selection == before
