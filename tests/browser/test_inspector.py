"""The inspector beside the panes: it names what is selected, whichever kernel is shown, and where a program stopped."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

import workbench as wb
from tests.browser.harness import Harness
from tests.ui.asking import ask
from workbench import relay
from workbench.ui import protocol
from workbench.ui.workbench import Workbench

HOLD_A_PLACE = """() => {
    const text = Response.prototype.text;
    Response.prototype.text = async function () {
        const found = await text.call(this);
        if (found.includes("tir_line") && !window.release) await new Promise((go) => { window.release = go; });
        return found;
    };
}"""
"""Unpacking the first answer that says where a line comes from takes until `window.release()`."""


def three_convolutions() -> relay.Function:
    """Three kernels that are like one another: each a convolution and a clip."""
    random = np.random.default_rng(0)
    data = x = relay.var("x", shape=(1, 8, 6, 6), dtype="float32")
    before = 8
    for channels in (8, 16, 24):
        weights = relay.const(random.standard_normal((channels, before, 1, 1)).astype(np.float32))
        data = relay.clip(relay.nn.conv2d(data, weights, channels=channels, kernel_size=(1, 1)), 0.0, 6.0)
        before = channels
    return relay.Function([x], data)


def ladder(harness: Harness) -> Locator:
    return harness.page.get_by_role("complementary", name="The selection")


def row(harness: Harness, layer: str) -> Locator:
    """What the inspector says of a layer."""
    name = ladder(harness).locator("dt").get_by_role("button", name=layer, exact=True)
    return name.locator("xpath=../following-sibling::dd[1]")


def test_what_is_selected_is_named_when_another_kernel_is_shown(harness: Harness) -> None:
    """Nothing was named, over rows of "no line"."""
    session = wb.open(three_convolutions()).without("AlterOpLayout")
    harness.show(Workbench(session, at="A=fused.graph&B=asm.text&in=A"))
    page = harness.page
    expect(page.locator(".wb-text-row").first).to_be_visible(timeout=30_000)
    page.locator(".wb-box-call").first.click()
    heading = ladder(harness).get_by_role("heading")
    expect(heading).to_have_text("nn.conv2dclip")
    expect(row(harness, "Assembly")).to_contain_text("lines")
    kernel = page.get_by_role("region", name="pane B").get_by_role("combobox", name="Kernel")
    holder = kernel.input_value()
    kernel.select_option(next(name for name in session.kernels if name != holder))
    expect(row(harness, "Assembly")).to_have_text("no line")
    expect(heading).to_have_text("nn.conv2dclip")
    told = ladder(harness).get_by_role("group", name="Kernels of the selection")
    expect(told).to_contain_text("not in this kernel")
    told.get_by_role("button", name="Next kernel").click()
    expect(kernel).to_have_value(holder)
    expect(row(harness, "Assembly")).to_contain_text("lines")
    expect(told).to_have_count(0)


def test_rows_of_layers_behind_a_step_that_failed_say_so(harness: Harness) -> None:
    """They waited for ever, and so did what was clicked in the graph."""
    first = Workbench(wb.open(three_convolutions()).without("AlterOpLayout"))
    last = [step for step in ask(first, "pipeline.open")["steps"] if step["kind"] == "tir"][-1]["id"]
    kernel = next(iter(first.session.kernels))
    text = ask(first, "pipeline.source", step=last, function=kernel)["text"]
    ask(first, "pipeline.edit", step=last, function=kernel, text=text.replace("6.0", "5.0", 1))
    ask(first, "target.set", text="llvm -mcpu=x86-64 -vector-width=32")
    harness.show(Workbench(first.session, at="A=fused.graph&B=schedule.text&in=A"))
    expect(harness.page.locator(".wb-text-row").first).to_be_visible(timeout=30_000)
    harness.page.locator(".wb-box-call").first.click()
    expect(row(harness, "Schedule")).to_contain_text("lines")
    expect(row(harness, "TIR")).to_have_text("✗ Edit failed")
    for layer in ("LLVM", "Assembly"):
        expect(row(harness, layer)).to_have_text("not run")


def inspected(harness: Harness) -> list[str]:
    """The shapes that the forms of operators tell."""
    return ladder(harness).get_by_role("region", name="Operators").locator("summary .wb-muted").all_inner_texts()


def test_forms_beside_a_line_are_of_its_own_operators(harness: Harness) -> None:
    """Under the hottest line of a kernel stood the operators of a box that was clicked before, in another kernel."""
    session = wb.open(three_convolutions()).without("AlterOpLayout")
    harness.show(Workbench(session, at="A=fused.graph&B=asm.text&in=A"))
    page = harness.page
    pane = page.get_by_role("region", name="pane B")
    expect(pane.locator(".wb-text-row").first).to_be_visible(timeout=30_000)
    page.locator(".wb-box-call").first.click()
    expect(row(harness, "Assembly")).to_contain_text("lines")
    line = ladder(harness).get_by_role("region", name="The line")
    pane.get_by_role("button", name="Hottest").click()
    expect(line).to_contain_text("Assembly, line")
    assert inspected(harness) == ["1x8x6x6 float32"] * 2, "the line is one of the box that was clicked"
    kernel = pane.get_by_role("combobox", name="Kernel")
    kernel.select_option(next(name for name in session.kernels if name != kernel.input_value()))
    expect(line).to_have_count(0)
    expect(row(harness, "Assembly")).to_have_text("no line")
    pane.get_by_role("button", name="Hottest").click()
    expect(line).to_contain_text("Assembly, line")
    expect(row(harness, "Assembly")).to_contain_text("lines")
    assert inspected(harness) == []


def test_where_a_line_comes_from_is_not_told_beside_what_was_clicked_after_it(harness: Harness) -> None:
    """The answer for the line came later, and was shown."""
    harness.show(Workbench(wb.open(three_convolutions()).without("AlterOpLayout"), at="A=fused.graph&B=asm.text&in=A"))
    page = harness.page
    lines = page.get_by_role("region", name="pane B").locator(".wb-text-row")
    expect(lines.first).to_be_visible(timeout=30_000)
    page.locator(".wb-box-call").first.click()
    expect(row(harness, "Assembly")).to_contain_text("lines")
    harness.asked_so_far()
    with harness.held():
        lines.and_(page.locator(".wb-lit")).first.click()  # one that is in sight on every processor
        page.locator(".wb-box-call").first.click()
        harness.wait_until(lambda: len(harness._held) > 2, "the place and the selection are asked for")
    harness.wait_until(lambda: harness.operations()[-1] == "select", "all is answered")
    assert "place" in harness.operations()
    page.evaluate("() => new Promise(requestAnimationFrame)")
    expect(ladder(harness).get_by_role("region", name="Operators")).to_be_visible()
    expect(ladder(harness).get_by_role("region", name="The line")).to_have_count(0)


def test_an_answer_that_takes_long_to_unpack_is_not_shown_over_a_later_one(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.show(Workbench(wb.open(three_convolutions()).without("AlterOpLayout"), at="A=tir.text&B=asm.text&in=A"))
    page = harness.page
    lines = page.get_by_role("region", name="pane A").locator(".wb-text-row", has_text="for ")
    expect(lines.nth(1)).to_be_visible(timeout=30_000)
    harness.asked_so_far()
    monkeypatch.setattr(protocol, "JSON_LIMIT", 0)
    page.evaluate(HOLD_A_PLACE)
    lines.nth(0).click()
    harness.wait_until(lambda: page.evaluate("window.release !== undefined"), "the answer is being unpacked")
    received = page.evaluate("window.traffic.received.length")
    lines.nth(1).click()
    arrived = "window.traffic.received.length"
    harness.wait_until(lambda: page.evaluate(arrived) >= received + 2, "the selection and the place are there")
    page.evaluate("() => { window.release(); return new Promise(requestAnimationFrame); }")
    number = lines.nth(1).locator(".wb-no").inner_text()
    told = ladder(harness).get_by_role("region", name="The line")
    expect(told).to_contain_text(f"TIR, line {number}")
    expect(told.get_by_role("list", name="Loops").get_by_role("listitem")).not_to_have_count(0)
