"""What is selected when the program changes: still lit where its parts are the same, put away where they are others."""

from __future__ import annotations

import re

import numpy as np
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


def two_convolutions() -> relay.Function:
    """The sum behind the first convolution is in its kernel as long as both have one shape."""
    random = np.random.default_rng(0)

    def convolved(data: relay.Expr) -> relay.Expr:
        weights = relay.const(random.standard_normal((8, 8, 3, 3)).astype(np.float32))
        return relay.nn.conv2d(data, weights, padding=(1, 1), channels=8, kernel_size=(3, 3))

    x = relay.var("x", shape=(1, 8, 7, 7), dtype="float32")
    pooled = relay.nn.max_pool2d(x, pool_size=(2, 2), strides=(2, 2))
    return relay.Function([x], convolved(relay.sigmoid(relay.add(convolved(pooled), pooled))))


def test_what_is_selected_follows_an_edit_that_gives_its_kernel_another_name(harness: Harness) -> None:
    """The kernel was kept by its name: none of its lines was lit, and, once that was undone, another one was shown."""
    screen = Workbench(wb.open(two_convolutions()))
    harness.show(screen)
    page = harness.page
    page.get_by_role("navigation", name="Layers").get_by_role("button", name="Relay").click()
    harness.wait_until(lambda: "links" in harness.operations(), "the link table is here")
    page.locator(".wb-box-call", has_text="nn.conv2d").first.click()
    ladder = page.get_by_role("complementary", name="The selection")
    ladder.locator("summary").first.click()
    kernel = page.get_by_role("region", name="pane B").get_by_role("combobox", name="Kernel")
    lines = ladder.locator("dl").first.locator("dd", has_text=re.compile(r"^\d+ lines?,"))
    expect(lines).to_have_count(7)
    expect(kernel).to_have_value("fused_nn_conv2d_add_sigmoid")

    def follows(name: str) -> None:
        harness.push()
        expect(kernel).to_have_value(name)
        expect(lines).to_have_count(7)
        expect(ladder.locator(".wb-ladder-names")).to_have_text("nn.conv2d")
        expect(ladder.get_by_label(re.compile("padding"))).to_be_visible()  # its form, opened as it was
        assert screen.selection

    for name, text in (("dilation", "(2, 2)"), ("strides", "(1, 2)")):
        field = ladder.get_by_label(re.compile(name))
        field.fill(text)
        field.press("Enter")
        expect(page.locator(".wb-last-call")).to_contain_text(f"{name}={text}")
        follows("fused_nn_conv2d")
    for name in ("fused_nn_conv2d", "fused_nn_conv2d_add_sigmoid"):
        count = len(screen.session)
        page.get_by_role("button", name="Undo", exact=True).click()
        harness.wait_until(lambda count=count: len(screen.session) < count, "it is undone")
        follows(name)


def test_what_is_selected_is_found_again_where_a_pass_is_left_out(harness: Harness) -> None:
    """Classes have other numbers then; what comes from the same calls of the model is still selected."""
    _, ladder = selected(harness, "nn.relu")
    page = harness.page
    page.get_by_role("listbox", name="Steps").get_by_role("option", name="FuseOps").click()
    page.get_by_role("button", name="Leave out").click()
    expect(page.get_by_role("listbox", name="Steps").get_by_role("option", name="FuseOps")).to_contain_text("left out")
    harness.push()
    kernel = page.get_by_role("region", name="pane B").get_by_role("combobox", name="Kernel")
    expect(kernel).to_have_value(re.compile("relu$"))
    expect(ladder.locator(".wb-ladder-names")).to_have_text("nn.relu")
